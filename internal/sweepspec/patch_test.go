package sweepspec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/tuning"
)

func TestPatches(t *testing.T) {
	for name, tc := range map[string]struct {
		patch  string
		values map[string]cephvalue.Value
		want   string
	}{
		"options of OSDs, one of them unset": {
			`{parameters: [{name: a, config: {option: osd_mclock_profile, mask: "class:ssd"}, values: [balanced]}, {name: b, config: {option: osd_client_message_cap}, values: ["1"]},
				{name: depth, workload: {phase: fio, field: ioDepth}, values: ["2"]}]}`,
			map[string]cephvalue.Value{"a": cephvalue.Unset(), "b": cephvalue.Of("256"), "depth": cephvalue.Of("2")},
			`CephCluster my-cluster
# Rook does not remove it from Ceph: run ` + "`ceph config rm osd/class:ssd osd_mclock_profile`" + ` once.
apiVersion: ceph.rook.io/v1
kind: CephCluster
metadata:
  name: my-cluster
  namespace: rook-ceph
spec:
  cephConfig:
    osd:
      osd_client_message_cap: "256"
    osd/class:ssd:
      osd_mclock_profile: null
`,
		},
		"pools that exist, by the names of their objects": {
			inPlace + `parameters: [{name: a, poolOption: {option: pg_num}, values: ["8"]}, {name: b, poolOption: {option: recovery_priority, role: Metadata}, values: ["8"]}]}`,
			map[string]cephvalue.Value{"a": cephvalue.Of("64"), "b": cephvalue.Of("2")},
			`CephBlockPool d
apiVersion: ceph.rook.io/v1
kind: CephBlockPool
metadata:
  name: d
  namespace: rook-ceph
spec:
  parameters:
    pg_autoscale_mode: "off"
    pg_num: "64"
CephBlockPool p-object
apiVersion: ceph.rook.io/v1
kind: CephBlockPool
metadata:
  name: p-object
  namespace: rook-ceph
spec:
  parameters:
    recovery_priority: "2"
`,
		},
		"copies of scratch pools": {
			`{parameters: [{name: a, poolOption: {option: size}, values: ["2"]}]}`,
			map[string]cephvalue.Value{"a": cephvalue.Of("2")},
			`CephBlockPool 
# Apply this patch to the pool that serves such a load: the sweep measured scratch pools.
apiVersion: ceph.rook.io/v1
kind: CephBlockPool
metadata:
  namespace: rook-ceph
spec:
  replicated:
    size: 2
`,
		},
		"nothing but the load": {`{parameters: [{name: a, workload: {phase: fio, field: ioDepth}, values: ["2"]}]}`, map[string]cephvalue.Value{"a": cephvalue.Of("2")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			patches, err := Patches(&specOf(t, tc.patch).Spec, tc.values, map[v1alpha1.PoolName]string{"p": "p-object"}, "")
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, p := range patches {
				got += fmt.Sprintf("%s %s\n%s", p.Kind, p.Name, p.Merge)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A truncated patch would be another configuration.
func TestAPatchThatIsTooLongIsLeftOut(t *testing.T) {
	d := patchDraft{kind: kindCluster, name: "c", settings: map[string]any{}}
	for i := range 20 {
		setting := tuning.Setting{Kind: tuning.KindConfig, Option: fmt.Sprintf("option_%d", i)}
		d.setConfig(Change{Change: tuning.Change{Setting: setting, To: cephvalue.Of(strings.Repeat("v", 64))}})
	}
	patch, err := d.render(1)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(patch.Merge, "# The patch has ") || strings.Count(patch.Merge, "\n") != 1 {
		t.Error(patch.Merge)
	}
}
