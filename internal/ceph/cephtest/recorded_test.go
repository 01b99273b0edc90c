package cephtest_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

// The fake must answer `config set osd OPTION VALUE` and show it in `config dump` as Ceph 18.2.7
// does.
func TestSetConfigIsAsRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/18.2.7/config-set.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded []struct {
		Option, Value string
		Errno         int
		Shown         string
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	osds := ceph.ConfigWho{Section: "osd"}
	for _, want := range recorded {
		if ceph.ValidValue(want.Value) != nil {
			continue // The verb never passes it on to Ceph.
		}
		t.Run(want.Option+"="+want.Value, func(t *testing.T) {
			c := cephtest.NewCluster()
			err := c.SetConfig(t.Context(), ceph.Connection{}, ceph.Fence{FSID: cephtest.FSID, Epoch: 1}, osds, want.Option, want.Value)
			answer, answered := errors.AsType[*ceph.Error](err)
			if err != nil && !answered || answered && answer.Errno != want.Errno || err == nil && want.Errno != 0 {
				t.Errorf("error is %v, want number %d", err, want.Errno)
			}
			if got, _ := c.Central(osds, want.Option); got != want.Shown {
				t.Errorf("it shows %q, want %q", got, want.Shown)
			}
		})
	}
}
