package diagnosis

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/task"
)

// This file splits the time of an operation into layers. One client sends one operation at a time, in windows, to a pool
// with several copies and to one with a single copy. Three clocks take part: the client measures whole operations, OSDs
// measure them from their receipt to the reply, and BlueStore measures its transactions. Each counts its operations, so
// that windows with other work are found.
//
// With a single copy, an OSD waits for nothing but its own store. So what the OSD's clock has, and neither its queue, its
// processing nor BlueStore explains, should be nothing: it is the layer Unexplained. With several copies, more remains,
// and that is the wait for the other copies. The time outside of OSDs should not depend on the number of copies. These
// two are the checks. Without them, layers would only add up because each is what the others leave.

// Window is one load of the client, for some seconds.
type Window struct {
	Round  int  `json:"round"`
	Copies int  `json:"copies"` // of the pool
	Writes bool `json:"writes,omitempty"`
	// Operations and MeanSeconds are what the client reports.
	Operations  int64   `json:"operations,omitempty"`
	MeanSeconds float64 `json:"meanSeconds,omitempty"`
	// Usage is what the client reports of its CPU and its host; nil if unknown.
	Usage *task.Usage `json:"usage,omitempty"`
	// RoundTripSeconds is that of TCP between the client and the primary of a placement group, in the mean; 0 if unknown.
	RoundTripSeconds float64 `json:"roundTripSeconds,omitempty"`
	// Counted is what all OSDs of the pool counted meanwhile.
	Counted ceph.OSDCounters `json:"counted"`
	// Interval has what each OSD counted. It is not archived, because it grows with the cluster.
	Interval Interval `json:"-"`
	// Fault says why the window does not count; "" if it does.
	Fault string `json:"fault,omitempty"`
}

// The codes of layers.
const (
	LayerClient      = "Client"
	LayerQueue       = "Queue"
	LayerProcessing  = "Processing"
	LayerStore       = "Store"
	LayerOtherCopies = "OtherCopies"
	LayerUnexplained = "Unexplained"
	// LayerNetwork is a part of LayerClient that was measured for itself.
	LayerNetwork = "Network"
)

// Meaning says what a layer is.
func Meaning(code string) string {
	return map[string]string{
		LayerClient:      "outside of the OSD: the client, its libraries, and the network between both",
		LayerQueue:       "until the OSD takes the operation up",
		LayerProcessing:  "the OSD's own work, besides its store",
		LayerStore:       "BlueStore: until a copy is on its disk, or is read",
		LayerOtherCopies: "the wait for other copies, beyond that for a store",
		LayerUnexplained: "what no clock explains",
		LayerNetwork:     "contained in Client: one round trip of TCP to the primary and back",
	}[code]
}

const (
	// mostForeign is the share of other work, in what OSDs counted, up to which a window counts.
	mostForeign = 0.05
	// fewOperations are those with which a client opens and closes its image, and others of that size. They count up to
	// mostOfFew: where operations are slow, a few dozen are most of a window.
	fewOperations = 40
	mostOfFew     = 0.10
	// leastRounds is the number of rounds without which there is no interval to rely on.
	leastRounds = 4
	// mostUnexplained is the share of the whole within which the clocks have to agree.
	mostUnexplained = 0.10
	// confidence is that of the intervals of layers. A check holds if its whole interval is within the limit; with
	// agreement as its confidence, a difference as large as the limit passes in 5 % (two one-sided tests).
	confidence = 0.95
	agreement  = 0.90
)

// Counted returns what OSDs have counted between two readings, together. It returns an error if an OSD is missing in one
// of them, or has restarted.
func Counted(before, after []ceph.OSDCounters, osds []int) (ceph.OSDCounters, error) {
	sum := ceph.OSDCounters{ID: -1}
	for _, id := range osds {
		sameOSD := func(c ceph.OSDCounters) bool { return c.ID == id }
		first, last := slices.IndexFunc(before, sameOSD), slices.IndexFunc(after, sameOSD)
		if first < 0 || last < 0 {
			return sum, fmt.Errorf("osd.%d has not reported its counters", id)
		}
		from, to := averages(&before[first]), averages(&after[last])
		for i, total := range averages(&sum) {
			if to[i].Count < from[i].Count || to[i].Seconds < from[i].Seconds {
				return sum, fmt.Errorf("osd.%d has restarted", id)
			}
			total.Count += to[i].Count - from[i].Count
			total.Seconds += to[i].Seconds - from[i].Seconds
		}
	}
	return sum, nil
}

func averages(c *ceph.OSDCounters) []*ceph.Average {
	return []*ceph.Average{&c.Write, &c.WriteProcessing, &c.WritePreparing, &c.Read, &c.ReadProcessing, &c.Submit, &c.Commit, &c.StoreRead}
}

// fault returns why a window does not count; "" if it does.
func (w Window) fault() string {
	kind, counted, stored, parts := "reads", w.Counted.Read.Count, w.Counted.StoreRead.Count, int64(1)
	if w.Writes {
		kind, counted, stored, parts = "writes", w.Counted.Write.Count, w.Counted.Commit.Count, int64(w.Copies)
	}
	switch {
	case w.Fault != "":
		return w.Fault
	case w.Operations == 0 || !(w.MeanSeconds > 0):
		return "the client did nothing"
	case differ(counted, w.Operations):
		return fmt.Sprintf("OSDs counted %d %s, and the client did %d: %s", counted, kind, w.Operations, whyDiffer(counted, w.Operations))
	case differ(stored, parts*w.Operations):
		return fmt.Sprintf("stores counted %d operations, and the client's %s need %d: %s", stored, kind, parts*w.Operations, whyDiffer(stored, parts*w.Operations))
	}
	if missing := w.missing(); missing != "" {
		return missing
	}
	if w.stages().client < 0 { // A few foreign operations that wait for seconds, such as for a lock, suffice.
		return fmt.Sprintf("%s took longer in OSDs than for the client: others were at work", kind)
	}
	return ""
}

// differ reports whether a count differs from the expected one by more than other work may be.
func differ(counted, expected int64) bool {
	all := float64(expected)
	return math.Abs(float64(counted-expected)) > max(mostForeign*all, min(fewOperations, mostOfFew*all))
}

func whyDiffer(counted, expected int64) string {
	if counted < expected {
		return "their reports came too late (mgr_stats_period)"
	}
	return "others were at work"
}

// missing says which stage OSDs count less or more often than the operations that pass it; "" for none. Not each version of
// Ceph needs to have each counter, and a missing one would be a stage that takes no time.
func (w Window) missing() string {
	c := w.Counted
	if !w.Writes {
		if differ(c.ReadProcessing.Count, c.Read.Count) {
			return fmt.Sprintf("OSDs counted %d reads, but %d that were processed", c.Read.Count, c.ReadProcessing.Count)
		}
		return ""
	}
	switch {
	case differ(c.WriteProcessing.Count, c.Write.Count):
		return fmt.Sprintf("OSDs counted %d writes, but %d that were processed", c.Write.Count, c.WriteProcessing.Count)
	case differ(c.WritePreparing.Count, c.Write.Count):
		return fmt.Sprintf("OSDs counted %d writes, but %d that were prepared", c.Write.Count, c.WritePreparing.Count)
	case differ(c.Submit.Count, c.Commit.Count):
		return fmt.Sprintf("stores committed %d transactions, but counted %d that were submitted", c.Commit.Count, c.Submit.Count)
	}
	return ""
}

// stages are the parts of a window's mean operation, in seconds. The field rest is what remains of the OSD's time.
type stages struct{ whole, client, queue, processing, store, rest, network float64 }

func (w Window) stages() stages {
	mean := func(a ceph.Average) float64 { return a.Seconds / float64(max(a.Count, 1)) }
	c := w.Counted
	if !w.Writes {
		s := stages{whole: w.MeanSeconds, client: w.MeanSeconds - mean(c.Read), queue: mean(c.Read) - mean(c.ReadProcessing), store: mean(c.StoreRead)}
		s.processing, s.network = mean(c.ReadProcessing)-s.store, w.RoundTripSeconds
		return s
	}
	s := stages{whole: w.MeanSeconds, client: w.MeanSeconds - mean(c.Write), queue: mean(c.Write) - mean(c.WriteProcessing), store: mean(c.Commit)}
	s.processing = mean(c.WritePreparing) - mean(c.Submit) // Preparing ends with the call that submits the transaction, which is the store's.
	s.rest, s.network = mean(c.WriteProcessing)-s.processing-s.store, w.RoundTripSeconds
	return s
}

// pair is one round: a window of the pool with several copies, and for a write that with one copy.
type pair struct{ several, one stages }

// pairs returns the rounds of which all windows count, and the first reason why another does not.
func pairs(copies int, writes bool, windows []Window) (all []pair, fault string) {
	byRound := map[int]map[int]Window{}
	var rounds []int
	for _, w := range windows {
		if w.Writes != writes {
			continue
		}
		if byRound[w.Round] == nil {
			byRound[w.Round] = map[int]Window{}
			rounds = append(rounds, w.Round)
		}
		byRound[w.Round][w.Copies] = w
	}
	for _, round := range rounds {
		several, begun := byRound[round][copies]
		one, alone := byRound[round][1]
		wrong := "it was not measured"
		if begun {
			wrong = several.fault()
		}
		if writes && wrong == "" && alone {
			wrong = one.fault()
		}
		switch {
		case wrong != "" || writes && !alone:
			if fault == "" {
				fault = wrong
			}
		case writes:
			all = append(all, pair{several.stages(), one.stages()})
		default:
			all = append(all, pair{several: several.stages()})
		}
	}
	return all, fault
}

// Layers returns where writes and reads spent their time in windows on a pool with this number of copies, and on one
// with a single copy.
func Layers(copies int, windows []Window) []v1alpha1.OperationTime {
	var all []v1alpha1.OperationTime
	for _, o := range []v1alpha1.LayeredOperation{v1alpha1.LayeredWrite, v1alpha1.LayeredRead} {
		rounds, fault := pairs(copies, o == v1alpha1.LayeredWrite, windows)
		t := v1alpha1.OperationTime{Operation: o, Rounds: int32(len(rounds))} //nolint:gosec // At most 20.
		if len(rounds) < leastRounds {
			t.Reason = ellipsis.Cut(fmt.Sprintf("%d rounds count, and it takes %d. First fault: %s", len(rounds), leastRounds, fault), mostBytesUnchecked)
		} else {
			t = split(t, rounds)
		}
		all = append(all, t)
	}
	return all
}

// part is a layer, as it follows from a round.
type part struct {
	code string
	of   func(pair) float64
}

// parts returns the layers of an operation, from the client to the disk.
func parts(writes bool) []part {
	all := []part{
		{LayerClient, func(p pair) float64 { return p.several.client }},
		{LayerQueue, func(p pair) float64 { return p.several.queue }},
		{LayerProcessing, func(p pair) float64 { return p.several.processing }},
		{LayerStore, func(p pair) float64 { return p.several.store }},
	}
	if writes {
		all = append(all,
			part{LayerOtherCopies, func(p pair) float64 { return p.several.rest - p.one.rest }},
			part{LayerUnexplained, func(p pair) float64 { return p.one.rest }})
	}
	return all
}

// shareOfWhole returns a share of the whole operations of rounds, and its interval.
func shareOfWhole(rounds []pair, of func(pair) float64, confidence float64) (float64, stats.Bounds, error) {
	var some, whole []float64
	for _, p := range rounds {
		some, whole = append(some, of(p)), append(whole, p.several.whole)
	}
	return stats.Share(some, whole, confidence)
}

// split adds the layers of these rounds, and whether the clocks agree.
func split(t v1alpha1.OperationTime, rounds []pair) v1alpha1.OperationTime {
	whole := mean(rounds, func(p pair) float64 { return p.several.whole })
	writes := t.Operation == v1alpha1.LayeredWrite
	for _, layer := range parts(writes) {
		l, err := layer.in(rounds, whole)
		if err != nil {
			t.Layers, t.Reason = nil, ellipsis.Cut(err.Error(), mostBytesUnchecked)
			return t
		}
		t.Layers = append(t.Layers, l)
	}
	if timedNetwork(rounds) {
		if l, err := networkPart().in(rounds, whole); err == nil {
			t.Network = &l
		}
	}
	t.Seconds = figure.Decimal(whole)
	t.Reason = "Three clocks measured the layers of reads, but nothing independent confirms their sum."
	if writes {
		t.OneCopySeconds = figure.Decimal(mean(rounds, func(p pair) float64 { return p.one.whole }))
		t.Reason = ellipsis.Cut(contradiction(rounds), mostBytesUnchecked)
		t.Explained = t.Reason == ""
	}
	return t
}

// timedNetwork reports whether the round trip was timed in all rounds.
func timedNetwork(rounds []pair) bool {
	return !slices.ContainsFunc(rounds, func(p pair) bool { return !(p.several.network > 0) })
}

func networkPart() part { return part{LayerNetwork, func(p pair) float64 { return p.several.network }} }

// in returns the layer in rounds with this mean time of an operation.
func (l part) in(rounds []pair, whole float64) (v1alpha1.OperationLayer, error) {
	value, bounds, err := shareOfWhole(rounds, l.of, confidence)
	return v1alpha1.OperationLayer{
		Code: l.code, Seconds: figure.Decimal(value * whole), Share: shareOf(value), Low: shareOf(bounds.Low), High: shareOf(bounds.High),
	}, err
}

// contradiction says which of the two checks fails; "" if both hold.
func contradiction(rounds []pair) string {
	_, unexplained, err := shareOfWhole(rounds, func(p pair) float64 { return p.one.rest }, agreement)
	_, outside, other := shareOfWhole(rounds, func(p pair) float64 { return p.several.client - p.one.client }, agreement)
	switch err = errors.Join(err, other); {
	case err != nil:
		return err.Error()
	case !within(unexplained):
		return fmt.Sprintf("With one copy, the clocks of OSDs and of their stores differ by %s of the time of a write: more than 10 %% may be unexplained.", ofBounds(unexplained))
	case !within(outside):
		return fmt.Sprintf("The time outside of OSDs differs between the pools by %s of the time of a write, and should not depend on copies.", ofBounds(outside))
	}
	return ""
}

func within(b stats.Bounds) bool { return b.Low >= -mostUnexplained && b.High <= mostUnexplained }

func ofBounds(b stats.Bounds) string { return fmt.Sprintf("%.0f to %.0f %%", 100*b.Low, 100*b.High) }

func mean(rounds []pair, of func(pair) float64) float64 {
	sum := 0.0
	for _, p := range rounds {
		sum += of(p)
	}
	return sum / float64(len(rounds))
}

// cause says in a message what takes a share of a write, and which sweep or observation leads on.
type cause struct{ message, remedy string }

// causeOf returns what a layer means.
func causeOf(code string, f Facts) cause {
	switch code {
	case LayerClient:
		return cause{"The client, and the network between it and the OSD, take", "Look at the round trip between nodes, and at CPUs: C-states, frequency, and limits of pods."}
	case LayerQueue:
		return cause{"The queue of the OSD takes", f.sweep("osd_mclock_profile=balanced,high_client_ops", "what another profile of mClock brings")}
	case LayerProcessing:
		return cause{"The OSD's own work before its store takes", "Look at the CPUs of the OSDs: limits of pods, frequency, C-states, and the debug level of logs."}
	case LayerStore:
		return cause{"The store takes", "Its disks decide: do they write safely without waiting, thanks to power-loss protection? With hard disks, BlueStore's database belongs on a fast disk."}
	default:
		return cause{"The wait for other copies takes", "It ends with the slowest copy: look at the network between nodes, and for an OSD that is slower than others (SlowOSDs)."}
	}
}

// writeTime names the layer in which writes spend most of their time. That is not a fault by itself, so the finding is only
// possible. There is none if the layers are not confirmed.
func writeTime(f Facts) *v1alpha1.Finding {
	t := f.confirmed()
	if t == nil {
		return nil
	}
	most := slices.MaxFunc(t.Layers[:len(t.Layers)-1], func(a, b v1alpha1.OperationLayer) int {
		return cmp.Compare(number(a.Share), number(b.Share))
	})
	evidence := []string{fmt.Sprintf("a write takes %s, and %s with one copy", milliseconds(number(t.Seconds)), milliseconds(number(t.OneCopySeconds)))}
	var shares []string
	for _, l := range t.Layers {
		shares = append(shares, fmt.Sprintf("%s %.0f %%", l.Code, 100*number(l.Share)))
	}
	evidence = append(evidence, strings.Join(shares, ", "), fmt.Sprintf("%d rounds, one operation at a time, checked against the clocks of OSDs and stores", t.Rounds))
	c := causeOf(most.Code, f)
	return found(possible, c.remedy, evidence, "%s %.0f %% (%.0f to %.0f %%) of a write.", c.message, 100*number(most.Share), 100*number(most.Low), 100*number(most.High))
}

// confirmed returns the layers of writes; nil if there are none, or if they are not confirmed.
func (f Facts) confirmed() *v1alpha1.OperationTime {
	i := slices.IndexFunc(f.Layers, func(t v1alpha1.OperationTime) bool { return t.Operation == v1alpha1.LayeredWrite && t.Explained })
	if i < 0 {
		return nil
	}
	return &f.Layers[i]
}

// number returns a decimal of a result, which Layers wrote.
func number(d v1alpha1.Decimal) float64 {
	v, _ := figure.ParseDecimal(d)
	return v
}

// shareOf returns a share for status. It has no more digits than the noise allows.
func shareOf(v float64) v1alpha1.Decimal { return figure.Decimal(math.Round(1e4*v)/1e4 + 0) }
