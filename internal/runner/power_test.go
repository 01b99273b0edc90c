package runner

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/task"
)

func TestReadPower(t *testing.T) {
	files := func(content map[string]string) fstest.MapFS {
		all := fstest.MapFS{}
		for name, text := range content {
			all[name] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
		return all
	}
	for name, tc := range map[string]struct {
		files fstest.MapFS
		want  *task.HostPower
	}{
		"nothing": {files(nil), nil},
		"a virtual machine, as recorded": {files(map[string]string{
			"cpu0/cpuidle/state0/name": "POLL", "cpu0/cpuidle/state0/latency": "0", "cpu0/cpuidle/state0/disable": "0",
			"cpu0/cpuidle/state1/name": "haltpoll idle", "cpu0/cpuidle/state1/latency": "1", "cpu0/cpuidle/state1/disable": "0",
		}), &task.HostPower{IdleState: "haltpoll idle", IdleExitSeconds: 1e-6}},
		"CPUs that save energy": {files(map[string]string{
			"cpufreq/policy0/scaling_governor": "powersave", "cpufreq/policy0/scaling_driver": "intel_pstate",
			"cpufreq/policy1/scaling_governor": "powersave", "cpufreq/policy1/scaling_driver": "intel_pstate",
			"cpufreq/policy2/scaling_governor": "performance",
			"cpu0/cpuidle/state1/name":         "C1", "cpu0/cpuidle/state1/latency": "2", "cpu0/cpuidle/state1/disable": "0",
			"cpu0/cpuidle/state2/name": "C6", "cpu0/cpuidle/state2/latency": "133", "cpu0/cpuidle/state2/disable": "0",
			"cpu0/cpuidle/state3/name": "C8", "cpu0/cpuidle/state3/latency": "600", "cpu0/cpuidle/state3/disable": "1",
		}), &task.HostPower{Governors: []string{"powersave/intel_pstate", "performance"}, IdleState: "C6", IdleExitSeconds: 133e-6}},
		"something else": {files(map[string]string{
			"cpufreq/policy0/scaling_driver": "x", "cpu0/cpuidle/state0/latency": "-3", "cpu0/cpuidle/state0/disable": "0",
		}), &task.HostPower{}},
	} {
		if diff := cmp.Diff(tc.want, readPower(tc.files)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
