package words

import (
	"strings"
	"testing"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestMetric(t *testing.T) {
	for word, want := range map[string]v1alpha1.Metric{
		"p99": v1alpha1.MetricLatencyP99, "P99": v1alpha1.MetricLatencyP99, "p99.9": v1alpha1.MetricLatencyP999, "LatencyP99": v1alpha1.MetricLatencyP99,
		"max": v1alpha1.MetricLatencyMax, "avg": v1alpha1.MetricLatencyMean, "lat": v1alpha1.MetricLatencyMean,
		"bw": v1alpha1.MetricBandwidth, "iops": v1alpha1.MetricIOPS, "speed": "",
	} {
		if got, known := Metric(word); got != want || known != (want != "") {
			t.Errorf("%s: %s, %v, want %q", word, got, known, want)
		}
	}
}

func TestFlag(t *testing.T) {
	for word, want := range map[string]string{
		"rw": "mode", "bs": "block-size", "iodepth": "depth", "runtime": "duration", "numjobs": "jobs", "rwmixread": "read-percent", "pool": "pool",
	} {
		if got := Flag(word); got != want {
			t.Errorf("--%s is --%s, want --%s", word, got, want)
		}
	}
}

func TestBlockSize(t *testing.T) {
	for text, want := range map[string]int64{"4Ki": 4096, "4096": 4096, "4Mi": 4 << 20, "512": 512, "4k": 4096, "4K": 4096, "64k": 65536, "4M": 4 << 20, "1g": 1 << 30} {
		if got, err := BlockSize(text); err != nil || got.Value() != want {
			t.Errorf("%s: %v, %v, want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"100": "at least 512 bytes", "5000": "multiples of 512", "big": "want a size such as 4Ki", "1e-3": "want a size such as 4Ki", "kk": "want a size such as 4Ki",
	} {
		if _, err := BlockSize(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{"60": time.Minute, "90s": 90 * time.Second, "2m": 2 * time.Minute, "-5": -1, "soon": -1} {
		var got Seconds
		if err := got.Set(text); (err == nil) != (want >= 0) || err == nil && time.Duration(got) != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
}

// Errors about names from fio and about short names of metrics say which name is meant.
func TestHint(t *testing.T) {
	for message, want := range map[string]string{
		`unknown field "spec.template.phases[0].fio.rw"`:                           " (rw of fio is pattern, such as RandRead here)",
		`unknown field "spec.template.phases[0].fio.bs"`:                           " (bs of fio is blockSize, such as 4Ki here)",
		`unknown field "spec.template.phases[0].fio.iodepth"`:                      " (iodepth of fio is ioDepth here)",
		`unknown field "spec.template.phases[0].fio.runtime"`:                      " (runtime of fio is duration, such as 60s here)",
		`unknown field "fio.rw", unknown field "fio.bs"`:                           " (rw of fio is pattern, such as RandRead here; bs of fio is blockSize, such as 4Ki here)",
		`spec.expectations[0].metric: Unsupported value: "p99": supported values:`: " (p99 is LatencyP99 here)",
		`spec.objective.metric: Unsupported value: "max": supported values:`:       " (max is LatencyMax here)",
		`unknown field "spec.template.backgroundLoad.fio"`:                         " (write the background load as an entry of phases, and its name into backgroundLoad.phase)",
		`unknown field "spec.mood"`:                                                "",
		"connection refused":                                                       "",
	} {
		if got := Hint(message); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	for message, want := range map[string]string{
		`strict decoding error: unknown field "spec.mood"`:                                                             `unknown field "spec.mood"`,
		"json: cannot unmarshal string into Go struct field CephBenchmarkSpec.spec.repetitions of type int32":          "spec.repetitions wants a whole number, but found a string",
		"json: cannot unmarshal object into Go struct field CephBenchmarkSpec.spec.expectations of type []v1alpha1.It": "spec.expectations wants a list, but found an object",
		"json: cannot unmarshal array into Go value of type v1alpha1.CephBenchmarkSpec":                                "wants fields of its own, but found a list",
	} {
		if got := Plain(message); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
