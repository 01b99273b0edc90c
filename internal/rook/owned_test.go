package rook

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

var clusterRef = v1alpha1.ClusterReference{Namespace: rookNamespace, Name: "my-cluster"}

// none returns an Owned with nothing in it, after a change.
func none(change func(*Owned)) Owned {
	owned := Owned{PoolParameters: map[string]map[string]string{}, PoolObjects: map[string]string{}, CephConfig: map[string]map[string]string{}}
	change(&owned)
	return owned
}

func TestOwned(t *testing.T) {
	cases := map[string]struct {
		cluster string // spec of the CephCluster
		pools   []string
		want    Owned
	}{
		"a cluster that leaves everything to Ceph": {cluster: `{}`, want: none(func(*Owned) {})},
		"fields that are null":                     {cluster: `{cephConfig: null, cephConfigFromSecret: null}`, want: none(func(*Owned) {})},
		"options of OSDs, of one class, and of all daemons": {
			cluster: `{cephConfig: {osd: {osd_memory_target: "939524096"}, "osd/class:ssd": {osd_mclock_profile: balanced}, global: {osd_pool_default_size: "1"}}}`,
			want: none(func(o *Owned) {
				o.CephConfig = map[string]map[string]string{
					"osd":           {"osd_memory_target": "939524096"},
					"osd/class:ssd": {"osd_mclock_profile": "balanced"},
					"global":        {"osd_pool_default_size": "1"},
				}
			}),
		},
		"options as Rook spells them": {
			cluster: `{cephConfig: {osd: {osd-max backfills: "4"}}}`,
			want:    none(func(o *Owned) { o.CephConfig["osd"] = map[string]string{"osd_max_backfills": "4"} }),
		},
		"options from Secrets, of which some are overridden": {
			cluster: `{cephConfigFromSecret: {osd: {osd_max_backfills: {name: s, key: k}, osd_memory_target: {name: s, key: m}}}, cephConfig: {osd: {osd_memory_target: "1"}}}`,
			want: none(func(o *Owned) {
				o.CephConfig["osd"] = map[string]string{"osd_max_backfills": "the value of k in Secret s", "osd_memory_target": "1"}
			}),
		},
		"a pool with parameters, and one without": {
			cluster: `{}`,
			pools: []string{
				`{metadata: {name: a}, spec: {replicated: {size: 3}, parameters: {pg_num: "32", pg_autoscale_mode: "on"}}}`,
				`{metadata: {name: b}, spec: {replicated: {size: 3}}}`,
			},
			want: none(func(o *Owned) {
				o.PoolParameters["a"] = map[string]string{"pg_num": "32", "pg_autoscale_mode": "on"}
				o.PoolObjects = map[string]string{"a": "a", "b": "b"}
			}),
		},
		"a pool of Ceph's own": {
			cluster: `{}`,
			pools:   []string{`{metadata: {name: builtin-mgr}, spec: {name: .mgr, parameters: {pg_num: "1"}}}`},
			want: none(func(o *Owned) {
				o.PoolParameters[".mgr"] = map[string]string{"pg_num": "1"}
				o.PoolObjects[".mgr"] = "builtin-mgr"
			}),
		},
		"both pools of an erasure-coded target": {
			cluster: `{}`,
			pools: []string{
				`{metadata: {name: ec-data}, spec: {erasureCoded: {dataChunks: 2, codingChunks: 1}, parameters: {pg_num: "64"}}}`,
				`{metadata: {name: ec-metadata}, spec: {replicated: {size: 3}, parameters: {pg_num: "8"}}}`,
			},
			want: none(func(o *Owned) {
				o.PoolParameters = map[string]map[string]string{"ec-data": {"pg_num": "64"}, "ec-metadata": {"pg_num": "8"}}
				o.PoolObjects = map[string]string{"ec-data": "ec-data", "ec-metadata": "ec-metadata"}
			}),
		},
		"parameters that have fields of their own": {
			cluster: `{}`,
			pools: []string{
				`{metadata: {name: a}, spec: {compressionMode: force, parameters: {compression_mode: none}, replicated: {size: 3, targetSizeRatio: 0.5}}}`,
				`{metadata: {name: b}, spec: {compressionMode: "", replicated: {size: 3, targetSizeRatio: 2}}}`,
			},
			want: none(func(o *Owned) {
				o.PoolParameters = map[string]map[string]string{
					"a": {"compression_mode": "force", "target_size_ratio": "0.5"},
					"b": {"target_size_ratio": "2"},
				}
				o.PoolObjects = map[string]string{"a": "a", "b": "b"}
			}),
		},
		"pools that count for nothing": {
			cluster: `{}`,
			pools: []string{
				`{metadata: {name: going, finalizers: [cephblockpool.ceph.rook.io], deletionTimestamp: "2026-11-21T15:33:38Z"}, spec: {parameters: {pg_num: "32"}}}`,
				`{metadata: {name: elsewhere, namespace: other}, spec: {parameters: {pg_num: "32"}}}`,
			},
			want: none(func(*Owned) {}),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{fromYAML(t, `{apiVersion: ceph.rook.io/v1, kind: CephCluster, metadata: {namespace: rook-ceph, name: my-cluster}, spec: `+tc.cluster+`}`)}
			for _, text := range tc.pools {
				objects = append(objects, blockPoolOf(t, text))
			}
			reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build()
			got, err := New(reader, reader, time.Now).Owned(t.Context(), clusterRef)
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("error %v, owned (-want +got):\n%s", err, diff)
			}
		})
	}
}

// blockPoolOf returns a CephBlockPool in Rook's namespace, or in another one if given.
func blockPoolOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := fromYAML(t, `{apiVersion: ceph.rook.io/v1, kind: CephBlockPool, `+strings.TrimPrefix(text, "{"))
	if o.GetNamespace() == "" {
		o.SetNamespace(rookNamespace)
	}
	return o
}

func TestOwnedNamesMissingObjects(t *testing.T) {
	access := func(objects ...client.Object) *Access {
		reader := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build(), interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: "cephblockpools"}, "", errors.New("no"))
			},
		})
		return New(reader, reader, time.Now)
	}
	_, err := access().Owned(t.Context(), clusterRef)
	wantReason(t, err, ReasonClusterMissing, "clusterRef")
	_, err = access(fromYAML(t, labCluster)).Owned(t.Context(), clusterRef)
	wantReason(t, err, ReasonForbidden, "the operator may not list CephBlockPools in namespace rook-ceph: create the Role for it in namespace rook-ceph, with the chart (rbac.create) or config/ceph")
}
