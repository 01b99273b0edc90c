package journals_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

const (
	namespace = "cephtune-system"
	fsid      = "11111111-2222-3333-4444-555555555555"
	name      = "cephtune-journal-" + fsid
)

var configMaps = schema.GroupResource{Resource: "configmaps"}

// journal returns a journal with a setting in each of the states.
func journal(sweep string, epoch, revision int64, states ...tuning.State) *tuning.Journal {
	j := &tuning.Journal{
		SchemaVersion: tuning.SchemaVersion, FSID: fsid, Sweep: tuning.Sweep{Namespace: "bench", Name: sweep, UID: "uid-" + sweep},
		Epoch: epoch, Writer: "first", Revision: revision, Entries: []tuning.Entry{},
	}
	for i, state := range states {
		j.Entries = append(j.Entries, tuning.Entry{
			Setting: tuning.Setting{Kind: tuning.KindConfig, Option: "osd_option_" + string(rune('a'+i))}, Type: "uint",
			Applied: []tuning.AppliedValue{{Intended: cephvalue.Of("4")}}, State: state,
		})
	}
	return j
}

// writtenBy returns the same journal of another writer.
func writtenBy(writer string, j *tuning.Journal) *tuning.Journal {
	j.Writer = writer
	return j
}

func storeOf(c client.Client) *journals.ConfigMaps { return journals.New(c, c, namespace) }

func mustSave(t *testing.T, s tuning.Store, all ...*tuning.Journal) {
	t.Helper()
	for _, j := range all {
		if err := s.Save(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
}

func configMap(t *testing.T, c client.Client) *corev1.ConfigMap {
	t.Helper()
	o := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAJournalIsKept(t *testing.T) {
	c := newAPI()
	s := storeOf(c)
	if kept, err := s.Load(t.Context(), fsid); kept != nil || err != nil {
		t.Fatalf("%v, %v before there was one", kept, err)
	}
	if err := s.Remove(t.Context(), journal("a", 1, 1)); err != nil {
		t.Errorf("remove one that is not there: %v", err)
	}
	want := journal("pg-num", 3, 1, tuning.Open, tuning.Restored, tuning.Open)
	mustSave(t, s, want)
	got, err := s.Load(t.Context(), fsid)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, journal -want +got:\n%s", err, diff)
	}

	o := configMap(t, c)
	metadata := map[string]string{
		"app.kubernetes.io/managed-by": o.Labels["app.kubernetes.io/managed-by"],
		"cephtune.dev/sweep":           o.Annotations["cephtune.dev/sweep"],
		"cephtune.dev/state":           o.Annotations["cephtune.dev/state"],
	}
	wantAbout := map[string]string{
		"app.kubernetes.io/managed-by": "cephtune",
		"cephtune.dev/sweep":           "bench/pg-num",
		"cephtune.dev/state":           "Settings to restore in Ceph: 2 of 3. Do not delete this ConfigMap: it has the original values.",
	}
	if diff := cmp.Diff(wantAbout, metadata); diff != "" {
		t.Errorf("labels and annotations, -want +got:\n%s", diff)
	}

	mustSave(t, s, journal("pg-num", 3, 2, tuning.Restored, tuning.Restored, tuning.LeftAlone))
	if got := configMap(t, c).Annotations["cephtune.dev/state"]; !strings.Contains(got, "No setting of Ceph is left to restore") {
		t.Errorf("state of a journal that is done: %q", got)
	}
	if err := s.Remove(t.Context(), journal("a", 1, 1)); err != nil {
		t.Fatal(err)
	}
	if kept, err := s.Load(t.Context(), fsid); kept != nil || err != nil {
		t.Errorf("%v, %v after it was removed", kept, err)
	}
}

func TestForeignFieldsOfTheConfigMapStay(t *testing.T) {
	c := newAPI()
	s := storeOf(c)
	mustSave(t, s, journal("a", 1, 1, tuning.Open))
	o := configMap(t, c)
	o.Labels["backup"], o.Data["note"] = "daily", "theirs"
	if err := c.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	mustSave(t, s, journal("a", 1, 2, tuning.Restored))
	if o := configMap(t, c); o.Labels["backup"] != "daily" || o.Data["note"] != "theirs" {
		t.Errorf("labels %v, data %v", o.Labels, o.Data)
	}
}

func TestJournalSuccession(t *testing.T) {
	const open, done = tuning.Open, tuning.Restored
	overtaken := func(err error) bool { return errors.Is(err, tuning.ErrOvertaken) }
	otherSweep := func(err error) bool {
		other, ok := errors.AsType[*tuning.OtherSweepError](err)
		return ok && other.Sweep.Name == "a"
	}
	tests := map[string]struct {
		kept, next *tuning.Journal
		refused    func(error) bool
	}{
		"the next revision":                         {kept: journal("a", 1, 1, open), next: journal("a", 1, 2, open)},
		"the next revision of a new manager":        {kept: journal("a", 1, 1, open), next: writtenBy("second", journal("a", 2, 2, open))},
		"the same once more, its answer was lost":   {kept: journal("a", 1, 2, open), next: journal("a", 1, 2, open)},
		"one from the mirror, which was ahead":      {kept: journal("a", 1, 2, open), next: journal("a", 1, 5, open)},
		"the first of a sweep, after one that ends": {kept: journal("a", 7, 9, done), next: journal("b", 7, 1, open)},
		"the same, in Leases that began anew":       {kept: journal("a", 7, 9, done), next: journal("b", 1, 1, open)},

		"another one of the same revision":         {kept: journal("a", 1, 2, open), next: writtenBy("second", journal("a", 1, 2, open)), refused: overtaken},
		"of an earlier revision":                   {kept: journal("a", 1, 3, open), next: journal("a", 1, 2, open), refused: overtaken},
		"of a manager that has lost the lock":      {kept: writtenBy("second", journal("a", 2, 3, open)), next: journal("a", 1, 4, open), refused: overtaken},
		"of the new one, that had not seen it yet": {kept: journal("a", 1, 3, open), next: writtenBy("second", journal("a", 2, 3, open)), refused: overtaken},
		"the first of a sweep, in place of a's":    {kept: journal("a", 1, 3, done, open), next: journal("b", 2, 1, open), refused: otherSweep},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			s := storeOf(newAPI())
			mustSave(t, s, test.kept)
			err := s.Save(t.Context(), test.next)
			want := test.next
			if test.refused != nil {
				want = test.kept
				if !test.refused(err) {
					t.Errorf("error is %v", err)
				}
			} else if err != nil {
				t.Error(err)
			}
			got, err := s.Load(t.Context(), fsid)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v, kept -want +got:\n%s", err, diff)
			}
		})
	}
}

// between lets another writer act once, between a read and the write that follows it.
func between(c client.WithWatch, act func()) client.WithWatch {
	write := func(do func() error) error {
		if act != nil {
			once := act
			act = nil
			once()
		}
		return do()
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write(func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write(func() error { return c.Update(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write(func() error { return c.Delete(ctx, o, opts...) })
		},
	})
}

// A second manager must not overwrite what the first one has written, however shortly before.
func TestTwoManagersAtOnce(t *testing.T) {
	first := writtenBy("first", journal("a", 1, 3, tuning.Open))
	tests := map[string]struct {
		before *tuning.Journal // nil: there is none
		first  func(t *testing.T, s tuning.Store)
		second func(ctx context.Context, s tuning.Store) error
		want   *tuning.Journal
	}{
		"both begin": {
			first:  func(t *testing.T, s tuning.Store) { mustSave(t, s, first) },
			second: func(ctx context.Context, s tuning.Store) error { return s.Save(ctx, journal("b", 2, 1, tuning.Open)) },
			want:   first,
		},
		"both go on": {
			before: journal("a", 1, 2, tuning.Open),
			first:  func(t *testing.T, s tuning.Store) { mustSave(t, s, first) },
			second: func(ctx context.Context, s tuning.Store) error {
				return s.Save(ctx, writtenBy("second", journal("a", 2, 3, tuning.Open)))
			},
			want: first,
		},
		"one begins where the other ends": {
			before: journal("z", 1, 2, tuning.Restored),
			first:  func(t *testing.T, s tuning.Store) { mustSave(t, s, first) },
			second: func(ctx context.Context, s tuning.Store) error { return s.Remove(ctx, journal("z", 1, 2)) },
			want:   first,
		},
		"one ends where the other goes on": {
			before: journal("a", 1, 2, tuning.Restored),
			first: func(t *testing.T, s tuning.Store) {
				if err := s.Remove(t.Context(), journal("a", 1, 1)); err != nil {
					t.Fatal(err)
				}
			},
			second: func(ctx context.Context, s tuning.Store) error { return s.Save(ctx, journal("a", 1, 3, tuning.Open)) },
		},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			c := newAPI()
			if test.before != nil {
				mustSave(t, storeOf(c), test.before)
			}
			late := between(c, func() { test.first(t, storeOf(c)) })
			if err := test.second(t.Context(), storeOf(late)); !errors.Is(err, tuning.ErrOvertaken) || !strings.Contains(err.Error(), "second manager") {
				t.Errorf("error is %v, want that it was overtaken", err)
			}
			got, err := storeOf(c).Load(t.Context(), fsid)
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v, kept -want +got:\n%s", err, diff)
			}
		})
	}
}

// A manager may read the journal at any time, for its status, and must not count as a second
// writer.
func TestReadingBetweenTwoWritesIsNoMatter(t *testing.T) {
	c := newAPI()
	s := storeOf(between(c, func() {
		if _, err := storeOf(c).Load(t.Context(), fsid); err != nil {
			t.Error(err)
		}
	}))
	for revision := int64(1); revision <= 3; revision++ {
		if _, err := s.Load(t.Context(), fsid); err != nil {
			t.Fatal(err)
		}
		mustSave(t, s, journal("a", 1, revision, tuning.Open))
	}
}

func TestAnOpenJournalIsNotRemoved(t *testing.T) {
	s := storeOf(newAPI())
	mustSave(t, s, journal("a", 1, 1, tuning.Restored, tuning.Open))
	if err := s.Remove(t.Context(), journal("a", 1, 1, tuning.Open)); err == nil || !strings.Contains(err.Error(), "restore or abandon") {
		t.Errorf("error is %v", err)
	}
	if kept, err := s.Load(t.Context(), fsid); kept == nil || err != nil {
		t.Errorf("kept %v, %v", kept, err)
	}
}

// A journal that cannot be parsed must not count as missing, and must not be overwritten or
// removed.
func TestAJournalThatCannotBeReadStays(t *testing.T) {
	for title, test := range map[string]struct {
		data map[string]string
		want string
	}{
		"emptied":             {nil, "from a backup"},
		"damaged":             {map[string]string{journals.Key: `{"schemaVersion":1,`}, "damaged"},
		"of a later version":  {map[string]string{journals.Key: `{"schemaVersion":2,"fsid":"` + fsid + `"}`}, "restore with the cephtune version that wrote it"},
		"copied from another": {map[string]string{journals.Key: `{"schemaVersion":1,"fsid":"f"}`}, "if it was copied, delete it"},
	} {
		t.Run(title, func(t *testing.T) {
			c := fake.NewClientBuilder().WithObjects(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: test.data,
			}).Build()
			s := storeOf(c)
			_, loaded := s.Load(t.Context(), fsid)
			saved := s.Save(t.Context(), journal("a", 1, 1, tuning.Open))
			removed := s.Remove(t.Context(), journal("a", 1, 1))
			for _, err := range []error{loaded, saved, removed} {
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), name) {
					t.Errorf("error is %v, want %q and the name in it", err, test.want)
				}
			}
			if diff := cmp.Diff(test.data, configMap(t, c).Data); diff != "" {
				t.Errorf("data -want +got:\n%s", diff)
			}
		})
	}
}

func TestAMissingRoleIsNamed(t *testing.T) {
	no := apierrors.NewForbidden(configMaps, name, errors.New("no"))
	c := interceptor.NewClient(newAPI(), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return no },
	})
	err := storeOf(c).Save(t.Context(), journal("a", 1, 1, tuning.Open))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cephtune-cluster-locks") {
		t.Errorf("error is %v", err)
	}
}

func TestAJournalThatIsTooLongIsNotWritten(t *testing.T) {
	c := newAPI()
	long := journal("a", 1, 1)
	for range 1000 {
		long.Entries = append(long.Entries, journal("a", 1, 1, tuning.Open).Entries...)
	}
	if err := storeOf(c).Save(t.Context(), long); err == nil || !strings.Contains(err.Error(), "vary fewer") {
		t.Errorf("error is %v", err)
	}
	if kept, err := storeOf(c).Load(t.Context(), fsid); kept != nil || err != nil {
		t.Errorf("kept %v, %v", kept, err)
	}
}
