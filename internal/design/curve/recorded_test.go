package curve

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the recorded curves say now")

// TestRecordedCurves judges curves of real Ceph again.
func TestRecordedCurves(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "lab-*", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c Course
			if err := json.Unmarshal(data, &c); err != nil {
				t.Fatal(err)
			}
			now := c.Judged()
			if *update {
				if data, err = json.MarshalIndent(now, "", " "); err == nil {
					err = os.WriteFile(file, append(data, '\n'), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.Knee, now.Knee); diff != "" && !*update {
				t.Errorf("(-recorded +now):\n%s", diff)
			}
			if len(c.Steps) > c.Question.MaxSteps || !now.Next().Done {
				t.Errorf("after %d steps, it would go on: %+v", len(c.Steps), now.Next())
			}
		})
	}
}
