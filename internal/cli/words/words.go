// Package words translates words that users type instead of cephtune's: names from fio, and short names
// of metrics.
package words

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// metrics returns short names of metrics.
func metrics() map[string]v1alpha1.Metric {
	return map[string]v1alpha1.Metric{
		"bw": v1alpha1.MetricBandwidth, "throughput": v1alpha1.MetricBandwidth,
		"mean": v1alpha1.MetricLatencyMean, "avg": v1alpha1.MetricLatencyMean, "lat": v1alpha1.MetricLatencyMean, "latency": v1alpha1.MetricLatencyMean,
		"max": v1alpha1.MetricLatencyMax, "median": v1alpha1.MetricLatencyP50,
		"p50": v1alpha1.MetricLatencyP50, "p95": v1alpha1.MetricLatencyP95, "p99": v1alpha1.MetricLatencyP99,
		"p999": v1alpha1.MetricLatencyP999, "p99.9": v1alpha1.MetricLatencyP999,
	}
}

// Metric returns the metric that a word names: a metric of the API except those of outages, ignoring case, or
// a short name such as p99.
func Metric(word string) (v1alpha1.Metric, bool) {
	for _, m := range []v1alpha1.Metric{
		v1alpha1.MetricBandwidth, v1alpha1.MetricIOPS, v1alpha1.MetricLatencyMean, v1alpha1.MetricLatencyMax,
		v1alpha1.MetricLatencyP50, v1alpha1.MetricLatencyP95, v1alpha1.MetricLatencyP99, v1alpha1.MetricLatencyP999,
	} {
		if strings.EqualFold(word, string(m)) {
			return m, true
		}
	}
	m, known := metrics()[strings.ToLower(word)]
	return m, known
}

// MetricNames returns one name, which Metric accepts, for each metric except those of outages.
func MetricNames() []string {
	return []string{"bandwidth", "iops", "mean", "max", "p50", "p95", "p99", "p999"}
}

// SweepVerdicts returns the verdicts of a sweep, and of a comparison.
func SweepVerdicts() []string {
	return []string{
		string(v1alpha1.VerdictSuperior), string(v1alpha1.VerdictBetter), string(v1alpha1.VerdictEquivalent),
		string(v1alpha1.VerdictInferior), string(v1alpha1.VerdictInconclusive), string(v1alpha1.VerdictInvalid),
	}
}

// Flags returns the flags for names from fio or from earlier versions of cephtune.
func Flags() map[string]string {
	return map[string]string{
		"rw": "mode", "readwrite": "mode", "bs": "block-size", "blocksize": "block-size", "iodepth": "depth", "io-depth": "depth",
		"concurrency": "depth", "runtime": "duration", "numjobs": "jobs", "num-jobs": "jobs", "rwmixread": "read-percent",
		"ramp_time": "ramp", "ramp-time": "ramp", "rate_iops": "rate-iops", "storageclass": "storage-class",
	}
}

// Flag returns the name of the flag for a name of Flags, and any other name unchanged.
func Flag(name string) string { return cmp.Or(Flags()[name], name) }

// Field returns the field of the API for a name from fio, often with an example of its value; false for
// any other name.
func Field(name string) (string, bool) {
	field, known := map[string]string{
		"rw": "pattern, such as RandRead", "readwrite": "pattern, such as RandRead", "bs": "blockSize, such as 4Ki",
		"blocksize": "blockSize, such as 4Ki", "iodepth": "ioDepth", "runtime": "duration, such as 60s", "numjobs": "numJobs",
		"rwmixread": "readPercent", "ramp_time": "ramp, such as 15s", "rate_iops": "rateIOPS", "rate": "rateBandwidth",
		"ioengine": "engine, such as RBD", "filesize": "size",
	}[name]
	return field, known
}

// Mode returns the value of --mode for fio's name of a pattern: randreadwrite for randrw.
func Mode(word string) string {
	word = strings.ToLower(word)
	switch word {
	case "randrw":
		return "randreadwrite"
	case "rw":
		return "readwrite"
	}
	return word
}

// Seconds is a duration flag that also accepts a plain number of seconds, as fio does.
type Seconds time.Duration

// Set implements pflag.Value.
func (s *Seconds) Set(text string) error {
	if n, err := strconv.Atoi(text); err == nil {
		text = fmt.Sprintf("%ds", n)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("want a time such as 60s or 5m")
	}
	*s = Seconds(d)
	return nil
}

// Type implements pflag.Value. The command's help shows the name that it returns.
func (*Seconds) Type() string { return "duration" }

func (s *Seconds) String() string { return time.Duration(*s).String() }

// BlockSize reads the size of one operation. As in fio, k, m and g are powers of 1024, also without an i: Kubernetes would
// read 64k as 64,000 bytes.
func BlockSize(text string) (*resource.Quantity, error) {
	if m := fioSize.FindStringSubmatch(text); m != nil {
		text = m[1] + strings.ToUpper(m[2]) + "i"
	}
	size, err := resource.ParseQuantity(text)
	bytes, whole := size.AsInt64()
	switch {
	case err != nil || !whole:
		return nil, fmt.Errorf("want a size such as 4Ki or 4Mi")
	case bytes < 512:
		return nil, fmt.Errorf("want at least 512 bytes, such as 4Ki")
	case !sweepspec.IsBlockSize(bytes):
		return nil, fmt.Errorf("that is %d bytes: blocks are multiples of 512, such as 4Ki", bytes)
	}
	return &size, nil
}

// Modes returns the values of --mode.
func Modes() []string {
	return []string{"write", "read", "randwrite", "randread", "readwrite", "randreadwrite"}
}

// IsMode reports whether a word is a value of --mode.
func IsMode(word string) bool { return slices.Contains(Modes(), word) }

// Hint returns the field or metric that the user probably meant, for an error about an unknown
// name; "" for any other error or name.
func Hint(message string) string {
	var hints []string
	for _, match := range unknownField.FindAllStringSubmatch(message, -1) {
		if field, known := Field(match[1]); known {
			hints = append(hints, fmt.Sprintf("%s of fio is %s here", match[1], field))
		}
	}
	if backgroundField.MatchString(message) {
		hints = append(hints, "write the background load as an entry of phases, and its name into backgroundLoad.phase")
	}
	for _, match := range unsupported.FindAllStringSubmatch(message, -1) {
		if metric, known := Metric(match[1]); known {
			hints = append(hints, fmt.Sprintf("%s is %s here", match[1], metric))
		}
	}
	if len(hints) == 0 {
		return ""
	}
	return " (" + strings.Join(hints, "; ") + ")"
}

var (
	fioSize      = regexp.MustCompile(`^([0-9]+)([kKmMgG])$`)
	unknownField = regexp.MustCompile(`unknown field "[^"]*?([A-Za-z_-]+)"`)
	// backgroundField matches a field of backgroundLoad before it named a phase.
	backgroundField = regexp.MustCompile(`unknown field "[^"]*backgroundLoad\.(?:fio|radosBench|rbdBench)\b`)
	unsupported     = regexp.MustCompile(`Unsupported value: "([^"]+)"`)
	goStruct        = regexp.MustCompile(`json: cannot unmarshal (?:(\w+) )?into Go (?:struct field [A-Za-z]+\.(\S+)|value) of type (\S+)`)
)

// Plain rewrites a decoder's error, replacing Go types by words.
func Plain(message string) string {
	message = strings.ReplaceAll(message, "strict decoding error: ", "")
	return goStruct.ReplaceAllStringFunc(message, func(found string) string {
		match := goStruct.FindStringSubmatch(found)
		text := "wants " + wanted(match[3])
		if match[1] != "" {
			text += ", but found " + article(match[1])
		}
		if match[2] != "" {
			text = match[2] + " " + text
		}
		return text
	})
}

// wanted returns a Go type in words.
func wanted(goType string) string {
	switch {
	case strings.HasPrefix(goType, "int"), strings.HasPrefix(goType, "uint"):
		return "a whole number"
	case goType == "bool":
		return "true or false"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.HasPrefix(goType, "map["):
		return "names with values"
	case goType == "string", goType == "v1alpha1.Decimal", goType == "v1alpha1.Threshold", goType == "v1alpha1.Percent", strings.HasPrefix(goType, "v1alpha1.") && !isObject(goType):
		return "a word"
	}
	return "fields of its own"
}

// isObject reports whether a type of the API has fields, judged by the end of its name. It misses many types.
func isObject(goType string) bool {
	for _, word := range []string{
		"Spec", "Template", "Target", "Pool", "Phase", "Bench", "Fio", "Clients", "Dataset", "Strategy", "Blocks", "Reference", "Quiescence", "Budget",
		"Guardrails", "Objective", "Parameter",
	} {
		if strings.HasSuffix(goType, word) {
			return true
		}
	}
	return false
}

func article(kind string) string {
	switch kind {
	case "object":
		return "an object"
	case "array":
		return "a list"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}
