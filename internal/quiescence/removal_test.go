package quiescence

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

func TestWaitForRemoval(t *testing.T) {
	patient := func(timeout time.Duration, allowed ...v1alpha1.HealthCode) v1alpha1.Quiescence {
		return v1alpha1.Quiescence{Timeout: metav1.Duration{Duration: timeout}, AllowedWarnings: allowed}
	}
	left := ceph.Strays{OSDs: 3, PGs: 48}
	for name, test := range map[string]struct {
		strays  ceph.Strays
		spec    v1alpha1.Quiescence
		waited  time.Duration
		message string // "" for no wait
	}{
		"nothing to remove":            {spec: patient(30 * time.Minute)},
		"a pool that was deleted":      {strays: left, spec: patient(30 * time.Minute), message: "OSDs still remove PGs of pools that were deleted or of data that was moved (PGs: 48, OSDs: 3); "},
		"the limit is named":           {strays: left, spec: patient(30 * time.Minute), waited: time.Minute, message: "after 2m0s"},
		"just before the bound":        {strays: left, spec: patient(30 * time.Minute), waited: RemovalWait - 1, message: "PGs: 48"},
		"at the bound":                 {strays: left, spec: patient(30 * time.Minute), waited: RemovalWait},
		"long after it":                {strays: left, spec: patient(30 * time.Minute), waited: time.Hour},
		"a benchmark in a hurry waits": {strays: left, spec: patient(time.Minute), waited: 59 * time.Second, message: "after 1m0s"},
		"but no longer than for quiet": {strays: left, spec: patient(time.Minute), waited: time.Minute},
		"it may be removed meanwhile":  {strays: left, spec: patient(30*time.Minute, removalCode)},
		"any warning is allowed":       {strays: left, spec: patient(30*time.Minute, "STRAY_*")},
	} {
		t.Run(name, func(t *testing.T) {
			got := WaitForRemoval(test.strays, test.spec, test.waited)
			if (got == "") != (test.message == "") || !strings.Contains(got, test.message) {
				t.Errorf("got %q, want %q in it", got, test.message)
			}
		})
	}
}
