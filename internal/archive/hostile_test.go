package archive

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/testing/memory"
)

// repeated returns a compressed document that repeats one piece many times.
func repeated(t testing.TB, before, piece, after string, times int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	chunk := strings.Repeat(piece, 1000)
	_, _ = w.Write([]byte(before))
	for range times / 1000 {
		_, _ = w.Write([]byte(chunk))
	}
	_, _ = w.Write([]byte(after))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Everyone who may create ConfigMaps in a benchmark namespace can make the operator read them.
func TestHostileDocumentsCostLittle(t *testing.T) {
	const head, many = `{"schemaVersion":1,"number":1,`, 5_000_000
	hostile := map[string]func() []byte{
		"phases":      func() []byte { return repeated(t, head+`"phases":[{}`, `,{}`, `]}`, many) },
		"nulls":       func() []byte { return repeated(t, head+`"phases":[null`, `,null`, `]}`, many) },
		"clients":     func() []byte { return repeated(t, head+`"phases":[{"clients":[{}`, `,{}`, `]}]}`, many) },
		"results":     func() []byte { return repeated(t, head+`"phases":[{"clients":[{}`, `,{"result":{}}`, `]}]}`, many) },
		"numbers":     func() []byte { return repeated(t, head+course(`0`), `,0`, `]}}}}]}`, many) },
		"bins":        func() []byte { return repeated(t, head+bins(`[1,1]`), `,[1,1]`, `]}}}}}]}`, many) },
		"a wide bin":  func() []byte { return repeated(t, head+bins(`[1`), `,1`, `]]}}}}}]}`, many) },
		"depth":       func() []byte { return repeated(t, head+`"environment":`, `[`, ``, many) },
		"a string":    func() []byte { return repeated(t, head+`"reason":"`, `x`, `"}`, many) },
		"a name":      func() []byte { return repeated(t, head+`"`, `x`, `":0}`, many) },
		"members":     func() []byte { return repeated(t, head+`"x":{"":0`, `,"":0`, `}}`, many) },
		"the same":    func() []byte { return repeated(t, head+`"number":1`, `,"phases":[{},{}]`, `}`, many/10) },
		"settings":    func() []byte { return repeated(t, head+settings(), `,"":""`, `}}}}]}`, many) },
		"raw":         func() []byte { return repeated(t, head+`"environment":[0`, `,0`, `]}`, many) },
		"placement":   func() []byte { return repeated(t, head+`"placement":[{}`, `,{}`, `]}`, many) },
		"a bomb":      func() []byte { return repeated(t, head, ` `, `}`, 100*many) },
		"two bombs":   func() []byte { return append(repeated(t, head, ` `, ``, many), repeated(t, ``, ` `, `}`, many)...) },
		"unsupported": func() []byte { return repeated(t, `{"schemaVersion":2,"x":[0`, `,0`, `]}`, many) },
	}
	for name, document := range hostile {
		t.Run(name, func(t *testing.T) {
			memory.Within(t, func(t *testing.T) {
				data := document()
				var both sync.WaitGroup // Benchmarks and sweeps are reconciled at the same time.
				for range 2 {
					both.Go(func() {
						if run, err := Unmarshal(data); err == nil && name != "raw" { // It is kept as text.
							t.Errorf("it is read: %d phases", len(run.Phases))
						}
					})
				}
				both.Wait()
			})
		})
	}
}

func course(first string) string {
	return `"phases":[{"observation":{"result":{"read":{"series":{"startSeconds":[` + first
}

func bins(first string) string {
	return `"phases":[{"observation":{"result":{"read":{"latency":{"histogram":{"nanosecondBins":[` + first
}

func settings() string {
	return `"phases":[{"observation":{"result":{"source":{"settings":{"":""`
}

// The largest runs that the API allows can be written and read. Most of the text without room must
// not even be created.
func TestTheLargestRunsAreKept(t *testing.T) {
	for name, tc := range map[string]struct {
		size   sized
		phases int
		want   []Part // at most these are dropped
	}{
		"clients with outputs":    {sized{clients: 64, seconds: 60, bins: 300, osds: 100, output: task.MaxOutputBytes}, 1, Parts()[:3]},
		"16 phases":               {sized{clients: 64, seconds: 60, bins: 100, osds: 100}, 16, Parts()[:6]},
		"a day":                   {sized{clients: 4, seconds: 24 * 3600, bins: 1856, osds: 100}, 1, Parts()[:5]},
		"OSDs":                    {sized{clients: 1, seconds: 60, bins: 100, osds: 5000}, 1, nil},
		"a phase of five minutes": {sized{clients: 4, seconds: 300, bins: 300, osds: 100}, 4, nil},
	} {
		t.Run(name, func(t *testing.T) {
			run := example(t, v1alpha1.RunFailed, tc.size)
			for len(run.Phases) < tc.phases {
				run.Phases = append(run.Phases, run.Phases[0])
			}
			back := roundTrip(t, run)
			if len(back.Dropped) > len(tc.want) {
				t.Errorf("dropped %v, want at most %v", back.Dropped, tc.want)
			}
			if len(back.Phases) != tc.phases || back.Phases[0].Observation == nil {
				t.Errorf("%d phases", len(back.Phases))
			}
		})
	}
}

// A document that needs the most memory for its text can be read again.
func TestTheDensestRunIsReadAgain(t *testing.T) {
	run := example(t, v1alpha1.RunFailed, sized{clients: 1, seconds: 10})
	s := run.Phases[0].Observation.Result.Read.Series
	*s = result.Series{Boundaries: result.AlignedBoundaries}
	for i := range 100_000 {
		s.StartSeconds, s.EndSeconds = append(s.StartSeconds, float64(i)), append(s.EndSeconds, float64(i+1))
		s.OperationsPerSecond, s.BytesPerSecond = append(s.OperationsPerSecond, 0), append(s.BytesPerSecond, 0)
		s.MeanLatencySeconds = append(s.MeanLatencySeconds, 0)
	}
	run.Phases[0].Clients = nil
	for range 5000 {
		run.Phases[0].Clients = append(run.Phases[0].Clients, task.Report{Status: task.Status{State: task.Failed}})
	}
	back := roundTrip(t, run)
	if len(back.Dropped) > 0 {
		t.Errorf("dropped %v", back.Dropped)
	}
	if size, most := limits.Size(back), int64(MaxMemory); size < most/2 {
		t.Errorf("its size is %d of %d: this test is to come near it", size, most)
	}
	if diff := cmp.Diff(run.Phases[0].Observation, back.Phases[0].Observation); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Parts without room must not even be written: 64 clients with courses of 16 hours are 256 MiB of
// text.
func TestMarshalTakesNoMoreMemoryThanARunMay(t *testing.T) {
	memory.Within(t, func(t *testing.T) {
		run := example(t, v1alpha1.RunValid, sized{clients: 1, seconds: 16 * 3600, bins: 300})
		for i := range 63 { // The clients share a course.
			report := run.Phases[0].Clients[0]
			report.Client = i + 1
			run.Phases[0].Clients = append(run.Phases[0].Clients, report)
		}
		if back := roundTrip(t, run); len(back.Phases[0].Clients) != 64 {
			t.Errorf("%d clients", len(back.Phases[0].Clients))
		}
	})
}

func TestUnmarshalNamesTheLimit(t *testing.T) {
	_, err := Unmarshal(repeated(t, `{"schemaVersion":1,"phases":[{}`, `,{}`, `]}`, 1_000_000))
	if _, ok := errors.AsType[*limits.Error](err); !ok {
		t.Errorf("got %v, want a limit", err)
	}
	noise := make([]byte, MaxBytes+1)
	for i := range noise {
		noise[i] = byte(rand.IntN(256))
	}
	if _, err := Unmarshal(noise); err == nil || !strings.Contains(err.Error(), fmt.Sprint(MaxBytes)) {
		t.Errorf("got %v", err)
	}
}
