package switchback

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/cephtune/cephtune/internal/stats"
)

// The simulation assumes noise. This computes the same figures from recordings, and compares the noise of
// blocks, on which the time of a verdict depends.
func TestRecordingsLieWithinTheSimulation(t *testing.T) {
	var simulated []float64
	clusters := slices.Concat(worlds(), recorded())
	for i, w := range clusters {
		simulated = append(simulated, w.blockSD(t, uint64(600+i)))
		t.Logf("%-12s simulates %2.0f%% per second, φ %.2f, slow %4.1f%%, stalls %.1f%%: blocks differ by %.1f%%",
			w.name, 100*w.cv, w.phi, 100*w.slow, 200*w.stalls, 100*simulated[i])
	}
	for i, r := range recordings(t) {
		logs, stalled := r.logs()
		w := r.calibrated()
		block, predicted := blockSD(r.cuts(t)...), w.blockSD(t, uint64(700+i))
		t.Logf("%s: %d rows, %.1f%% within windows, %d stalled", r.name, len(logs), 100*withinWindows(logs), stalled)
		t.Logf("  autocorrelation%s", autocorrelations(logs))
		t.Logf("  like %.1f%% per second, φ %.2f, slow %.1f%%, stalls %.2f%%: blocks differ by %.1f%%, predicted %.1f%%",
			100*w.cv, w.phi, 100*w.slow, 200*w.stalls, 100*block, 100*predicted)
		t.Logf("  %s", r.cycles())
		var quieter []string
		for i, w := range clusters {
			if simulated[i] <= block {
				quieter = append(quieter, w.name)
			}
		}
		t.Logf("  clusters with quieter blocks: %v", quieter)
		if block < slices.Min(simulated) || block > slices.Max(simulated) {
			t.Errorf("%s: blocks differ by %.3f, outside of the simulated %.3f", r.name, block, simulated)
		}
		if ratio := predicted / block; ratio < 0.8 || ratio > 1.25 {
			t.Errorf("%s: blocks differ by %.3f, and by %.3f in a simulation with its noise", r.name, block, predicted)
		}
	}
}

func (w world) blockSD(t *testing.T, seed uint64) float64 {
	t.Helper()
	w.rng = rand.New(rand.NewPCG(2026, seed))
	return blockSD(w.session(t, 1, 2000, 0, recordedWindow))
}

func autocorrelations(logs []float64) (text string) {
	for _, lag := range []int{1, 5, 10, 30, 60, 120} {
		text += fmt.Sprintf(", %.2f after %d s", covariance(logs, lag)/covariance(logs, 0), lag)
	}
	return text[1:]
}

// cycles describes the power at periods of 30 to 120 s beside that of the calibrated world, and the periods
// at which a recording has more than that world has by chance in 1% of recordings.
func (r recording) cycles() string {
	logs, _ := r.logs()
	w, power := r.calibrated(), periodogram(logs)
	var have, want, all float64
	text := ""
	for i, p := range power {
		all += p
		period := float64(len(logs)) / float64(i+1)
		expected := w.spectrum(1 / period)
		if period >= 30 && period <= 120 {
			have, want = have+p, want+expected
		}
		if p > expected*math.Log(float64(len(power))/0.01) {
			text += fmt.Sprintf(" %.2f s (%.1f times)", period, p/expected)
		}
	}
	return fmt.Sprintf("periods of 30 to 120 s have %.1f%% of the variance, %.2f of the expected; cycles:%s", 100*have/all, have/want, text)
}

// Random orders are assigned to recorded seconds, in which no treatment acts. So each difference that the test
// finds is false.
func TestNoEffectInRecordings(t *testing.T) {
	n := 2000
	if long() {
		n *= 10
	}
	limit := func(alpha float64) float64 { return alpha + 3*math.Sqrt(alpha*(1-alpha)/float64(n)) }
	for i, r := range recordings(t) {
		rng := rand.New(rand.NewPCG(2026, uint64(800+i)))
		cuts := r.cuts(t)
		blocks := len(cuts[len(cuts)-1].Windows) / 4
		last := 0
		for _, look := range quickLooks() {
			if look/2 <= blocks {
				last = look
			}
		}
		for _, c := range []struct {
			name  string
			draws func() stats.Contrast
		}{
			{"8 pairs", func() stats.Contrast { return plainEntry(t, sessionAt(t, rng, cuts, DefaultPairs/2)).contrast() }},
			{fmt.Sprintf("%d pairs", last), func() stats.Contrast { return plainEntry(t, sessionAt(t, rng, cuts, last/2)).contrast() }},
		} {
			rate := 0.0
			for range n {
				if differs(c.draws()) {
					rate += 1 / float64(n)
				}
			}
			t.Logf("%-14s %-22s p < 5%% in %.1f%% ± %.1f", r.name, c.name, 100*rate, 100*math.Sqrt(rate*(1-rate)/float64(n)))
			if rate > limit(0.05) {
				t.Errorf("%s, %s: p < 5%% in %v", r.name, c.name, rate)
			}
		}
		gains, losses := falseVerdicts(t, rng, cuts, last, n)
		t.Logf("%-14s looks up to %d pairs: a false gain in %.1f%%, a false loss in %.1f%%", r.name, last, 100*gains, 100*losses)
		if gains > limit(0.05) || losses > limit(0.025) {
			t.Errorf("%s: gains in %v, losses in %v", r.name, gains, losses)
		}
	}
}

// differs reports whether Student's t finds a difference at 5%, two-sided.
func differs(k stats.Contrast) bool {
	p := k.PGreater(0)
	return min(p, 1-p) < 0.025
}

// sessionAt returns a session at a random time and with a random order.
func sessionAt(t *testing.T, rng *rand.Rand, cuts []Session, blocks int) Session {
	t.Helper()
	cut := cuts[rng.IntN(len(cuts))]
	return part(t, cut, rng.IntN(len(cut.Windows)-4*blocks+1), blocks, rng.Uint64())
}

// plainEntry returns the entry of a session of one candidate without permutation tests, whose p-values are then 0.
func plainEntry(t *testing.T, s Session) Entry {
	t.Helper()
	blocks, err := s.blocks()
	if err != nil {
		t.Fatal(err)
	}
	e := Entry{Candidate: 1, Blocks: len(blocks), Invalid: len(blocks) < 2}
	if !e.Invalid {
		k, err := effectOf(blocks, 1)
		if err != nil {
			t.Fatal(err)
		}
		e.Mean, e.StdDev = k.mean, k.sd
	}
	return e
}

// falseVerdicts returns how often the looks of a session in quick mode end with a gain, and with a loss.
func falseVerdicts(t *testing.T, rng *rand.Rand, cuts []Session, last, n int) (gains, losses float64) {
	t.Helper()
	q := question(true, small)
	q.LastLook = last
	for range n {
		all := sessionAt(t, rng, cuts, last/2)
		for _, look := range QuickLooks(last) {
			f := judge(t, q, []Entry{plainEntry(t, all.firstPairs(look))}, nil)
			switch f.Assessment.Verdict {
			case stats.Superior, stats.Better:
				gains += 1 / float64(n)
			case stats.Inferior:
				losses += 1 / float64(n)
			default:
				continue
			}
			break
		}
	}
	return gains, losses
}

// mostDip is how much slower the first second that counts may be than the later ones. The manager asks
// for proof 2 and 4 s after a switch, which costs the lab up to a tenth of that second.
const mostDip = 0.12

// A switch slows the load while the command runs. The wash-out has to cover that: the first second that
// counts must not be much slower than the later ones, and equally with both treatments, which act alike.
func TestWashOutCoversSwitches(t *testing.T) {
	for _, r := range recordings(t) {
		if r.switched[0] == r.switched[len(r.switched)-1] {
			continue // Nothing was switched.
		}
		logs, _ := r.logs()
		var bySecond [10][]float64
		var firstBy [2][]float64 // by treatment
		for i, row := range r.rows {
			index := int((row.From - r.switched[i]) / time.Second)
			if index < len(bySecond) {
				bySecond[index] = append(bySecond[index], logs[i])
			}
			if index == 3 {
				firstBy[r.treatments[i]] = append(firstBy[r.treatments[i]], logs[i])
			}
		}
		text := ""
		for index, changes := range bySecond {
			text += fmt.Sprintf(" %d s %+.0f%%", index, 100*stat.Mean(changes, nil))
		}
		t.Logf("%s, after a switch:%s", r.name, text)
		first, later := bySecond[3], slices.Concat(bySecond[4:9]...) // In the last second, the next switch may begin.
		if k, se := difference(first, later); k < -3*se && k < -mostDip {
			t.Errorf("%s: the first second that counts differs by %.3f ± %.3f", r.name, k, se)
		}
		if k, se := difference(firstBy[0], firstBy[1]); math.Abs(k) > 3*se {
			t.Errorf("%s: the first second that counts differs between the treatments by %.3f ± %.3f", r.name, k, se)
		}
	}
}

// difference returns the difference of two means, and its standard error.
func difference(a, b []float64) (k, se float64) {
	return stat.Mean(a, nil) - stat.Mean(b, nil), math.Sqrt(stat.Variance(a, nil)/float64(len(a)) + stat.Variance(b, nil)/float64(len(b)))
}
