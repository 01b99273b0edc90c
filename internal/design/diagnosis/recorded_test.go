package diagnosis

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the lab showed while a client wrote 4 KiB to a scratch pool. Nothing was wrong but what the lab is: three OSDs on
// files, with little memory.
func TestTheLab(t *testing.T) {
	text, err := os.ReadFile("testdata/lab-ceph-20.2.4/facts.json")
	if err != nil {
		t.Fatal(err)
	}
	var f Facts
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	r := Judge(f)
	if diff := cmp.Diff([]string{"MemoryTarget", "LoopDevices", "NoFastDB"}, codes(r)); diff != "" {
		t.Error(diff)
	}
	if all, _ := f.beside(); len(all) != 3 {
		t.Errorf("%d OSDs were compared", len(all))
	}
	f.Pool = "cephtune-scratch"
	if diff := cmp.Diff([]string{"MemoryTarget", "LoopDevices", "NoFastDB"}, codes(Judge(f))); diff != "" {
		t.Error(diff)
	}
	for i := range f.Latencies {
		for j := range f.Latencies[i].OSDs {
			if f.Latencies[i].OSDs[j].ID == 1 {
				f.Latencies[i].OSDs[j].CommitSeconds *= 5
			}
		}
	}
	if diff := cmp.Diff([]string{"SlowOSDs", "MemoryTarget", "LoopDevices", "NoFastDB"}, codes(Judge(f))); diff != "" {
		t.Error(diff)
	}
}
