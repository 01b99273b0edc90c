package figure

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestTimesAreShort(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "45s": 45 * time.Second, "1m": time.Minute, "2m30s": 150 * time.Second, "10m": 10*time.Minute + 20*time.Second, "4h": 4 * time.Hour,
		"3h18m": 3*time.Hour + 18*time.Minute + 24*time.Second, "10h": 10 * time.Hour, "1h10m": 70 * time.Minute, "20m": 20 * time.Minute,
	} {
		if got := Time(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestDecimal(t *testing.T) {
	for want, v := range map[v1alpha1.Decimal]float64{
		"0":            0,
		"1":            1,
		"432013300":    432013312, // 412 MiB
		"12345.68":     12345.678,
		"0.0203":       0.0203,
		"0.0001234568": 0.000123456789,
		"1.234568e-05": 0.0000123456789,
		"999999900000": 999999876543,
		"1e+12":        999999996543,
		"1.79769e+308": math.MaxFloat64,
		"5e-324":       math.SmallestNonzeroFloat64,
	} {
		if got := Decimal(v); got != want {
			t.Errorf("Decimal(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestDecimalFitsTheSchemaAndComesBack(t *testing.T) {
	pattern := regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]{1,3})?$`)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		v := math.Exp(random.NormFloat64() * 30)
		d := Decimal(v)
		if len(d) > maxDecimal || !pattern.MatchString(string(d)) {
			t.Fatalf("Decimal(%v) = %s is not one", v, d)
		}
		if back, err := ParseDecimal(d); err != nil || !near(back, v, 1e-6) {
			t.Fatalf("Decimal(%v) = %s comes back as %v, %v", v, d, back, err)
		}
	}
}

func TestHuman(t *testing.T) {
	for _, c := range []struct {
		metric v1alpha1.Metric
		value  float64
		want   string
	}{
		{v1alpha1.MetricBandwidth, 412 << 20, "412 MiB/s"},
		{v1alpha1.MetricBandwidth, 4.25 * (1 << 20), "4.25 MiB/s"},
		{v1alpha1.MetricBandwidth, 512, "512 B/s"},
		{v1alpha1.MetricBandwidth, 1023 << 20, "1023 MiB/s"},
		{v1alpha1.MetricBandwidth, 1 << 62, "4096 PiB/s"},
		{v1alpha1.MetricIOPS, 12345, "12.3k IOPS"},
		{v1alpha1.MetricIOPS, 123456, "123k IOPS"},
		{v1alpha1.MetricIOPS, 999.6, "1000 IOPS"},
		{v1alpha1.MetricIOPS, 950, "950 IOPS"},
		{v1alpha1.MetricIOPS, 4.444, "4.44 IOPS"},
		{v1alpha1.MetricIOPS, 0.5, "0.5 IOPS"},
		{v1alpha1.MetricIOPS, 0, "0 IOPS"},
		{v1alpha1.MetricLatencyP99, 0.0203, "20.3ms"},
		{v1alpha1.MetricLatencyMax, 1.25, "1.25s"},
		{v1alpha1.MetricLatencyMax, 75, "75s"},
		{v1alpha1.MetricLatencyMean, 0.00035, "350µs"},
		{v1alpha1.MetricLatencyMean, 0.00000012, "120ns"},
		{LatencyStdDev, 0.002, "2ms"},
	} {
		if got := Human(c.metric, c.value); got != c.want {
			t.Errorf("Human(%s, %v) = %q, want %q", c.metric, c.value, got, c.want)
		}
	}
}

func TestHeadline(t *testing.T) {
	quantity := resource.MustParse
	figures := v1alpha1.PhaseResult{Metrics: []v1alpha1.MetricResult{
		{Metric: v1alpha1.MetricBandwidth, Direction: v1alpha1.DirectionTotal, Value: "432013312"},
		{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal, Value: "12345"},
		{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionRead, Value: "1"},
	}}
	jobs := []v1alpha1.FioJob{{BlockSize: new(quantity("1Mi"))}}
	for name, c := range map[string]struct {
		phase v1alpha1.Phase
		want  string
	}{
		"large objects":       {v1alpha1.Phase{RadosBench: &v1alpha1.RadosBench{BlockSize: quantity("4Mi")}}, "p 412 MiB/s"},
		"64 KiB are small":    {v1alpha1.Phase{RBDBench: &v1alpha1.RBDBench{IOSize: quantity("64Ki")}}, "p 12.3k IOPS"},
		"small blocks":        {v1alpha1.Phase{Fio: &v1alpha1.Fio{BlockSize: quantity("4Ki")}}, "p 12.3k IOPS"},
		"the size of its job": {v1alpha1.Phase{Fio: &v1alpha1.Fio{BlockSize: quantity("4Ki"), Jobs: jobs}}, "p 412 MiB/s"},
	} {
		t.Run(name, func(t *testing.T) {
			c.phase.Name = "p"
			if got := Headline(&c.phase, figures); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := Headline(&c.phase, v1alpha1.PhaseResult{}); got != "" {
				t.Errorf("without figures it is %q", got)
			}
		})
	}
	measured := func(metric v1alpha1.Metric, value, low, high v1alpha1.Decimal) v1alpha1.MetricResult {
		return v1alpha1.MetricResult{Metric: metric, Direction: v1alpha1.DirectionTotal, Value: value, Low: low, High: high}
	}
	fio := v1alpha1.Phase{Name: "randread-4k", Fio: &v1alpha1.Fio{BlockSize: quantity("4Ki")}}
	atRate := v1alpha1.Phase{Name: "randread-4k", Fio: &v1alpha1.Fio{BlockSize: quantity("4Ki"), RateIOPS: new(int64(1000))}}
	long := v1alpha1.Phase{Name: v1alpha1.PhaseName(strings.Repeat("x", 48)), Fio: fio.Fio}
	several := v1alpha1.PhaseResult{Metrics: []v1alpha1.MetricResult{
		measured(v1alpha1.MetricIOPS, "5470", "4850", "6180"), measured(v1alpha1.MetricLatencyP99, "0.0058", "0.0055", "0.0062"),
	}}
	closed := *several.DeepCopy()
	closed.Marks = []v1alpha1.ResultMark{v1alpha1.MarkClosedLoop}
	one := v1alpha1.PhaseResult{Metrics: []v1alpha1.MetricResult{measured(v1alpha1.MetricIOPS, "5470", "", ""), measured(v1alpha1.MetricLatencyP99, "0.0058", "", "")}}
	for want, got := range map[string]string{
		"randread-4k 5.47k IOPS (4.85k–6.18k), closed-loop p99 5.8ms (5.5ms–6.2ms)": Headline(&fio, closed),
		"randread-4k p99 5.8ms (5.5ms–6.2ms), 5.47k IOPS (4.85k–6.18k)":             Headline(&atRate, several),
		"randread-4k 5.47k IOPS, p99 5.8ms":                                         Headline(&fio, one), // One run has no interval.
		string(long.Name) + " 5.47k IOPS (4.85k–6.18k)":                             Headline(&long, closed),
	} {
		if got != want || len(got) > maxHeadline {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	bandwidthOnly := v1alpha1.PhaseResult{Metrics: figures.Metrics[:1]}
	if got := Headline(&v1alpha1.Phase{Name: "p", Fio: &v1alpha1.Fio{}}, bandwidthOnly); got != "p 412 MiB/s" {
		t.Errorf("without IOPS it is %q", got)
	}
}
