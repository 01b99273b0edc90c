package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

const (
	rookNamespace = "rook-ceph"
	// deployedAccount is the manager's account after kustomize has added the prefix.
	deployedAccount = "system:serviceaccount:cephtune-system:cephtune-manager"
)

// TestRights asks a real API server what the manifests allow to the manager, and what they do not
// allow.
func TestRights(t *testing.T) {
	config := apiserver.Start(t)
	admin, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{systemNamespace, benchNamespace, otherNamespace, rookNamespace} {
		create(t, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	applyRBAC(t, admin)
	for _, folder := range []string{"bench", "ceph", "ceph-tuner"} {
		for _, object := range manifests(t, filepath.Join(apiserver.Root(t), "config", folder, "role.yaml")) {
			create(t, admin, object)
		}
	}
	t.Run("are enough and no more", func(t *testing.T) { testRights(t, admin) })
	t.Run("keep journals", func(t *testing.T) { testJournals(t, config) })
}

// right is a kind of objects, or one object, on which an account may have rights.
type right struct{ user, namespace, group, resource, name string }

func testRights(t *testing.T, admin client.Client) {
	tests := map[string]struct {
		right
		can, cannot []string
	}{
		"journals": {
			right: right{user: serviceAccount, namespace: systemNamespace, resource: "configmaps", name: "cephtune-journal-f"},
			can:   []string{"create", "delete", "get", "update"}, cannot: []string{"list", "watch", "deletecollection"},
		},
		"ConfigMaps elsewhere": {
			right:  right{user: serviceAccount, namespace: otherNamespace, resource: "configmaps", name: "cephtune-journal-f"},
			cannot: []string{"create", "delete", "get", "update"},
		},
		"the runs of sweeps": {
			right: right{user: deployedAccount, namespace: benchNamespace, group: "cephtune.dev", resource: "cephbenchmarks"},
			can:   []string{"create", "delete"}, cannot: []string{"deletecollection"},
		},
		"sweeps": {
			right:  right{user: deployedAccount, namespace: benchNamespace, group: "cephtune.dev", resource: "cephtuningsweeps"},
			cannot: []string{"create", "delete"},
		},
		"sweeps where no Role is": {
			right: right{user: serviceAccount, namespace: otherNamespace, group: "cephtune.dev", resource: "cephtuningsweeps"},
			can:   []string{"get", "list", "watch", "patch"}, cannot: []string{"create", "update", "delete", "deletecollection"},
		},
		"benchmarks where no Role is": {
			right: right{user: serviceAccount, namespace: otherNamespace, group: "cephtune.dev", resource: "cephbenchmarks"},
			can:   []string{"get", "list", "watch", "patch"}, cannot: []string{"create", "update", "delete", "deletecollection"},
		},
		"pods where no Role is": {
			right:  right{user: serviceAccount, namespace: otherNamespace, resource: "pods"},
			cannot: []string{"get", "list", "watch"},
		},
		"whether a namespace is deleted": {
			right: right{user: serviceAccount, resource: "namespaces", name: otherNamespace},
			can:   []string{"get"}, cannot: []string{"update", "patch", "delete"},
		},
		"which namespaces there are": {
			right:  right{user: serviceAccount, resource: "namespaces"},
			cannot: []string{"list", "watch"},
		},
		"all pools": {
			right: right{user: deployedAccount, namespace: rookNamespace, group: "ceph.rook.io", resource: "cephblockpools"},
			can:   []string{"list"}, cannot: []string{"watch", "patch", "update", "delete"},
		},
		"a foreign pool": {
			right:  right{user: deployedAccount, namespace: rookNamespace, group: "ceph.rook.io", resource: "cephblockpools", name: "replicapool"},
			cannot: []string{"patch", "update", "delete"},
		},
		"a scratch pool": {
			right: right{user: deployedAccount, namespace: rookNamespace, group: "ceph.rook.io", resource: "cephblockpools", name: settings.ScratchPool},
			can:   []string{"get", "patch", "delete"},
		},
		"the tuner's key": {
			right: right{user: deployedAccount, namespace: rookNamespace, resource: "secrets", name: "rook-ceph-client-cephtune-tuner"},
			can:   []string{"get"}, cannot: []string{"list", "watch", "update", "delete"},
		},
		"the administrator's key": {
			right:  right{user: deployedAccount, namespace: rookNamespace, resource: "secrets", name: "rook-ceph-admin-keyring"},
			cannot: []string{"get"},
		},
	}
	// The API server takes a moment to know all Roles. The refusals are checked after that.
	for _, test := range tests {
		for _, verb := range test.can {
			eventually(t, func() error { return wantRight(t, admin, test.right, verb, true) })
		}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, verb := range test.cannot {
				if err := wantRight(t, admin, test.right, verb, false); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func wantRight(t *testing.T, admin client.Client, expected right, verb string, want bool) error {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   expected.user,
		Groups: []string{"system:serviceaccounts", "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: expected.namespace, Group: expected.group, Resource: expected.resource, Name: expected.name, Verb: verb,
		},
	}}
	if err := admin.Create(deadline(t), review); err != nil {
		return err
	}
	if review.Status.Allowed != want {
		return fmt.Errorf("%s may %s %s %q in %s: %t, want %t", expected.user, verb, expected.resource, expected.name, expected.namespace, review.Status.Allowed, want)
	}
	return nil
}

// testJournals stores a journal as the manager. A real API server must keep two writers apart, and
// a fake would not show that.
func testJournals(t *testing.T, config *rest.Config) {
	config = rest.CopyConfig(config)
	config.Impersonate.UserName = serviceAccount
	c, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	kept := journals.New(c, c, systemNamespace)
	journal := func(revision int64, state tuning.State) *tuning.Journal {
		return &tuning.Journal{
			SchemaVersion: tuning.SchemaVersion, FSID: "f", Sweep: tuning.Sweep{Namespace: benchNamespace, Name: "s", UID: "u"},
			Epoch: 1, Writer: "w", Revision: revision, Entries: []tuning.Entry{{Setting: tuning.Setting{Kind: tuning.KindBalancer}, State: state}},
		}
	}
	eventually(t, func() error { return kept.Save(deadline(t), journal(1, tuning.Open)) })
	if err := kept.Save(deadline(t), journal(2, tuning.Open)); err != nil {
		t.Error(err)
	}
	if err := kept.Save(deadline(t), journal(2, tuning.Restored)); !errors.Is(err, tuning.ErrOvertaken) {
		t.Errorf("error %v, want that it was overtaken", err)
	}
	if err := kept.Remove(deadline(t), journal(2, tuning.Open)); err == nil {
		t.Error("a journal that is not done was removed")
	}
	if err := kept.Save(deadline(t), journal(3, tuning.Restored)); err != nil {
		t.Error(err)
	}
	if err := kept.Remove(deadline(t), journal(3, tuning.Restored)); err != nil {
		t.Error(err)
	}
	if j, err := kept.Load(deadline(t), "f"); j != nil || err != nil {
		t.Errorf("%v, %v after it was removed", j, err)
	}
}

// The tuner's caps must allow every option that the operator config allows, in both configurations
// that we deploy: the default one and the lab's.
func TestTheTunersCapsNameEveryOption(t *testing.T) {
	root := apiserver.Root(t)
	for name, files := range map[string]struct{ settings, caps string }{
		"by default": {"config/manager/config.yaml", "config/ceph-tuner/client.yaml"},
		"on the lab": {"test/lab/manifests/operator/config.yaml", "test/lab/manifests/operator/kustomization.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			allowed, err := settings.Load(filepath.Join(root, files.settings))
			if err != nil {
				t.Fatal(err)
			}
			caps, err := os.ReadFile(filepath.Join(root, files.caps))
			if err != nil {
				t.Fatal(err)
			}
			cluster := allowed.Clusters[0]
			if cluster.Identities.Tuner != "cephtune-tuner" {
				t.Errorf("the tuner is %q", cluster.Identities.Tuner)
			}
			if places := regexp.MustCompile(`(?m)^ *allow command "osd pg-upmap",?$`).Match(caps); places != cluster.PlacePGs {
				t.Errorf("%s has osd pg-upmap: %t, and %s allows it: %t", files.caps, places, files.settings, cluster.PlacePGs)
			}
			for _, option := range append(cluster.Options, settings.DefaultOptions()...) {
				for _, want := range neededCaps(option) {
					if !strings.Contains(string(caps), want+",\n") && !strings.Contains(string(caps), want+"\n") {
						t.Errorf("%s has no %s", files.caps, want)
					}
				}
				if _, named := cluster.AllowsOption(option.Name, option.Pool, option.Mask); !named {
					t.Errorf("%s does not allow %s", files.settings, option.Name)
				}
			}
		})
	}
}

// neededCaps returns the caps that are needed to change an option and to restore it.
func neededCaps(option settings.Option) []string {
	if option.Pool == "" {
		who := "osd"
		if option.Mask != "" {
			who = fmt.Sprintf("%q", "osd/"+option.Mask)
		}
		return []string{
			fmt.Sprintf("allow command \"config set\" with who=%s name=%s", who, option.Name),
			fmt.Sprintf("allow command \"config rm\" with who=%s name=%s", who, option.Name),
		}
	}
	return []string{
		fmt.Sprintf("allow command \"osd pool set\" with pool=%s var=%s", option.Pool, option.Name),
		fmt.Sprintf("allow command \"osd pool set\" with pool=%s var=pg_autoscale_mode", option.Pool),
	}
}
