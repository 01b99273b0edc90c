package manual

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// TestPagesAreThere checks the pages, and the headings that links name.
func TestPagesAreThere(t *testing.T) {
	for _, link := range []string{Verdicts, ByHand} {
		path, heading, _ := strings.Cut(strings.TrimPrefix(link, docs), "#")
		page, err := os.ReadFile(filepath.Join(apiserver.Root(t), "docs", path))
		if err != nil {
			t.Errorf("%s: %v", link, err)
		}
		if title := "\n## " + strings.ReplaceAll(heading, "-", " ") + "\n"; heading != "" && !strings.Contains(strings.ToLower(string(page)), title) {
			t.Errorf("%s: the page has no such heading", link)
		}
	}
}
