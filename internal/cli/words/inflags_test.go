package words

import "testing"

func TestInFlags(t *testing.T) {
	for message, want := range map[string]string{
		"budget.duration 10m is too short: it has to suffice for at least 8 runs": "--budget 10m is too short: it has to suffice for at least 8 runs",
		"spec.template.phases[0].fio.ioDepth: at most 1024":                       "--depth: at most 1024",
		"set target.scratchPool.failureDomain to osd":                             "set --failure-domain to osd",
		"The gain is less than minimumEffect.":                                    "The gain is less than --minimum-effect.",
		"the mode and the duration of this sweep":                                 "the mode and the duration of this sweep",
		"spec.maintenanceWindow.start is not a time":                              "spec.maintenanceWindow.start is not a time",
		"rook-ceph.rbd.csi.ceph.com":                                              "rook-ceph.rbd.csi.ceph.com",
	} {
		if got := InFlags(message); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}
