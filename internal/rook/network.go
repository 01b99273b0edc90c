package rook

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cephtune/cephtune/internal/ceph"
)

// The folder in benchmark pods that has the files with CephConf and Keyring, and the names of these files.
const (
	ConfFolder  = "/etc/ceph"
	ConfFile    = "ceph.conf"
	KeyringFile = "keyring"
)

// multusAnnotation attaches a pod to additional networks.
const multusAnnotation = "k8s.v1.cni.cncf.io/networks"

// PodNetwork describes the network settings of a pod that reaches the daemons of a cluster.
type PodNetwork struct {
	// Annotations attach the pod to the public network; nil if that is not needed.
	Annotations map[string]string
}

// PodNetwork returns the network settings of a pod that reaches the daemons. It never uses the host
// network: pods can reach daemons on a node's address from the pod network, and restricted namespaces
// refuse host networking. With a public network of Multus, the OSDs are only on that network, so the pod
// has to join it.
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

// multusSelection adds the CephCluster's namespace to a selector without a namespace, because a pod in
// another namespace uses the selector.
func multusSelection(selector, namespace string) (string, error) {
	selector = strings.TrimSpace(selector)
	if strings.HasPrefix(selector, "{") { // Rook accepts an object without brackets, Multus does not.
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

// ConfLines returns the lines that clients of a cluster need in [global] of ceph.conf besides the monitors
// and the key. They are needed because monitors send these options only after the first connection.
// RequireMsgr2 needs no line, because Rook then lists only the monitors' v2 addresses.
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

// CephConf returns the ceph.conf for a pod that uses a connection.
func CephConf(conn ceph.Connection, info ClusterInfo) string {
	lines := append([]string{
		"[global]",
		"mon_host = " + conn.MonHost,
		"keyring = " + ConfFolder + "/" + KeyringFile,
	}, info.ConfLines()...)
	// librados refuses a file without a newline at the end.
	return strings.Join(lines, "\n") + "\n"
}

// Keyring returns the keyring of a pod. It contains the secret key.
func Keyring(conn ceph.Connection) string {
	return fmt.Sprintf("[client.%s]\n\tkey = %s\n", conn.User, conn.Key)
}
