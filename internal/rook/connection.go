package rook

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/settings"
)

const (
	// monitorsName is the name of the Secret in which Rook stores the addresses of a
	// cluster's monitors.
	monitorsName = "rook-ceph-config"
	keyMonHost   = "mon_host"

	// keyNamePrefix begins the name of the Secret with the key of a CephClient. A CephClient whose
	// secretName sets another name (Rook 1.18) cannot be used, because the operator's Role names the
	// Secrets that it may read.
	keyNamePrefix = "rook-ceph-client-"
	keyUser       = "userID"
	keyUserKey    = "userKey"

	// connectionTTL is the lifetime of a cached connection. The operator may miss a moved monitor or a
	// replaced key for this long. If Ceph refuses the old key, Forget drops the connection earlier.
	connectionTTL = 30 * time.Second
)

// Connections finds the connection data of Ceph clusters, and caches it for half a minute. It is
// safe for concurrent use.
type Connections struct {
	reader client.Reader
	now    func() time.Time

	mutex sync.Mutex
	known map[client.ObjectKey]connection
}

type connection struct {
	ceph.Connection
	until time.Time
}

// NewConnections returns a Connections that reads Secrets through reader. The reader must not
// cache Secrets: use the manager's API reader.
func NewConnections(reader client.Reader, now func() time.Time) *Connections {
	return &Connections{reader: reader, now: now, known: map[client.ObjectKey]connection{}}
}

// Connection returns the connection to a cluster with the identity of a CephClient. An error
// that a person has to fix is an *Error.
func (c *Connections) Connection(ctx context.Context, cluster settings.Cluster, clientName string) (ceph.Connection, error) {
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: clientName}
	if known, ok := c.remembered(key); ok {
		return known, nil
	}
	found, err := c.find(ctx, cluster, key)
	if err != nil {
		return ceph.Connection{}, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.known[key] = connection{Connection: found, until: c.now().Add(connectionTTL)}
	return found, nil
}

// Forget drops a cached connection that Ceph has refused, so that the next call of Connection
// reads it again.
func (c *Connections) Forget(conn ceph.Connection) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	maps.DeleteFunc(c.known, func(_ client.ObjectKey, known connection) bool { return known.Connection == conn })
}

func (c *Connections) remembered(key client.ObjectKey) (ceph.Connection, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	known, ok := c.known[key]
	return known.Connection, ok && c.now().Before(known.until)
}

func (c *Connections) find(ctx context.Context, cluster settings.Cluster, key client.ObjectKey) (ceph.Connection, error) {
	monHost, err := c.monHost(ctx, key.Namespace)
	if err != nil {
		return ceph.Connection{}, err
	}
	secretName := client.ObjectKey{Namespace: key.Namespace, Name: keyNamePrefix + key.Name}
	secret := &corev1.Secret{}
	if err := c.reader.Get(ctx, secretName, secret); apierrors.IsNotFound(err) {
		return ceph.Connection{}, c.explainNoKey(ctx, key)
	} else if err != nil {
		return ceph.Connection{}, explain(err, "get", "Secret", secretName)
	}
	cephxKey := word(secret.Data[key.Name])
	if cephxKey == "" {
		cephxKey = word(secret.Data[keyUserKey])
	}
	if cephxKey == "" {
		return ceph.Connection{}, &Error{Reason: ReasonKeyMissing, Message: fmt.Sprintf("Secret %s contains no key of CephClient %s: delete the Secret, and Rook recreates it", secretName, key.Name)}
	}
	user := word(secret.Data[keyUser])
	if user == "" {
		user = key.Name
	}
	found := ceph.Connection{MonHost: monHost, User: user, Key: cephxKey}
	if ceph.NewerKey(cephxKey) {
		found.Image = c.image(ctx, cluster)
	}
	return found, nil
}

// image returns the Ceph image of a cluster; "" if unknown. The image is only for the error when `ceph` is
// too old to read the key.
func (c *Connections) image(ctx context.Context, cluster settings.Cluster) string {
	var read cephCluster
	if err := get(ctx, c.reader, object(kindCluster, cluster.Namespace, cluster.Name), &read); err != nil {
		return ""
	}
	return cmp.Or(read.Status.Version.Image, read.Spec.CephVersion.Image)
}

// monHost returns the monitors' addresses, such as [v2:10.0.0.1:3300,v1:10.0.0.1:6789]. Rook
// keeps them up to date and omits monitors that are out of quorum.
func (c *Connections) monHost(ctx context.Context, namespace string) (string, error) {
	key := client.ObjectKey{Namespace: namespace, Name: monitorsName}
	secret := &corev1.Secret{}
	if err := c.reader.Get(ctx, key, secret); err != nil && !apierrors.IsNotFound(err) {
		return "", explain(err, "get", "Secret", key)
	}
	monHost := word(secret.Data[keyMonHost])
	if monHost == "" {
		return "", &Error{Reason: ReasonClusterNotReady, Message: fmt.Sprintf("Secret %s has no %s: Rook has not created the cluster in that namespace yet", key, keyMonHost)}
	}
	return monHost, nil
}

// explainNoKey returns an error that says why a Secret with a key is missing.
func (c *Connections) explainNoKey(ctx context.Context, key client.ObjectKey) error {
	var identity struct {
		Status struct {
			Phase string `json:"phase"`
		} `json:"status"`
	}
	message := fmt.Sprintf("Rook has not created the key of CephClient %s yet", key)
	err := get(ctx, c.reader, object(kindClient, key.Namespace, key.Name), &identity)
	switch {
	case apierrors.IsNotFound(err):
		message = fmt.Sprintf("there is no CephClient %s: create it with the chart (cephClients.create) or config/ceph, or name another in identities of the operator config", key)
	case err == nil && identity.Status.Phase == phaseReady:
		message = fmt.Sprintf("CephClient %s is Ready, but there is no Secret %s: its secretName must not be set", key, keyNamePrefix+key.Name)
	case err == nil && identity.Status.Phase != "":
		message += ", which is in phase " + identity.Status.Phase
	}
	return &Error{Reason: ReasonKeyMissing, Message: message}
}

// Caps are the caps in the spec of a CephClient.
type Caps struct {
	Mon string `json:"mon"`
	OSD string `json:"osd"`
}

// Caps returns the caps in the spec of a CephClient.
func (c *Connections) Caps(ctx context.Context, cluster settings.Cluster, clientName string) (Caps, error) {
	var identity struct {
		Spec struct {
			Caps Caps `json:"caps"`
		} `json:"spec"`
	}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: clientName}
	if err := get(ctx, c.reader, object(kindClient, key.Namespace, key.Name), &identity); err != nil {
		return Caps{}, explain(err, "get", kindClient, key)
	}
	return identity.Spec.Caps, nil
}

// word returns a value of a Secret without surrounding spaces. A value with a space or a control character
// inside would break its line in a file, so it counts as missing.
func word(value []byte) string {
	text := strings.TrimSpace(string(value))
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return ""
	}
	return text
}
