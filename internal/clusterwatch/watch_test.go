package clusterwatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

// Every sample has a status, because judges of samples rely on it.
func TestALookThatCephDoesNotAnswerIsNone(t *testing.T) {
	fake := cephtest.NewCluster()
	fake.Change(func(a *cephtest.Answers) {
		a.Status, a.OSDs, a.Errors = ceph.Status{OSDs: 3}, nil, map[string]error{}
		a.PoolIO = []ceph.PoolIO{{Name: "open"}}
	})
	for _, verb := range []string{"Status", "PoolIO", "Strays", "DF", "OSDPerf", "OSDMap", ""} {
		w := &Watch{
			ceph: fake, now: time.Now, between: true, strays: true,
			connect: func(context.Context) (ceph.Connection, error) { return ceph.Connection{}, nil },
		}
		w.look(t.Context()) // with the survey
		fake.Change(func(a *cephtest.Answers) { a.Errors[verb] = errors.New("no monitor answers") })
		if verb == "OSDMap" { // only the survey asks for it
			w.survey = nil
		}
		w.look(t.Context())
		fake.Change(func(a *cephtest.Answers) { clear(a.Errors) })
		seen, want := w.View(), 1
		if verb == "" {
			want = 2
		}
		if len(seen.Samples) != want || (seen.Err == nil) != (verb == "") {
			t.Errorf("without an answer to %q there are %d samples, %v, want %d", verb, len(seen.Samples), seen.Err, want)
		}
		for _, sample := range seen.Samples {
			if sample.Status == nil || sample.PoolIO == nil {
				t.Errorf("without an answer to %q: a sample %+v", verb, sample)
			}
		}
	}
}
