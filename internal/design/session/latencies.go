package session

import (
	"errors"

	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/result"
)

// Latencies has the histograms of one window without its wash-out, over all clients: of its first half, and of
// its second half. Rows that cross the middle of the window, or that may cross it because of the clocks' errors,
// belong to neither half, and those of a window without halves to both: Middle has their histograms.
type Latencies struct {
	Early  Histograms `json:"early"`
	Middle Histograms `json:"middle"`
	Late   Histograms `json:"late"`
	// Lateness is that of [result.Second], over the whole window; nil for a closed loop.
	Lateness *result.Histogram `json:"lateness,omitempty"`
}

// Histograms has one histogram of all operations or, for a mixed load, separate histograms of reads and
// writes. It is Incomplete if a client reported operations without a histogram.
type Histograms struct {
	All        *result.Histogram `json:"all,omitempty"`
	Read       *result.Histogram `json:"read,omitempty"`
	Write      *result.Histogram `json:"write,omitempty"`
	Incomplete bool              `json:"incomplete,omitempty"`
}

var errNoHistogram = errors.New("a client gave no histogram of latencies")

// add adds the histograms of a window's rows. The parameter pieces has the whole window and its halves.
func (l *Latencies) add(e Evidence, pieces [3]switchback.Piece) error {
	for client, c := range e.Clients {
		whole, early, late := pieces[switchback.Whole].Parts[client], pieces[switchback.Early].Parts[client], pieces[switchback.Late].Parts[client]
		for i := whole.First; i < whole.End; i++ {
			histograms := &l.Middle
			switch {
			case early.Contains(i) && !late.Contains(i):
				histograms = &l.Early
			case late.Contains(i) && !early.Contains(i):
				histograms = &l.Late
			}
			if err := histograms.add(&c.Seconds[i]); err != nil {
				return err
			}
			if late := c.Seconds[i].Lateness; late != nil {
				if err := addTo(&l.Lateness, late); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// bytes returns the memory of the histograms in bytes.
func (l *Latencies) bytes() (n int64) {
	for _, part := range []*Histograms{&l.Early, &l.Middle, &l.Late} {
		for _, h := range []*result.Histogram{part.All, part.Read, part.Write} {
			n += bytesOfHistogram(h)
		}
	}
	return n + bytesOfHistogram(l.Lateness)
}

func (h *Histograms) add(second *result.Second) error {
	for name, d := range second.Parts() {
		switch {
		case d.Latencies != nil:
			if err := addTo(h.place(name), d.Latencies); err != nil {
				return err
			}
		case d.Timed() > 0:
			h.Incomplete = true
		}
	}
	return nil
}

func (h *Histograms) place(name result.DirectionName) **result.Histogram {
	switch name {
	case result.Read:
		return &h.Read
	case result.Write:
		return &h.Write
	default:
		return &h.All
	}
}

func addTo(sum **result.Histogram, h *result.Histogram) (err error) {
	if *sum == nil {
		*sum = h
		return nil
	}
	*sum, err = result.AddHistograms(*sum, h)
	return err
}

// histogram returns the histogram of a window, or of a half of it, in a direction; "" means all operations.
func (l Latencies) histogram(half switchback.Half, direction result.DirectionName) (*result.Histogram, error) {
	parts := map[switchback.Half][]Histograms{
		switchback.Whole: {l.Early, l.Middle, l.Late}, switchback.Early: {l.Early}, switchback.Late: {l.Late},
	}[half]
	sum := &result.Histogram{}
	for _, h := range parts {
		if h.Incomplete {
			return nil, errNoHistogram
		}
		histograms := []*result.Histogram{*h.place(direction)}
		if direction == "" {
			histograms = []*result.Histogram{h.All, h.Read, h.Write}
		}
		for _, one := range histograms {
			if one == nil {
				continue
			}
			var err error
			if sum, err = result.AddHistograms(sum, one); err != nil {
				return nil, err
			}
		}
	}
	return sum, nil
}
