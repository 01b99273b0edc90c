package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/settings"
)

// keyNamePrefix begins the name of the Secret that Rook makes for a CephClient.
const keyNamePrefix = "rook-ceph-client-"

const phaseReady = "Ready"

// get reads an object of Rook. It is unstructured, because this program has no types for Rook's kinds.
func (e *examination) get(ctx context.Context, kind string, key client.ObjectKey) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: kind})
	return o, e.client.Get(ctx, key, o)
}

// text returns a string field of an unstructured object.
func text(o *unstructured.Unstructured, fields ...string) string {
	// A field of another type counts as missing.
	value, _, _ := unstructured.NestedString(o.Object, fields...)
	return value
}

// cluster examines the status that Rook reports for a CephCluster named in the operator config. It
// returns the version of Ceph; empty if unknown.
func (e *examination) cluster(ctx context.Context, allowed settings.Cluster) string {
	key := client.ObjectKey{Namespace: allowed.Namespace, Name: allowed.Name}
	topic := "CephCluster " + key.String()
	describe := fmt.Sprintf("kubectl -n %s describe cephcluster %s", key.Namespace, key.Name)
	o, err := e.get(ctx, "CephCluster", key)
	switch {
	case meta.IsNoMatchError(err):
		e.found(topic, Wrong, "The cluster does not know CephClusters: Rook is not installed.", "install Rook, or remove the cluster from clusters in the operator config")
		return ""
	case apierrors.IsNotFound(err):
		e.found(topic, Wrong, "It does not exist, but the operator config lists it.", e.fix("correct clusters", "correct clusters in config/manager/config.yaml, and apply it again: "+deploy))
		return ""
	case err != nil:
		e.unreadable(topic, "It", err)
		return ""
	}
	phase, health, version := text(o, "status", "phase"), text(o, "status", "ceph", "health"), text(o, "status", "version", "version")
	switch {
	case phase != phaseReady:
		e.found(topic, Wrong, fmt.Sprintf("Rook reports phase %q: %s", phase, text(o, "status", "message")), describe)
	case health == "HEALTH_OK":
		e.found(topic, OK, fmt.Sprintf("It is ready and healthy, with Ceph %s.", version), "")
	case health == "HEALTH_WARN":
		e.found(topic, Note, fmt.Sprintf("Ceph %s warns of %s. Benchmarks wait until warnings end, except those that do not affect speed or that quiescence.allowedWarnings names.", version,
			warnings(o)), describe)
	case onlyKeyErrors(o):
		e.found(topic, Wrong, fmt.Sprintf("Ceph %s reports %s, because daemons still use keys from before its upgrade: %s. Benchmarks wait until that ends.", version, health, warnings(o)),
			"rotate the keys, or allow runs until then: as an administrator, run ceph health mute CODE for each AUTH_INSECURE_SERVICE_ code")
	default:
		e.found(topic, Wrong, fmt.Sprintf("Ceph %s reports %s: %s", version, health, warnings(o)), describe)
	}
	return version
}

// onlyKeyErrors reports whether a CephCluster has errors, and all of them are about the keys of its
// daemons.
func onlyKeyErrors(o *unstructured.Unstructured) bool {
	details, _, _ := unstructured.NestedMap(o.Object, "status", "ceph", "details")
	found := false
	for code := range details {
		if severity, _, _ := unstructured.NestedString(details, code, "severity"); severity != "HEALTH_ERR" {
			continue
		}
		if !strings.HasPrefix(code, "AUTH_INSECURE_SERVICE_") {
			return false
		}
		found = true
	}
	return found
}

// newKeys describes a key that Ceph 20 or newer created, because older tools may be unable to read it; "" for
// an older or unknown key. It does not read the key itself: Rook reports which Ceph release has created it.
func newKeys(identity *unstructured.Unstructured) string {
	made := text(identity, "status", "cephx", "keyCephVersion")
	release, _, _ := strings.Cut(made, ".")
	if major, err := strconv.Atoi(release); err != nil || major < 20 {
		return ""
	}
	return fmt.Sprintf(" Ceph %s created its key, which tools of Ceph 19 and older may be unable to read.", made)
}

// warnings lists the codes of all health checks, whatever their severity, that Rook has recorded for a
// CephCluster; "an unrecorded problem" if it has recorded no health check.
func warnings(o *unstructured.Unstructured) string {
	details, _, _ := unstructured.NestedMap(o.Object, "status", "ceph", "details")
	codes := make([]string, 0, len(details))
	for code := range details {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	if len(codes) == 0 {
		return "an unrecorded problem"
	}
	return strings.Join(codes, ", ")
}

// identity is a CephClient with its role, and the folder of its manifest.
type identity struct{ role, name, manifest string }

// identities examines whether the cephx keys exist, without reading them.
func (e *examination) identities(ctx context.Context, allowed settings.Cluster) {
	for _, id := range []identity{
		{"observer", allowed.Identities.Observer, "config/ceph"},
		{"io", allowed.Identities.IO, "config/ceph"},
		{"tuner", allowed.Identities.Tuner, "config/ceph-tuner"},
		{"cacheDropper", allowed.Identities.CacheDropper, "config/ceph-cache-dropper"},
		{"osdStopper", allowed.Identities.OSDStopper, "config/ceph-osd-stopper"},
	} {
		topic := fmt.Sprintf("Identity %s of %s/%s", id.role, allowed.Namespace, allowed.Name)
		switch {
		case id.name != "":
			e.identity(ctx, topic, id, allowed.Namespace)
		case id.role == "tuner":
			e.found(topic, Note, "The operator config names none, so sweeps over settings of Ceph are refused.",
				e.fix("set powers.changeSettings: true", "name one in identities.tuner in config/manager/config.yaml, with config/ceph-tuner, and apply both: "+deploy))
		}
	}
}

func (e *examination) identity(ctx context.Context, topic string, id identity, namespace string) {
	key := client.ObjectKey{Namespace: namespace, Name: id.name}
	describe := fmt.Sprintf("kubectl -n %s describe cephclient %s", namespace, id.name)
	o, err := e.get(ctx, "CephClient", key)
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		e.found(topic, Wrong, fmt.Sprintf("There is no CephClient %s.", key), e.fix("set cephClients.create: true", "kubectl apply -k "+id.manifest))
		return
	case err != nil:
		e.unreadable(topic, fmt.Sprintf("CephClient %s", key), err)
		return
	case text(o, "status", "phase") != phaseReady:
		e.found(topic, Wrong, fmt.Sprintf("CephClient %s is in phase %q.", key, text(o, "status", "phase")), describe)
		return
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	switch err := e.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: keyNamePrefix + id.name}, secret); {
	case apierrors.IsNotFound(err):
		e.found(topic, Wrong, fmt.Sprintf("CephClient %s is Ready, but there is no Secret %s: its secretName must not be set.", key, keyNamePrefix+id.name), describe)
	case apierrors.IsForbidden(err):
		e.found(topic, OK, fmt.Sprintf("CephClient %s is Ready. You lack the right to see its Secret.%s", key, newKeys(o)), "")
	case err != nil:
		e.unreadable(topic, "Secret "+keyNamePrefix+id.name, err)
	default:
		e.found(topic, OK, fmt.Sprintf("CephClient %s is Ready, and its Secret exists.%s", key, newKeys(o)), "")
	}
}
