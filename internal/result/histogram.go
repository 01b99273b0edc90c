package result

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Histogram counts latencies in fio's bins. A bin is 1 ns wide up to 128 ns. Above 128 ns, the width of a bin
// is at most 1/64 of its value. Counts are exact, so the histograms of several clients add up exactly.
type Histogram struct {
	// Bins are in rising order, without empty bins. In JSON, each bin is a pair [nanoseconds, count].
	Bins []Bin `json:"nanosecondBins"`
}

// Bin is one bin of a histogram.
type Bin struct {
	// Nanoseconds is the middle of the bin, which fio uses as its name.
	Nanoseconds int64
	Count       int64
}

// MarshalJSON writes a bin as [nanoseconds, count]. The form is short because a run has hundreds
// of bins.
func (b Bin) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%d,%d]", b.Nanoseconds, b.Count), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bin) UnmarshalJSON(data []byte) error {
	const longest = 1 << 10 // Two numbers and white space; a hostile document may have millions of numbers.
	if len(data) > longest {
		return fmt.Errorf("histogram: a bin is [nanoseconds, count], not %d bytes", len(data))
	}
	if n, count, ok := plainPair(data); ok {
		b.Nanoseconds, b.Count = n, count
		return nil
	}
	var pair []int64
	if err := json.Unmarshal(data, &pair); err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	if len(pair) != 2 {
		return fmt.Errorf("histogram: a bin is [nanoseconds, count], not %d numbers", len(pair))
	}
	b.Nanoseconds, b.Count = pair[0], pair[1]
	return nil
}

// plainPair quickly parses a pair in the form of MarshalJSON, because a session has millions of
// pairs.
func plainPair(data []byte) (nanoseconds, count int64, ok bool) {
	n := len(data)
	if n < 2 || data[0] != '[' || data[n-1] != ']' {
		return 0, 0, false
	}
	first, second, found := strings.Cut(string(data[1:n-1]), ",")
	nanoseconds, err := strconv.ParseInt(first, 10, 64)
	if err != nil || !found || first[0] == '+' {
		return 0, 0, false
	}
	count, err = strconv.ParseInt(second, 10, 64)
	return nanoseconds, count, err == nil && second[0] != '+'
}

// These constants describe fio's bins (stat.h: FIO_IO_U_PLAT_BITS and _GROUP_NR). The bins are in groups of
// 64. Each group except the first and the last reaches from one power of two to the next.
const (
	groupBits = 6
	groupBins = 1 << groupBits
	// NumBins is the number of bins; the last one has no upper end.
	NumBins = 29 * groupBins
)

// BinIndex returns the index of the bin for a latency (fio's plat_val_to_idx).
func BinIndex(nanoseconds int64) int {
	if nanoseconds < 2*groupBins {
		return int(max(nanoseconds, 0))
	}
	shift := bits.Len64(uint64(nanoseconds)) - 1 - groupBits
	index := (shift+1)<<groupBits + int(nanoseconds>>shift)&(groupBins-1)
	return min(index, NumBins-1)
}

// BinNanoseconds returns the middle of a bin, which stands for all latencies in it (fio's plat_idx_to_val).
func BinNanoseconds(index int) int64 {
	if index < 2*groupBins {
		return int64(index)
	}
	shift := index>>groupBits - 1
	base := int64(1) << (shift + groupBits)
	inGroup := int64(index % groupBins)
	return base + inGroup<<shift + int64(1)<<shift/2
}

// IsBin reports whether a value is the middle of a bin.
func IsBin(nanoseconds int64) bool {
	return nanoseconds >= 0 && BinNanoseconds(BinIndex(nanoseconds)) == nanoseconds
}

// Count returns the number of latencies in the histogram.
func (h *Histogram) Count() int64 {
	var n int64
	for _, b := range h.Bins {
		n += b.Count
	}
	return n
}

// Percentile returns a percentile, such as the 99th for 99. It is the value of the lowest bin that, together
// with the bins below it, holds at least the given percentage of the operations. That is the nearest rank, as
// in fio. Percentile does not interpolate, so its error is at most half a bin, below 0.8 %, except in the last
// bin. It returns false for an empty histogram, and for a percentage outside of (0, 100].
func (h *Histogram) Percentile(percent float64) (Percentile, bool) {
	total := h.Count()
	if total == 0 || !(percent > 0 && percent <= 100) {
		return Percentile{}, false
	}
	rank := nearestRank(percent, total)
	var seen int64
	for _, b := range h.Bins {
		seen += b.Count
		if seen >= rank {
			return Percentile{
				Percent: percent,
				Seconds: float64(b.Nanoseconds) / 1e9,
				AtLeast: b.Nanoseconds == BinNanoseconds(NumBins-1),
			}, true
		}
	}
	return Percentile{}, false
}

// nearestRank returns the smallest rank that covers the given percentage of the operations, whose number is
// the argument total. It avoids a product of floats: 99.9/100·1000 is just above 999, so rounding it up would
// give a rank that is one too high.
func nearestRank(percent float64, total int64) int64 {
	const parts = 1e9 // parts of one per cent: a finer resolution than any percentile needs
	numerator, denominator := uint64(math.Round(percent*parts)), uint64(100*parts)
	high, low := bits.Mul64(numerator, uint64(total)) //nolint:gosec // A count is not negative.
	rank, rest := bits.Div64(high, low, denominator)  // percent is at most 100, so this fits.
	if rest > 0 {
		rank++
	}
	return int64(rank) //nolint:gosec // The rank is at most total.
}

// AddHistograms adds the counts of two histograms, bin by bin. It fails if the sum of all counts
// exceeds 63 bits.
func AddHistograms(a, b *Histogram) (*Histogram, error) {
	if a.Count() > math.MaxInt64-b.Count() {
		return nil, fmt.Errorf("histogram: the counts exceed %d", int64(math.MaxInt64))
	}
	return a.merge(b), nil
}

// merge adds the counts of two histograms without checking for an overflow.
func (h *Histogram) merge(o *Histogram) *Histogram {
	merged := make([]Bin, 0, len(h.Bins)+len(o.Bins))
	a, b := h.Bins, o.Bins
	for len(a) > 0 && len(b) > 0 {
		switch c := cmp.Compare(a[0].Nanoseconds, b[0].Nanoseconds); {
		case c < 0:
			merged, a = append(merged, a[0]), a[1:]
		case c > 0:
			merged, b = append(merged, b[0]), b[1:]
		default:
			merged = append(merged, Bin{a[0].Nanoseconds, a[0].Count + b[0].Count})
			a, b = a[1:], b[1:]
		}
	}
	merged = append(append(merged, a...), b...)
	return &Histogram{Bins: merged}
}

// sort puts the bins in rising order. It returns the same errors as [NewHistogram].
func (h *Histogram) sort() error {
	if !slices.IsSortedFunc(h.Bins, compareBins) {
		slices.SortFunc(h.Bins, compareBins)
	}
	return h.validate()
}

func compareBins(a, b Bin) int { return cmp.Compare(a.Nanoseconds, b.Nanoseconds) }

// NewHistogram makes a histogram from bins in any order. The histogram keeps the slice and sorts it.
// NewHistogram fails if a bin is not one of fio's, is a duplicate, or has a count below one. It also fails if
// the sum of all counts exceeds 63 bits.
func NewHistogram(bins []Bin) (*Histogram, error) {
	h := &Histogram{Bins: bins}
	if err := h.sort(); err != nil {
		return nil, err
	}
	return h, nil
}

func (h *Histogram) validate() error {
	var total int64
	for i, b := range h.Bins {
		switch {
		case !IsBin(b.Nanoseconds):
			return fmt.Errorf("histogram: %d ns is not a bin of fio's", b.Nanoseconds)
		case i > 0 && b.Nanoseconds <= h.Bins[i-1].Nanoseconds:
			return fmt.Errorf("histogram: bin %d ns is out of order or repeated", b.Nanoseconds)
		case b.Count <= 0:
			return fmt.Errorf("histogram: bin %d ns has count %d", b.Nanoseconds, b.Count)
		case b.Count > math.MaxInt64-total:
			return fmt.Errorf("histogram: the counts exceed %d", int64(math.MaxInt64))
		}
		total += b.Count
	}
	return nil
}
