package rook

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

const (
	paramCompressionMode = "compression_mode"
	paramTargetRatio     = "target_size_ratio"
)

// Owned has the settings that Rook's custom resources set in Ceph. Rook sets them again at
// each reconcile, so a change in Ceph lasts only until then.
type Owned struct {
	// PoolParameters has the options that CephBlockPools set, by Ceph's name of the pool. It
	// omits pools of CephFilesystems and CephObjectStores.
	PoolParameters map[string]map[string]string
	// PoolObjects has the names of the CephBlockPools, by Ceph's name of the pool.
	PoolObjects map[string]string
	// CephConfig has the options that the CephCluster sets, by section and option. cephtune does not read
	// values in Secrets: instead of such a value, a text names the Secret and its key.
	CephConfig map[string]map[string]string
}

// ownedConfig is the part of a CephCluster that sets options. Rook sets the options from Secrets first, so
// those of cephConfig take precedence.
type ownedConfig struct {
	Spec struct {
		CephConfig           map[string]map[string]string    `json:"cephConfig"`
		CephConfigFromSecret map[string]map[string]secretKey `json:"cephConfigFromSecret"`
	} `json:"spec"`
}

type secretKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// ownedPool is the part of a CephBlockPool that sets options of its pool.
type ownedPool struct {
	Spec struct {
		// Name is the name in Ceph. It is set for Ceph's own pools, whose names are not valid
		// object names.
		Name       string            `json:"name"`
		Parameters map[string]string `json:"parameters"`
		// CompressionMode and TargetSizeRatio have separate fields, which take precedence over
		// the parameters.
		CompressionMode string `json:"compressionMode"`
		Replicated      struct {
			TargetSizeRatio float64 `json:"targetSizeRatio"`
		} `json:"replicated"`
	} `json:"spec"`
}

// Owned reads the settings that Rook applies in a cluster. It uses all CephBlockPools in the namespace,
// because Rook allows only one CephCluster there. It skips pools that are being deleted, because Rook sets
// nothing for them.
func (a *Access) Owned(ctx context.Context, ref v1alpha1.ClusterReference) (Owned, error) {
	o := object(kindCluster, ref.Namespace, ref.Name)
	config := ownedConfig{}
	if err := a.getCluster(ctx, o, &config); err != nil {
		return Owned{}, err
	}
	pools, err := a.pools(ctx, ref.Namespace)
	if err != nil {
		return Owned{}, err
	}
	owned := Owned{PoolParameters: map[string]map[string]string{}, PoolObjects: map[string]string{}, CephConfig: config.options()}
	for _, pool := range pools {
		if err := owned.add(&pool); err != nil {
			return Owned{}, err
		}
	}
	return owned, nil
}

// pools returns all CephBlockPools of a namespace.
func (a *Access) pools(ctx context.Context, namespace string) ([]unstructured.Unstructured, error) {
	pools := &unstructured.UnstructuredList{}
	pools.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kindBlockPool + "List"})
	if err := a.reader.List(ctx, pools, client.InNamespace(namespace)); err != nil {
		return nil, explain(err, "list", kindBlockPool+"s in namespace", client.ObjectKey{Namespace: namespace})
	}
	return pools.Items, nil
}

// options returns the options by Ceph's names; Rook also accepts other spellings.
func (c ownedConfig) options() map[string]map[string]string {
	all := map[string]map[string]string{}
	set := func(section, option, value string) {
		if all[section] == nil {
			all[section] = map[string]string{}
		}
		all[section][strings.NewReplacer(" ", "_", "-", "_").Replace(option)] = value
	}
	for section, options := range c.Spec.CephConfigFromSecret {
		for option, source := range options {
			set(section, option, fmt.Sprintf("the value of %[2]s in Secret %[1]s", source.Name, source.Key))
		}
	}
	for section, options := range c.Spec.CephConfig {
		for option, value := range options {
			set(section, option, value)
		}
	}
	return all
}

func (o *Owned) add(pool *unstructured.Unstructured) error {
	if pool.GetDeletionTimestamp() != nil {
		return nil
	}
	read := ownedPool{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pool.Object, &read); err != nil {
		return fmt.Errorf("read %s %s/%s: %w", kindBlockPool, pool.GetNamespace(), pool.GetName(), err)
	}
	name := read.Spec.Name
	if name == "" {
		name = pool.GetName()
	}
	o.PoolObjects[name] = pool.GetName()
	if parameters := read.parameters(); len(parameters) > 0 {
		o.PoolParameters[name] = parameters
	}
	return nil
}

func (p ownedPool) parameters() map[string]string {
	all := map[string]string{}
	maps.Copy(all, p.Spec.Parameters)
	if ratio := p.Spec.Replicated.TargetSizeRatio; ratio != 0 {
		all[paramTargetRatio] = strconv.FormatFloat(ratio, 'f', -1, 32)
	}
	if p.Spec.CompressionMode != "" {
		all[paramCompressionMode] = p.Spec.CompressionMode
	}
	return all
}
