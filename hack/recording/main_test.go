package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestExtract(t *testing.T) {
	var out bytes.Buffer
	if err := extract(&out, "../../internal/cli/testdata/exports/small.yaml"); err != nil {
		t.Fatal(err)
	}
	const head = `# Load: fio RandRead, 4Ki, 32 operations in flight, on an image of at most 128Mi with 3 replicas.
# Cluster: Ceph 20.2.4, 3 OSDs.
# Began: 2026-11-25T14:25:44Z, with windows of 10s.
# Settings: 0 is baseline, 1 is message_cap=4.
# Result: message_cap=4 is Inferior on this pool, in this hour: 0.892 times the baseline (0.797 to 0.999), by 28 pairs of windows in 1 session.
from_ms,to_ms,operations,setting,acknowledged_ms
`
	if !strings.HasPrefix(out.String(), head) {
		t.Errorf("the header is\n%s", out.String()[:min(len(head), out.Len())])
	}
	// 56 windows of 10 s and their switches took 603 s, and each row is about a second.
	if n := strings.Count(out.String(), "\n") - 6; n < 590 || n > 606 {
		t.Errorf("%d rows", n)
	}
	if err := extract(&out, "../../internal/cli/testdata/exports/blocks-small.yaml"); err == nil {
		t.Error("a sweep in Blocks has no session, but its export was accepted")
	}
}
