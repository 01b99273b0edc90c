package cephtest

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// poolOption describes the values that `osd pool set` accepts for an option.
type poolOption struct {
	valueType string
	// words lists the accepted values of an option whose values are words.
	words []string
	// bounds holds the smallest and the largest value. It is empty if any number is accepted.
	bounds []float64
}

func poolOptions() map[string]poolOption {
	number := func(valueType string, bounds ...float64) poolOption {
		return poolOption{valueType: valueType, bounds: bounds}
	}
	words := func(words ...string) poolOption { return poolOption{valueType: cephvalue.String, words: words} }
	return map[string]poolOption{
		"recovery_priority":          number(cephvalue.Int, -10, 10),
		"recovery_op_priority":       number(cephvalue.Int),
		"scrub_priority":             number(cephvalue.Int),
		"read_ratio":                 number(cephvalue.Int, 0, 100),
		"scrub_min_interval":         number(cephvalue.Float),
		"scrub_max_interval":         number(cephvalue.Float),
		"deep_scrub_interval":        number(cephvalue.Float),
		"compression_required_ratio": number(cephvalue.Float, 0, 1),
		"compression_max_blob_size":  number(cephvalue.Size),
		"compression_min_blob_size":  number(cephvalue.Size),
		"csum_max_block":             number(cephvalue.Size),
		"csum_min_block":             number(cephvalue.Size),
		"pg_num_min":                 number(cephvalue.Int),
		"pg_num_max":                 number(cephvalue.Int),
		"target_size_bytes":          number(cephvalue.Size),
		"target_size_ratio":          number(cephvalue.Float),
		"pg_autoscale_bias":          number(cephvalue.Float, 0, 1000),
		"compression_mode":           words("unset", "none", "passive", "aggressive", "force"),
		"compression_algorithm":      words("unset", "none", "snappy", "zlib", "zstd", "lz4"),
		"csum_type":                  words(csumTypes()...),
		"pg_autoscale_mode":          words("on", "off", "warn"),
	}
}

// csumTypes returns the checksum types in the order of Ceph's numbers for them.
func csumTypes() []string {
	return []string{"unset", "none", "xxhash32", "xxhash64", "crc32c", "crc32c_16", "crc32c_8"}
}

// storePool returns the form in which a pool keeps the value of an option, or an error if Ceph refuses the
// value.
func storePool(pool *ceph.Pool, option, value string) (string, error) {
	if option == "fast_read" {
		return fastRead(pool, value)
	}
	kind, known := poolOptions()[option]
	if !known {
		return "", fmt.Errorf("invalid command: %s not in the options of a pool", option)
	}
	if len(kind.words) > 0 && !slices.Contains(kind.words, value) {
		return "", fmt.Errorf("unrecognized %s '%s'", option, value)
	}
	if option == "csum_type" {
		return strconv.Itoa(slices.Index(csumTypes(), value)), nil
	}
	stored, err := cephvalue.Canonical(kind.valueType, value)
	if err != nil {
		return "", err
	}
	number, isNumber := cephvalue.Number(kind.valueType, value)
	if isNumber && len(kind.bounds) == 2 && (number < kind.bounds[0] || number > kind.bounds[1]) {
		return "", fmt.Errorf("%s must be between %v and %v", option, kind.bounds[0], kind.bounds[1])
	}
	if kind.valueType == cephvalue.Float {
		number, err := strconv.ParseFloat(value, 64)
		return strconv.FormatFloat(number, 'g', 17, 64), err
	}
	return stored, nil
}

// fastRead returns the form in which a pool keeps fast_read. Only erasure-coded pools have it.
func fastRead(pool *ceph.Pool, value string) (string, error) {
	switch {
	case pool.Type == "replicated":
		return "", fmt.Errorf("fast_read of pool %s: replication pools have none", pool.Name)
	case value == "true" || value == "1":
		return "1", nil
	case value == "false" || value == "0":
		return "", nil
	}
	return "", fmt.Errorf("expecting value 'true', 'false', '0', or '1'")
}
