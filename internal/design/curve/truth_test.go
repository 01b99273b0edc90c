package curve

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// truths has the 99th percentile of the latency of each simulated queue, in mean service times, at each of some loads. A load is
// the rate divided by the servers' capacity. The percentiles come from long simulations (TestTruth).
type truths struct {
	Loads       []float64            `json:"loads"`
	Percentiles map[string][]float64 `json:"percentiles"`
}

func serverCounts() []int { return []int{1, 2, 4, 8, 16, 32} }

func queueName(l law, k int) string { return fmt.Sprintf("%s, k %d", l.name, k) }

func truthFile() string { return filepath.Join("testdata", "truth.json") }

func readTruths(t *testing.T) truths {
	t.Helper()
	data, err := os.ReadFile(truthFile())
	if err != nil {
		t.Fatal(err)
	}
	var all truths
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// knee returns the load at which the 99th percentile reaches a multiple of that at the lowest load. Between loads it interpolates
// ln(percentile) over ln(1−load), which is almost straight where the queue dominates.
func (a truths) knee(name string, multiple float64) float64 {
	p := a.Percentiles[name]
	want := math.Log(multiple * p[0])
	i, _ := slices.BinarySearchFunc(p, want, func(x, w float64) int {
		if math.Log(x) < w {
			return -1
		}
		return 1
	})
	if i == len(p) {
		return 1
	}
	x := func(j int) float64 { return math.Log1p(-a.Loads[j]) }
	share := (want - math.Log(p[i-1])) / (math.Log(p[i]) - math.Log(p[i-1]))
	return -math.Expm1(x(i-1) + share*(x(i)-x(i-1)))
}

// longPercentile simulates a queue without noise between steps.
func longPercentile(l law, k int, load float64, operations int) float64 {
	rng := rand.New(rand.NewPCG(2026, uint64(k)))
	s, due, perBucket := make(servers, k), 0.0, 500.0
	counts, all := make([]int, 12000), 0
	for i := range operations {
		due += rng.ExpFloat64() / load / float64(k)
		latency := s.take(due, l.draw(rng)) - due
		if i >= operations/20 {
			counts[min(len(counts)-1, max(0, int((math.Log(latency)+7)*perBucket)))]++
			all++
		}
	}
	over := 0
	for b := len(counts) - 1; ; b-- {
		if over+counts[b] > all/100 {
			part := float64(all/100-over) / float64(counts[b])
			return math.Exp((float64(b)+1-part)/perBucket - 7)
		}
		over += counts[b]
	}
}

// With UPDATE_GOLDEN, TestTruth simulates all queues anew, which takes half an hour.
// Otherwise, it compares with what is known in closed form: an
// operation of the queue M/M/1 is slower than t with probability exp(−(1−load)·t).
func TestTruth(t *testing.T) {
	if os.Getenv("UPDATE_GOLDEN") != "" {
		writeTruths(t)
	}
	all := readTruths(t)
	for i, load := range all.Loads {
		got, want := all.Percentiles["exponential, k 1"][i], math.Log(100)/(1-load)
		if math.Abs(got/want-1) > 0.03+0.002/(1-load) {
			t.Errorf("load %v: percentile %v, want %v", load, got, want)
		}
	}
}

func writeTruths(t *testing.T) {
	t.Helper()
	all := truths{Percentiles: map[string][]float64{}}
	for load := 0.01; load < 0.895; load += 0.05 {
		all.Loads = append(all.Loads, math.Round(load*100)/100)
	}
	all.Loads = append(all.Loads, 0.9, 0.92, 0.94, 0.955, 0.97, 0.98, 0.99, 0.995)
	for _, l := range laws() {
		for _, k := range serverCounts() {
			p := make([]float64, len(all.Loads))
			for i, load := range all.Loads {
				p[i] = math.Round(1e4*longPercentile(l, k, load, int(min(40e6, 3e6*max(1, 0.08/(1-load)))))) / 1e4
				if i > 0 {
					p[i] = max(p[i], p[i-1]+1e-4) // Noise must not make it fall.
				}
			}
			all.Percentiles[queueName(l, k)] = p
			t.Log(queueName(l, k), p)
		}
	}
	data, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(truthFile(), append(data, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}
