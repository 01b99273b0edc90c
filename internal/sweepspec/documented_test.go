package sweepspec

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// yamlBlock matches a YAML block of a page, also below a list item.
var yamlBlock = regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```")

// Every documented sweep must be able to begin, without a refusal by its own budget: on 12 OSDs
// with default caches, on HDDs, which take longest.
func TestDocumentedSweepsCanBeCarriedOut(t *testing.T) {
	const count, cacheBytes, freeBytes = 12, 4 << 30, 20 << 40
	found, slow := 0, osds(count)
	for i := range slow {
		slow[i].DeviceClass = "hdd"
	}
	for where, text := range documentedSweeps(t) {
		s := admitted(t, []byte(text))
		data, _, err := quiescence.DatasetBytes(s.Spec.Template.Dataset, int(s.Spec.Template.Clients.Count), count*cacheBytes, freeBytes)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		present := Present{}
		for _, name := range AskedOfCeph(&s.Spec) {
			present[name] = cephvalue.Of("32")
		}
		allowed := func(v1alpha1.ConfigParameter) bool { return true } // Comments in such a sample say what must be allowed.
		plan, err := Draft(&s.Spec, Facts{OSDs: slow, DatasetBytes: data, Present: present, Drawn: 1, MaySwitch: allowed})
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		found++
		t.Logf("%s: %d to %d runs of %v, %s each", where, plan.MinimumRuns, plan.MaximumRuns, plan.RunDuration.Duration, plan.RunBytesWritten)
		if len(plan.Refusals) > 0 {
			t.Errorf("%s: %s", where, strings.Join(plan.Refusals, " "))
		}
	}
	if found < 12 {
		t.Errorf("found %d sweeps only", found)
	}
}

// documentedSweeps returns the complete sweeps in samples and pages, by their place.
func documentedSweeps(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	add := func(place, text string) {
		if strings.HasPrefix(text, "apiVersion: "+v1alpha1.GroupVersion.String()) && strings.Contains(text, "\nkind: CephTuningSweep\n") {
			all[place] = text
		}
	}
	samples, err := filepath.Glob(filepath.Join(root, "config/samples/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range samples {
		text := readFile(t, file)
		add(filepath.Base(file), text[max(0, strings.Index(text, "apiVersion:")):])
	}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".md" {
			return err
		}
		for i, block := range yamlBlock.FindAllStringSubmatch(readFile(t, file), -1) {
			add(fmt.Sprintf("%s, block %d", file, i+1), block[1])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
