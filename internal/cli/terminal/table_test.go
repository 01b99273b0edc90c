package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTablesFit(t *testing.T) {
	header := []string{"CONFIGURATION", "TRIALS", "READ IOPS", "RATIO", "INTERVAL", "VERDICT"}
	rows := [][]string{
		{"osd_mclock_profile=balanced", "4", "41.2k IOPS", "", "", ""},
		{"osd_mclock_profile=high_client_ops", "4", "412 MiB/s", "1.263", "1.221 to 1.307", "Superior: ThresholdExceeded"},
	}
	for columns, want := range map[int]string{
		80: `CONFIGURATION        TRIALS  READ IOPS   RATIO  INTERVAL  VERDICT
osd_mclock_profile=  4       41.2k IOPS
balanced
osd_mclock_profile=  4       412 MiB/s   1.263  1.221 to  Superior:
high_client_ops                                 1.307     ThresholdExceeded
`,
		200: `CONFIGURATION                       TRIALS  READ IOPS   RATIO  INTERVAL        VERDICT
osd_mclock_profile=balanced         4       41.2k IOPS
osd_mclock_profile=high_client_ops  4       412 MiB/s   1.263  1.221 to 1.307  Superior: ThresholdExceeded
`,
	} {
		var out strings.Builder
		WriteTable(&out, columns, header, rows)
		t.Logf("%d columns:\n%s", columns, out.String())
		if out.String() != want {
			t.Errorf("%d columns: want\n%s", columns, want)
		}
	}
}

// People copy names, so that a table is rather too wide than to break one.
func TestNamesAreNotBroken(t *testing.T) {
	var out strings.Builder
	WriteTable(&out, 30, []string{"NAMESPACE", "NAME", "RESULT"}, [][]string{{"cephtune-bench", "cephsweep/mclock-profile", "path=a/long/one"}})
	want := `NAMESPACE       NAME                      RESULT
cephtune-bench  cephsweep/mclock-profile  path=a/
                                          long/one
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}

func TestProseIsBrokenAtWords(t *testing.T) {
	prose := strings.Repeat("twelve words ", 20)
	var out strings.Builder
	command := "    kubectl -n cephtune-bench patch cephsweep " + strings.Repeat("x", 80)
	if _, err := WriteString(&out, strings.TrimSpace(prose)+"\n"+command+"\n"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if last := lines[len(lines)-1]; last != command {
		t.Errorf("the command was broken: %q", last)
	}
	for _, line := range lines[:len(lines)-1] {
		if utf8.RuneCountInString(line) > Narrow || strings.HasSuffix(line, " ") || !strings.HasPrefix(line, "twelve") && !strings.HasPrefix(line, "words") {
			t.Errorf("line %q", line)
		}
	}
	if got := strings.Join(strings.Fields(strings.Join(lines[:len(lines)-1], " ")), " "); got != strings.TrimSpace(prose) {
		t.Errorf("words were lost: %q", got)
	}
}
