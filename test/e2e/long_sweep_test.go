//go:build e2e

package e2e

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
)

// The sweeps in this file take long. So "make e2e" leaves out their tests, and all others with names
// that begin with TestLong. "make e2e-long" runs only those.

// longSweepWithin is the deadline of the longest sweep.
const longSweepWithin = 90 * time.Minute

// A sweep must reach its verdict although its manager is killed, once while settings are changed
// and once while they are measured. It must find a real effect, and no effect of the default value. An
// OSD that admits one operation at a time is slow; 256 is the default.
func TestLongSweepToItsVerdict(t *testing.T) {
	c := forTest(t)
	c.createSettledPool(t)
	before := c.tunables(t)
	s := c.sweep("verdict", v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: existingPool}}, messageCap("1", "256"))
	write := s.Spec.Template.Phases[0].RadosBench
	write.Concurrency, write.ObjectSize = 32, new(resource.MustParse("32Ki")) // Fewer objects are removed faster.
	c.createSweep(t, s)
	c.awaitChange(t, "osd_client_message_cap = ")

	c.killManager(t) // before the cluster has settled

	c.awaitRunOf(t, s, "message_cap=1")
	c.killManager(t) // while it measures

	c.awaitVerdict(t, s, before)

	slow := configurationOf(t, s, "message_cap=1")
	if slow.Runs < 2 || slow.Verdict != v1alpha1.VerdictInferior && slow.Reason != string(sweep.CandidateBeaten) {
		t.Errorf("%s is called %s (%s) on %d runs, want Inferior, or beaten", slow.Name, slow.Verdict, slow.Reason, slow.Runs)
	}
	// At the sweep's own confidence of 0.95, one of twenty such tests may fail by chance.
	same := configurationOf(t, s, "message_cap=256")
	verdict := cmp.Or(verdictAt(t, s, same.Index, "99.9%"), same.Verdict)
	if same.Runs < 3 || verdict == v1alpha1.VerdictSuperior || verdict == v1alpha1.VerdictInferior {
		t.Errorf("%s is the baseline itself, and called %s on %d runs", same.Name, verdict, same.Runs)
	}
}

// The PGs of an existing pool are split and merged. At the end, the pool must be as before.
func TestLongSweepOfPGsInPlace(t *testing.T) {
	c := forTest(t)
	c.createOwnPool(t, existingPool, 8)
	before := c.tunables(t)
	s := c.sweep("in-place", v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: existingPool}}, v1alpha1.Parameter{
		Name: "pg_num", PoolOption: &v1alpha1.PoolOptionParameter{Option: "pg_num"}, Values: []v1alpha1.ParameterValue{"16"},
	})
	c.createSweep(t, s)
	c.awaitRunOf(t, s, "pg_num=16")
	if pgs := c.pgNum(t, existingPool); pgs != 16 {
		t.Errorf("the pool has %d PGs in a run with 16", pgs)
	}

	c.awaitVerdict(t, s, before)

	wantJudged(t, s)
	if !strings.Contains(s.Status.Summary, "weaker") {
		t.Errorf("the summary is %q, want it to say that the design is the weaker one", s.Status.Summary)
	}
}

// Compression takes CPU that clients need. The clients overwrite an image, because new data of a
// minute would fill a small cluster.
func TestLongSweepOfCompression(t *testing.T) {
	c := forTest(t)
	before := c.tunables(t)
	target := c.replicatedScratch()
	target.ScratchPool.Parameters["compression_algorithm"] = "zlib"
	s := c.sweep("compression", target, v1alpha1.Parameter{
		Name: "mode", PoolOption: &v1alpha1.PoolOptionParameter{Option: "compression_mode"}, Values: []v1alpha1.ParameterValue{"none", "force"},
	})
	s.Spec.Baseline = &v1alpha1.Baseline{Values: map[string]v1alpha1.ParameterValue{"mode": "none"}}
	s.Spec.Template.Phases[0] = fioPhase("write", v1alpha1.Fio{Pattern: v1alpha1.FioRandWrite, BlockSize: resource.MustParse("64Ki"), IODepth: 16})
	c.createSweep(t, s)

	c.awaitVerdict(t, s, before)

	if forced := configurationOf(t, s, "mode=force"); forced.Verdict != v1alpha1.VerdictInferior {
		t.Errorf("mode=force is called %s (%s), want Inferior", forced.Verdict, forced.Reason)
	}
}

// OSDs are restarted for an option that they read only when they start. At the end, they must run
// with the original value.
func TestLongSweepThatRestartsOSDs(t *testing.T) {
	c := forTest(t)
	c.createSettledPool(t)
	before := c.tunables(t)
	shards := c.shards(t)
	s := c.sweep("restarts", v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: existingPool}}, v1alpha1.Parameter{
		Name: "shards", Config: &v1alpha1.ConfigParameter{Option: "osd_op_num_shards"}, Values: []v1alpha1.ParameterValue{"1"},
	})
	s.Spec.Guardrails.OSDRestarts = v1alpha1.RestartAllow
	c.createSweep(t, s)
	c.awaitRunOf(t, s, "shards=1")
	if now := c.shards(t); now != "1" {
		t.Errorf("osd.0 runs with osd_op_num_shards %s in a run with 1", now)
	}

	c.awaitVerdict(t, s, before)

	wantJudged(t, s)
	if now := c.shards(t); now != shards {
		t.Errorf("osd.0 runs with osd_op_num_shards %s, want %s as before", now, shards)
	}
}

func (c *cluster) awaitVerdict(t *testing.T, s *v1alpha1.CephTuningSweep, before string) {
	t.Helper()
	c.awaitSweep(t, s, longSweepWithin, "to come to its verdict", sweepIs(v1alpha1.ReasonComplete))
	t.Log(verdictTable(s))
	c.wantRestored(t, s, before)
}

func (c *cluster) pgNum(t *testing.T, pool string) int {
	t.Helper()
	var got struct {
		PGNum int `json:"pg_num"`
	}
	if err := c.cephJSON(t.Context(), &got, "osd", "pool", "get", pool, "pg_num"); err != nil {
		t.Fatal(err)
	}
	return got.PGNum
}

func (c *cluster) shards(t *testing.T) string {
	t.Helper()
	value, err := c.ceph(t.Context(), "config", "show", "osd.0", "osd_op_num_shards")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(value)
}
