package switchback

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
)

// recording is a constant load by the second on a real cluster, whose treatments act alike.
type recording struct {
	name       string
	rows       []Span
	operations []float64
	treatments []int           // in force during each row
	switched   []time.Duration // when the treatment of each row was acknowledged
}

// recordings reads the recordings in testdata, which ./hack/recording extracts from exports.
func recordings(t *testing.T) (all []recording) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.csv")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d recordings, %v", len(paths), err)
	}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		in := csv.NewReader(file)
		in.Comment = '#'
		lines, err := in.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		r := recording{name: strings.TrimSuffix(filepath.Base(path), ".csv")}
		for _, line := range lines[1:] {
			var values [5]float64
			for i := range values {
				if values[i], err = strconv.ParseFloat(line[i], 64); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
			}
			moment := func(column int) time.Duration { return time.Duration(values[column]) * time.Millisecond }
			r.rows = append(r.rows, Span{From: moment(0), To: moment(1)})
			r.operations = append(r.operations, values[2])
			r.treatments = append(r.treatments, int(values[3]))
			r.switched = append(r.switched, moment(4))
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// logs returns ln(rate) of each row without its mean, and how many rows stalled: less than a tenth of the
// median. Those count as a tenth, since ln(0) does not exist.
func (r recording) logs() (logs []float64, stalled int) {
	rates := make([]float64, len(r.rows))
	for i, row := range r.rows {
		rates[i] = r.operations[i] / (row.To - row.From).Seconds()
	}
	least := slices.Sorted(slices.Values(rates))[len(rates)/2] / 10
	for _, rate := range rates {
		if rate < least {
			stalled++
		}
		logs = append(logs, math.Log(max(rate, least)))
	}
	mean := stat.Mean(logs, nil)
	for i := range logs {
		logs[i] -= mean
	}
	return logs, stalled
}

// covariance returns the autocovariance of values without their mean.
func covariance(logs []float64, lag int) (sum float64) {
	for i := range len(logs) - lag {
		sum += logs[i] * logs[i+lag]
	}
	return sum / float64(len(logs))
}

// calibrated returns the world whose noise by the second has the variance and the autocovariances of a
// recording. After 10 s, noise by the second is forgotten, so later lags show slow noise. They are
// averaged, so that short cycles cancel.
func (r recording) calibrated() world {
	logs, stalled := r.logs()
	const first, last = 10, 40
	slow := 0.0
	for lag := first; lag < last; lag++ {
		slow += covariance(logs, lag) * math.Exp(float64(lag)/60) / (last - first)
	}
	slow = max(0, slow)
	fast := covariance(logs, 0) - slow
	phi := (covariance(logs, 1) - slow*math.Exp(-1.0/60)) / fast
	return world{
		name: r.name, cv: math.Sqrt(fast), phi: min(0.9, max(0, phi)), slow: math.Sqrt(slow),
		stalls: float64(stalled) / float64(len(logs)) / 2,
	}
}

// spectrum returns the expected periodogram of a world without stalls, at a number of cycles per second.
func (w world) spectrum(frequency float64) float64 {
	density := func(variance, phi float64) float64 {
		return variance * (1 - phi*phi) / (1 - 2*phi*math.Cos(2*math.Pi*frequency) + phi*phi)
	}
	return density(w.cv*w.cv, w.phi) + density(w.slow*w.slow, math.Exp(-1.0/60))
}

// periodogram returns the power at 1, 2, … cycles in the whole time. Its mean is the variance.
func periodogram(logs []float64) (power []float64) {
	n := float64(len(logs))
	for k := 1; k <= len(logs)/2; k++ {
		var re, im float64
		for i, x := range logs {
			sin, cos := math.Sincos(2 * math.Pi * float64(k*i%len(logs)) / n)
			re, im = re+x*cos, im+x*sin
		}
		power = append(power, (re*re+im*im)/n)
	}
	return power
}

// withinWindows returns the standard deviation of ln(rate) around the means of 7 rows, which a window counts.
func withinWindows(logs []float64) float64 {
	const counted = 7
	sum, n := 0.0, 0
	for part := range slices.Chunk(logs, counted) {
		if len(part) == counted {
			sum, n = sum+stat.Variance(part, nil), n+1
		}
	}
	return math.Sqrt(sum / float64(n))
}

// recordedWindow is the length of the windows when the recordings were made.
const recordedWindow = 10 * time.Second

// cut returns windows that begin at some times. They last 10 s, of which 3 s are wash-out, and have no
// treatments yet.
func (r recording) cut(t *testing.T, begins []time.Duration) Session {
	t.Helper()
	timing := Timing{WashOut: 3 * time.Second, Coverage: 0.7}
	var switches []Switch
	for _, begin := range begins {
		switches = append(switches, Switch{Sent: begin, Acknowledged: begin, Ended: begin + recordedWindow, Proven: true})
	}
	windows, covered, err := Cut(switches, []Client{{Rows: r.rows}}, timing, func(p Piece) (sum float64, err error) {
		for _, part := range p.Parts {
			for _, done := range r.operations[part.First:part.End] {
				sum += done / part.Lasted.Seconds()
			}
		}
		return sum, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return Session{Windows: windows, Faults: Faults(switches, covered, nil, timing)}
}

// cuts returns the windows of the session, if its treatments were switched, and otherwise windows that begin 0
// to 9 s after the first row.
func (r recording) cuts(t *testing.T) (all []Session) {
	t.Helper()
	begins := slices.Compact(slices.Clone(r.switched))
	if len(begins) > 1 {
		return []Session{r.cut(t, begins)}
	}
	for second := range 10 {
		begins = nil
		begin := r.rows[0].From + time.Duration(second)*time.Second
		for ; begin+recordedWindow <= r.rows[len(r.rows)-1].To; begin += recordedWindow {
			begins = append(begins, begin)
		}
		all = append(all, r.cut(t, begins))
	}
	return all
}

// part assigns a random order to windows of a recording, from one window on.
func part(t *testing.T, session Session, from, blocks int, seed uint64) Session {
	t.Helper()
	order, err := Assign(seed, 1, 1, blocks)
	if err != nil {
		t.Fatal(err)
	}
	s := Session{Number: 1, Seed: seed, Candidates: 1, Order: order}
	s.Windows, s.Faults = slices.Clone(session.Windows[from:from+4*blocks]), session.Faults[from:from+4*blocks]
	for i, treatment := range slices.Concat(order...) {
		s.Windows[i].Treatment = treatment
	}
	return s
}

// blockSD returns the standard deviation of the effect in blocks of consecutive windows, over all orders.
// Without a true effect, its mean is 0.
func blockSD(sessions ...Session) float64 {
	sum, n := 0.0, 0.0
	for _, s := range sessions {
		for index := 0; index+4 <= len(s.Windows); index++ {
			var logs []float64
			for i, w := range s.Windows[index : index+4] {
				if !s.Faults[index+i] && w.Figure > 0 {
					logs = append(logs, math.Log(w.Figure))
				}
			}
			if len(logs) < 4 {
				continue
			}
			for _, order := range pairOrders() {
				x := contrast(order, logs, 1)
				sum, n = sum+x*x, n+1
			}
		}
	}
	return math.Sqrt(sum / n)
}
