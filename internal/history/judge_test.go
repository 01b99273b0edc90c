package history

import (
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestSizesInWords(t *testing.T) {
	for want, ratios := range map[string][3]float64{
		"worse by 12 % (8–16 %)":      {0.88, 0.84, 0.92},
		"worse by 12 % (-2 to +26 %)": {1.12, 0.98, 1.26},
		"worse by 100 % (50–150 %)":   {2, 1.5, 2.5},
	} {
		if got := size(true, ratios[0], ratios[1], ratios[2]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestNightsOfTheLab judges runs of the lab, one every two minutes. After the eighth, each operation of OSDs was delayed by 4 ms
// (osd_debug_inject_dispatch_delay_duration and _probability). The change needs five nights.
func TestNightsOfTheLab(t *testing.T) {
	file, err := os.Open("testdata/lab-ceph-20.2.4.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	nights, err := Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	phases := []v1alpha1.Phase{{Name: "write-4k", Fio: &v1alpha1.Fio{Pattern: v1alpha1.FioRandWrite}}}
	for count, want := range map[int]string{
		12: "no known change for the worse in 12 nights from 2026-12-02 18:20Z to",
		13: "write-4k IOPS is worse by 85 % (82–87 %) since 2026-12-02 18:36Z; the first such night is one of 2026-12-02 18:36Z to 2026-12-02 18:36Z (90 %), after that of 2026-12-02 18:34Z",
		14: "write-4k IOPS is worse by 85 % (83–87 %) since 2026-12-02 18:36Z",
	} {
		all, err := Judge(phases, nights[:count], "", time.Time{})
		if err != nil || len(all) != 1 || !strings.Contains(all[0].Sentence(), want) {
			t.Fatalf("%d nights: %v, %+v", count, err, all)
		}
		if count < 13 {
			continue
		}
		differences := all[0].Changes[0].Differences
		if len(differences) != 2 || !strings.Contains(differences[0], "osd_debug_inject_dispatch_delay_duration") {
			t.Errorf("%d nights: %q", count, differences)
		}
	}
}

// TestMainMetric checks that a phase at a rate is judged by its latency, because its operations per second are those offered.
func TestMainMetric(t *testing.T) {
	free := &v1alpha1.Fio{Pattern: v1alpha1.FioRandRead, BlockSize: resource.MustParse("4Ki")}
	rate := free.DeepCopy()
	rate.RateIOPS = new(int64(1000))
	iops := Figure{Phase: "p", Metric: v1alpha1.MetricIOPS}
	p99 := Figure{Phase: "p", Metric: v1alpha1.MetricLatencyP99}
	for name, test := range map[string]struct {
		fio     *v1alpha1.Fio
		figures []Figure
		want    v1alpha1.Metric
	}{
		"at a rate":           {rate, []Figure{iops, p99}, v1alpha1.MetricLatencyP99},
		"at too high a rate":  {rate, []Figure{iops}, v1alpha1.MetricIOPS},
		"as fast as possible": {free, []Figure{iops, p99}, v1alpha1.MetricIOPS},
	} {
		if got := mainMetric(&v1alpha1.Phase{Name: "p", Fio: test.fio}, Night{Figures: test.figures}); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestNightsAtTooHighARate checks that nights without latencies do not hide what the latencies of other nights show, and that
// they count themselves.
func TestNightsAtTooHighARate(t *testing.T) {
	phases := []v1alpha1.Phase{{Name: "p", Fio: &v1alpha1.Fio{Pattern: v1alpha1.FioRandRead, RateIOPS: new(int64(1000))}}}
	nights := make([]Night, 40)
	for i := range nights {
		iops, p99 := 1000+float64(i%3), 0.010+float64(i%3)*1e-4
		if i >= 20 {
			p99 *= 2
		}
		figures := []Figure{{Phase: "p", Metric: v1alpha1.MetricIOPS, Value: iops}, {Phase: "p", Metric: v1alpha1.MetricLatencyP99, Value: p99}}
		if i == 30 || i >= 33 {
			figures = figures[:1]
			figures[0].Value = 800 + float64(i%3)
		}
		nights[i] = Night{Time: time.Date(2026, 3, 1+i, 2, 0, 0, 0, time.UTC), Figures: figures}
	}
	for count, want := range map[int]map[v1alpha1.Metric]bool{
		30: {v1alpha1.MetricLatencyP99: true},
		31: {v1alpha1.MetricLatencyP99: true, v1alpha1.MetricIOPS: false},
		40: {v1alpha1.MetricLatencyP99: true, v1alpha1.MetricIOPS: true},
	} {
		all, err := Judge(phases, nights[:count], "", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[v1alpha1.Metric]bool{}
		for _, s := range all {
			got[s.Metric] = s.Regressed
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d nights: regressed %v, want %v", count, got, want)
		}
	}
}
