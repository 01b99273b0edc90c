package start

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
)

func TestCurveFromFlags(t *testing.T) {
	for name, line := range map[string]string{
		"a curve":                        "--ceph-cluster a/b --block-size 4Ki --read-percent 70 --max-p99 10ms --dry-run",
		"a curve as a gate":              "--ceph-cluster a/b --mode randread --max-p999 50ms --min-iops 5k --step 20s --dry-run",
		"usage a curve without a limit":  "--mode randread",
		"usage a curve with two limits":  "--max-p99 10ms --max-p50 1ms",
		"usage a curve with no time":     "--max-p99 10",
		"usage a curve with a rate":      "--max-p99 10ms --rate-iops 5",
		"usage a curve of rados bench":   "--max-p99 10ms --engine rados",
		"usage a curve of two classes":   "--max-p99 10ms --storage-class a,b",
		"usage a curve in a hurry":       "--max-p99 10ms --step 1s",
		"usage a curve with an argument": "--max-p99 10ms pool",
		"usage a curve to a word":        "--max-p99 10ms --min-iops many",
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Execute(t, NewCurveCommand(clitest.Connecting(ending(t, passed(v1alpha1.BenchmarkPassed))), nil), line, "")
			if want := strings.HasPrefix(name, "usage"); want != (got.Code() == 2) {
				t.Errorf("exit code %d: %v", got.Code(), got.Err)
			}
			clitest.Golden(t, "run/"+name, "$ curve "+line+"\n"+got.String(), *update)
		})
	}
}
