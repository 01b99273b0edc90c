package runstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/history"
)

// measure writes the results of a night: two runs.
func measure(t *testing.T, s Store, night int) {
	t.Helper()
	s.Benchmark.Status.ObservedRunID, s.Benchmark.Status.StartTime = v1alpha1.RunID(fmt.Sprint(night)), &metav1.Time{Time: time.Unix(int64(night)*86400, 0)}
	s.Benchmark.Status.Runs = nil
	for number := range int32(2) {
		run := runOf(number+1, "")
		run.Phases = []archive.Phase{{Name: "write", Observation: &figure.Observation{
			Figures: []figure.Figure{{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal, Value: float64(1000 + night)}},
		}}}
		stored, kept, err := s.Write(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		s.Benchmark.Status.Runs = append(s.Benchmark.Status.Runs, stored.Entry(kept))
	}
}

// end does what the controller does after an execution: it records the history in status, and prunes once that is recorded.
func end(t *testing.T, s Store, historyLimit int32) []history.Night {
	t.Helper()
	for range 3 {
		signed, err := s.Signed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		nights, kept, err := s.History(t.Context(), signed)
		if err != nil {
			t.Fatal(err)
		}
		if recorded := s.Benchmark.Status.History; kept == nil || recorded != nil && *recorded == *kept {
			prune(t, s, historyLimit)
			return nights
		}
		s.Benchmark.Status.History = kept
	}
	t.Fatal("each call has another history")
	return nil
}

// wantNights checks that there are the nights from the first one to the given one.
func wantNights(t *testing.T, got []history.Night, last int) {
	t.Helper()
	if len(got) != last+1 {
		t.Fatalf("%d nights, want those up to %d", len(got), last)
	}
	for i, n := range got {
		f := n.Figures[0]
		if n.Time.Unix() != int64(i)*86400 || f.Value != float64(1000+i) || f.Runs != 2 {
			t.Errorf("night %d is %+v", i, n)
		}
	}
}

func histories(t *testing.T, s Store) []corev1.ConfigMap {
	t.Helper()
	var maps corev1.ConfigMapList
	if err := s.Reader.List(t.Context(), &maps, client.MatchingLabels(archive.HistoryLabels("b"))); err != nil {
		t.Fatal(err)
	}
	return maps.Items
}

func TestNightsOutliveTheirResults(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	for night := range 30 {
		measure(t, s, night)
		got := end(t, s, 3)
		if night == 0 {
			if len(got) > 0 || s.Benchmark.Status.History != nil {
				t.Errorf("the only night has a history: %+v", got)
			}
			continue
		}
		wantNights(t, got, night)
	}
	kept := histories(t, s)
	if len(kept) != 1 || kept[0].Name != s.Benchmark.Status.History.Results || !metav1.IsControlledBy(&kept[0], s.Benchmark) {
		t.Errorf("%d histories, want only the one in status", len(kept))
	}
	if signed, err := s.Signed(t.Context()); err != nil || len(signed) != 6 {
		t.Errorf("%d results, %v, want those of three nights", len(signed), err)
	}
}

// The manager may end after each request, and a history may be lost: the results make up for it.
func TestLostWritesAreRepaired(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, s Store){
		"the history was not written": func(*testing.T, Store) {},
		"status was not written": func(t *testing.T, s Store) {
			t.Helper()
			signed, err := s.Signed(t.Context())
			if err == nil {
				_, _, err = s.History(t.Context(), signed)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"nothing was pruned": func(t *testing.T, s Store) { t.Helper(); end(t, s, 20) },
		"somebody deleted the history": func(t *testing.T, s Store) {
			t.Helper()
			end(t, s, 20)
			for _, cm := range histories(t, s) {
				if err := s.Client.Delete(t.Context(), &cm); err != nil {
					t.Fatal(err)
				}
			}
		},
		"somebody replaced the history": func(t *testing.T, s Store) {
			t.Helper()
			end(t, s, 20)
			for _, cm := range histories(t, s) {
				cm.BinaryData[archive.HistoryKey] = []byte("forged")
				if err := s.Client.Update(t.Context(), &cm); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := storeOf(t, interceptor.Funcs{})
			for night := range 4 {
				measure(t, s, night)
				end(t, s, 20)
			}
			measure(t, s, 4)
			lose(t, s)
			measure(t, s, 5)
			wantNights(t, end(t, s, 5), 5)
			wantNights(t, end(t, s, 5), 5) // Once more changes nothing.
			genuine := 0
			for _, cm := range histories(t, s) {
				if ours, err := archive.Genuine(s.MasterKey, "u", &cm); err != nil || ours {
					genuine++
				}
			}
			if genuine != 1 {
				t.Errorf("%d histories of the operator, want one", genuine)
			}
		})
	}
}

// Status has the digest of the same nights, but the ConfigMap is gone.
func TestADeletedHistoryIsWrittenAgain(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	measure(t, s, 0)
	measure(t, s, 1)
	wantNights(t, end(t, s, 5), 1)
	if err := s.Client.Delete(t.Context(), &histories(t, s)[0]); err != nil {
		t.Fatal(err)
	}
	wantNights(t, end(t, s, 5), 1)
	if kept := histories(t, s); len(kept) != 1 || kept[0].Name != s.Benchmark.Status.History.Results {
		t.Errorf("%d histories, want the one in status", len(kept))
	}
}

// A ConfigMap of another user has the name that the history would get.
func TestAHistoryGivesWayToStrangers(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	measure(t, s, 0)
	measure(t, s, 1)
	signed, err := s.Signed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, kept, err := s.History(t.Context(), signed)
	if err != nil {
		t.Fatal(err)
	}
	theirs := &corev1.ConfigMap{}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: kept.Results}, theirs); err != nil {
		t.Fatal(err)
	}
	theirs.BinaryData[archive.HistoryKey] = []byte("forged")
	if err := s.Client.Update(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	wantNights(t, end(t, s, 5), 1)
	if got := s.Benchmark.Status.History.Results; got == kept.Results {
		t.Errorf("the history is in %s, which is forged", got)
	}
}

func TestAFailedWriteIsAnError(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
		if o.GetLabels()[archive.LabelHistory] != "" {
			return errors.New("exceeded quota")
		}
		return c.Create(ctx, o, options...)
	}})
	measure(t, s, 0)
	measure(t, s, 1)
	signed, err := s.Signed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.History(t.Context(), signed); err == nil {
		t.Error("the history seems to be written")
	}
}
