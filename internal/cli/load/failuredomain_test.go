package load

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
)

// onHosts returns the Deployment of an OSD on each host.
func onHosts(hosts ...string) (all []client.Object) {
	for i, host := range hosts {
		labels := map[string]string{labelApp: appOSD}
		if host != "" {
			labels[labelHost] = host
		}
		all = append(all, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "rook-ceph", Name: fmt.Sprintf("rook-ceph-osd-%d", i), Labels: labels}})
	}
	return all
}

func TestFitFailureDomain(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		osds []client.Object
		want string
	}{
		"one host":                 {"", onHosts("a", "a", "a"), "osd"},
		"two hosts, three copies":  {"", onHosts("a", "b", "a"), "osd"},
		"a host for each copy":     {"", onHosts("a", "b", "c"), ""},
		"two copies":               {"--replicas 2", onHosts("a", "b"), ""},
		"too few OSDs":             {"", onHosts("a", "a"), ""},
		"the user has chosen":      {"--failure-domain rack", onHosts("a", "a", "a"), "rack"},
		"a pool that exists":       {"--pool rbd", onHosts("a", "a", "a"), ""},
		"OSDs without Rook's host": {"", onHosts("a", "", "a"), ""},
		"nothing to be seen":       {"", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l, cmd := &Flags{}, &cobra.Command{}
			l.Add(cmd, time.Minute)
			if err := cmd.ParseFlags(strings.Fields(c.line)); err != nil {
				t.Fatal(err)
			}
			note := l.FitFailureDomain(t.Context(), clitest.Holding(t, c.osds...), v1alpha1.ClusterReference{Namespace: "rook-ceph", Name: "my-cluster"})
			if l.domain != c.want || (note != "") != (c.want == "osd") {
				t.Errorf("got %q, %q", l.domain, note)
			}
		})
	}
}

func TestNamesOfFioMeanFio(t *testing.T) {
	for line, want := range map[string]string{
		"--rw randread --bs 4Ki --iodepth 32": "fio",
		"--rw read":                           "fio",
		"--bs 4Ki":                            "fio",
		"--runtime 60s":                       "fio",
		"--rw read --engine rados":            "rados",
		"--mode randread --block-size 4Ki":    "fio",
		"--mode read --block-size 4Mi":        "rados",
		"--depth 32":                          "rados",
	} {
		l, cmd := &Flags{}, &cobra.Command{}
		l.Add(cmd, time.Minute)
		if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		if err := l.Check(false); err != nil || l.Engine() != want {
			t.Errorf("%s: %s, %v, want %s", line, l.Engine(), err, want)
		}
	}
}

func TestRefusedDomains(t *testing.T) {
	replicated := func(domain string, size int32) *v1alpha1.ScratchPool {
		return &v1alpha1.ScratchPool{FailureDomain: domain, Replicated: &v1alpha1.ReplicatedPool{Size: size}}
	}
	coded := &v1alpha1.ScratchPool{FailureDomain: "host", ErasureCoded: &v1alpha1.ErasureCodedPool{DataChunks: 2, CodingChunks: 1}}
	for name, c := range map[string]struct {
		pool *v1alpha1.ScratchPool
		osds []client.Object
		want string
	}{
		"one host":            {replicated("host", 3), onHosts("a", "a", "a"), "set target.scratchPool.failureDomain to osd"},
		"chunks":              {coded, onHosts("a", "b", "b"), "keeps 3 copies or chunks on different hosts, and the cluster has 2"},
		"too few OSDs":        {replicated("osd", 3), onHosts("a", "a"), "different OSDs, and the cluster has 2: use fewer copies"},
		"enough hosts":        {replicated("host", 3), onHosts("a", "b", "c"), ""},
		"enough OSDs":         {replicated("osd", 3), onHosts("a", "a", "a"), ""},
		"racks are not known": {replicated("rack", 3), onHosts("a", "a", "a"), ""},
		"nothing to be seen":  {replicated("host", 3), nil, ""},
		"no scratch pool":     {nil, onHosts("a"), ""},
	} {
		got := RefusedDomains(t.Context(), clitest.Holding(t, c.osds...), v1alpha1.ClusterReference{Namespace: "rook-ceph", Name: "my-cluster"}, c.pool)
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
