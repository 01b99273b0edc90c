package medium_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/internal/report/medium"
	"github.com/cephtune/cephtune/internal/testing/judge"
)

func hostile(f *testing.F) {
	for _, text := range judge.Hostile() {
		f.Add(text)
	}
}

func TestLine(t *testing.T) {
	for data, want := range map[string]string{
		"plain, ö 日本 −5 %": "plain, ö 日本 −5 %",
		"a\r\nb\tc\n":      "a b c ",
		"\x1b[31m":         `\u001b[31m`,
		"a\u202eb\u009b":   `a\u202eb\u009b`,
		"\U000e0041":       `\udb40\udc41`,
		"a\xff\xfeb":       "a\ufffdb",
	} {
		if got := medium.Line(data); got != want {
			t.Errorf("%q: got %q, want %q", data, got, want)
		}
	}
}

func FuzzTerminal(f *testing.F) {
	hostile(f)
	f.Fuzz(func(t *testing.T, data string) {
		line, lines := medium.Line(data), medium.Lines(data)
		if err := judge.Terminal(line + strings.ReplaceAll(lines, "\t", "")); err != nil {
			t.Error(err)
		}
		if strings.ContainsAny(line, "\n\t") || medium.Line(line) != line || medium.Lines(lines) != lines {
			t.Errorf("%q, %q", line, lines)
		}
		asYAML, err := medium.YAML(data)
		if err != nil {
			t.Fatal(err)
		}
		var read string
		if err := yaml.Unmarshal(asYAML, &read); err != nil || utf8.ValidString(data) && read != data {
			t.Errorf("in YAML, %q became %q: %v", data, read, err)
		}
		document, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		var back string
		if err := json.Unmarshal([]byte(medium.Lines(string(document))), &back); err != nil || utf8.ValidString(data) && back != data {
			t.Errorf("in JSON, %q became %q: %v", data, back, err)
		}
	})
}

func TestFormat(t *testing.T) {
	type word string
	got := medium.Format(medium.Line, "%s\n%s %d %v|%-4s|", "a\nb", word("c\nd"), 3, errors.New("e\nf"), "g")
	if want := "a b\nc d 3 e f|g   |"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCSV(t *testing.T) {
	for data, want := range map[string]string{
		"-1.5": "-1.5", "+3%": "+3%", "-2.5e-7": "-2.5e-7", ".5": ".5", "-5 %": "-5 %", "a=b": "a=b", "p-value": "p-value", "cap=1": "cap=1",
		"=1+1": "'=1+1", "+1+1": "'+1+1", "-1-1": "'-1-1", "@SUM(A1)": "'@SUM(A1)", " =1": "' =1", "\t=1": "' =1", "＝1": "'＝1",
		"a;=1": "a;'=1", "": "", "-": "'-", "a,b": `"a,b"`,
	} {
		got, err := medium.CSV([][]string{{data, "x"}})
		if err != nil || string(got) != want+",x\n" {
			t.Errorf("%q: got %q, %v, want %q", data, got, err, want)
		}
	}
}

func FuzzCSV(f *testing.F) {
	for _, text := range judge.Hostile() {
		f.Add(text, "-1.5")
		f.Add("name", text)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		rows := [][]string{{"name", a, b}, {b, "-1.5", a}}
		got, err := medium.CSV(rows)
		if err == nil {
			err = judge.CSV(got, rows)
		}
		if err != nil {
			t.Errorf("%v in\n%s", err, got)
		}
	})
}

func TestMarkdown(t *testing.T) {
	for data, want := range map[string]string{
		"1.5 MiB, −5 %, p < 0.05": "1.5 MiB, −5 %, p &lt; 0.05",
		"osd_memory_target":       `osd\_memory\_target`,
		"- item":                  `\- item`,
		"-5%":                     "-5%",
		"12. item":                `12\. item`,
		"a|b":                     "a&#124;b",
		"@user":                   "@&#8203;user",
		" a\nb ":                  "a b",
	} {
		if got := medium.Markdown(data); got != want {
			t.Errorf("%q: got %q, want %q", data, got, want)
		}
	}
}

// Data have no markup in a paragraph, between asterisks, in an item, in a quotation, and in a cell. Readers see
// their characters.
func FuzzMarkdown(f *testing.F) {
	hostile(f)
	f.Fuzz(func(t *testing.T, data string) {
		got := medium.Markdown(data)
		for form, elements := range map[string][]string{
			"%s\n":                               {"p"},
			"Before.\n\n%s\n":                    {"p", "p"},
			"- A: %s\n":                          {"ul", "li"},
			"> %s\n":                             {"blockquote", "p"},
			"| A | B |\n|---|---|\n| %s | x |\n": {"table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"},
			"| %s | x |\n|---|---|\n":            {"table", "thead", "tr", "th", "th"},
		} {
			if got == "" && !strings.Contains(form, "|") {
				continue
			}
			text := fmt.Sprintf(form, got)
			page, err := judge.Markdown([]byte(text))
			if want := append([]string{"html", "head", "body"}, elements...); err != nil || !slices.Equal(page.Elements, want) {
				t.Errorf("%v: %q gives %v", err, text, page.Elements)
			}
			shown := strings.ReplaceAll(page.Text, "\u200b", "")
			if want := strings.TrimSpace(medium.Line(data)); !strings.Contains(shown, want) {
				t.Errorf("%q shows %q, want %q", text, shown, want)
			}
		}
	})
}

func FuzzMarkdownCode(f *testing.F) {
	hostile(f)
	f.Fuzz(func(t *testing.T, data string) {
		text := "Before.\n\n" + medium.MarkdownCode("yaml", data) + "\n# After\n"
		page, err := judge.Markdown([]byte(text))
		if want := []string{"html", "head", "body", "p", "pre", "code", "h1"}; err != nil || !slices.Equal(page.Elements, want) {
			t.Errorf("%v: %q gives %v", err, text, page.Elements)
		}
		if want := strings.TrimRight(medium.Lines(data), "\n"); strings.TrimRight(page.Code, "\n") != want {
			t.Errorf("%q shows %q, want %q", text, page.Code, want)
		}
	})
}

func FuzzHTML(f *testing.F) {
	hostile(f)
	f.Fuzz(func(t *testing.T, data string) {
		text := fmt.Sprintf(`<p title="%[1]s">%[1]s</p>`, medium.HTML(data))
		page, err := judge.HTML([]byte(text))
		if want := []string{"html", "head", "body", "p"}; err != nil || !slices.Equal(page.Elements, want) || page.Text != medium.Line(data) {
			t.Errorf("%v: %q gives %+v", err, text, page)
		}
	})
}
