package rook

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cephtune/cephtune/internal/ceph"
)

// Where the pods of benchmarks have what CephConf and Keyring return.
const (
	ConfFolder  = "/etc/ceph"
	ConfFile    = "ceph.conf"
	KeyringFile = "keyring"
)

// multusAnnotation has a pod join additional networks.
const multusAnnotation = "k8s.v1.cni.cncf.io/networks"

// PodNetwork is what a pod needs to reach the daemons of a cluster.
type PodNetwork struct {
	// Annotations of the pod.
	Annotations map[string]string
}

// PodNetwork returns what a pod needs to reach the daemons. There is no host network
// among it: what listens on a node's address is reached from the pod network too, and
// restricted namespaces refuse pods on the host's. With Multus the OSDs are on the
// public network alone, so that the pod has to join it.
func (i ClusterInfo) PodNetwork() (PodNetwork, error) {
	if !i.Network.Multus || i.Network.PublicSelector == "" {
		return PodNetwork{}, nil
	}
	selection, err := multusSelection(i.Network.PublicSelector, i.Namespace)
	if err != nil {
		return PodNetwork{}, &Error{
			Reason:  ReasonNetworkUnknown,
			Message: fmt.Sprintf("the public network of CephCluster %s/%s, selector %q, is not understood", i.Namespace, i.Name, i.Network.PublicSelector),
			Err:     err,
		}
	}
	return PodNetwork{Annotations: map[string]string{multusAnnotation: selection}}, nil
}

// multusSelection is a selector as a pod of another namespace has to write it: a name
// without a namespace is one of the CephCluster's.
func multusSelection(selector, namespace string) (string, error) {
	selector = strings.TrimSpace(selector)
	if strings.HasPrefix(selector, "{") { // Rook takes it without brackets, Multus does not
		selector = "[" + selector + "]"
	}
	if strings.HasPrefix(selector, "[") {
		return multusJSON(selector, namespace)
	}
	if selector == "" || strings.ContainsAny(selector, ", \t\n") {
		return "", fmt.Errorf("write one network as namespace/name")
	}
	if !strings.Contains(selector, "/") {
		selector = namespace + "/" + selector
	}
	return selector, nil
}

func multusJSON(selector, namespace string) (string, error) {
	var networks []map[string]any
	if err := json.Unmarshal([]byte(selector), &networks); err != nil {
		return "", err
	}
	if len(networks) != 1 {
		return "", fmt.Errorf("it holds %d networks, not one", len(networks))
	}
	if ns, _ := networks[0]["namespace"].(string); ns == "" {
		networks[0]["namespace"] = namespace
	}
	text, err := json.Marshal(networks)
	return string(text), err
}

// ConfLines are the lines that clients of a cluster need in [global] of ceph.conf, in addition
// to the monitors and the key: monitors send these options only after the first connections.
// Requiring version 2 of the protocol needs no line, because Rook then lists the monitors with
// no other address.
func (i ClusterInfo) ConfLines() []string {
	var lines []string
	if i.Network.Encryption {
		lines = append(lines, "ms_client_mode = secure", "ms_mon_client_mode = secure")
	}
	if i.Network.Compression {
		lines = append(lines, "ms_osd_compress_mode = force")
	}
	return lines
}

// CephConf returns the ceph.conf of a pod that reaches a cluster through a connection.
func CephConf(conn ceph.Connection, info ClusterInfo) string {
	lines := append([]string{
		"[global]",
		"mon_host = " + conn.MonHost,
		"keyring = " + ConfFolder + "/" + KeyringFile,
	}, info.ConfLines()...)
	// librados refuses a file whose last line does not end.
	return strings.Join(lines, "\n") + "\n"
}

// Keyring returns the keyring of a pod. It holds the key.
func Keyring(conn ceph.Connection) string {
	return fmt.Sprintf("[client.%s]\n\tkey = %s\n", conn.User, conn.Key)
}
