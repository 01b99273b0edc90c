package report

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// TestCachedAllowsForDataOutsideCeph checks that the mark claims nothing about a volume whose
// StorageClass is not Ceph's: the operator cannot know where a claim keeps its data.
func TestCachedAllowsForDataOutsideCeph(t *testing.T) {
	if text := Meaning(v1alpha1.MarkCached); !strings.HasPrefix(text, "if the data are in Ceph, ") {
		t.Errorf("Cached means %q", text)
	}
}
