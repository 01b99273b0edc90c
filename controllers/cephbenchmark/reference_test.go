package cephbenchmark

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAReferenceThatCannotBeRead(t *testing.T) {
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "cephbenchmarks"}, "nightly")
	for err, want := range map[error]string{
		missing:                 "there is no CephBenchmark nightly in this namespace: create it",
		errors.New("a timeout"): "CephBenchmark nightly cannot be read: run again with another runID (a timeout)",
	} {
		if got := (referenceView{err: err}).unreadable("nightly"); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
