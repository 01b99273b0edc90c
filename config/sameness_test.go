package config

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samenessFile has a digest of each object that kustomize renders.
const samenessFile = "testdata/sameness.txt"

// TestSameness compares the rendered manifests with the recorded digests. UPDATE_GOLDEN=1 records them. The chart has
// golden files instead (hack/chart).
func TestSameness(t *testing.T) {
	var now strings.Builder
	for _, folder := range folders(t) {
		for _, object := range render(t, folder) {
			text, err := json.Marshal(object.Object)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&now, "%s %s %s/%s %.6x\n", folder, object.GetKind(), object.GetNamespace(), object.GetName(), sha256.Sum256(text))
		}
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(samenessFile, []byte(now.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(read(t, samenessFile), "\n"), strings.Split(now.String(), "\n")); diff != "" {
		t.Errorf("objects differ from the recorded ones (-recorded +now):\n%s", diff)
	}
}
