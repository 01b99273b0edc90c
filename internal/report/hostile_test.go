package report

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/testing/judge"
)

// documentOf returns a document with a text wherever data may be.
func documentOf(text string) *Document {
	c := &canvas{width: 100, height: 100}
	c.text("label", "start", 1, 1, text)
	c.rect("bar", 1, 1, 2, 2, "x"+text)
	for n := range shapes {
		c.marker("dot", n*colours, 1, 1, "x"+text)
	}
	c.cross(1, 1, "x"+text)
	table := Table{Header: []string{"A", text}, Rows: [][]string{{text, "-1.5"}, {"x", text}}}
	folded := table
	folded.Folded = "All rows" // This program writes all such titles.
	return &Document{
		Kind: "x" + text, Namespace: "x" + text, Name: "x" + text, Verdict: "x" + text, Sentence: "x" + text, Warnings: []string{"x" + text},
		Facts: []Fact{{text, text}}, Figures: append([][]string{table.Header}, table.Rows...),
		Sections: []Section{{Title: "x" + text, Parts: []Part{
			{Text: "x" + text}, {Table: &table}, {Table: &folded}, {Plot: &Plot{SVG: c.svg(text), Narrow: c.svg(text), Caption: text}}, {Code: "x" + text},
		}}},
	}
}

// FuzzDocument makes a report whose texts a stranger has written. It must have the elements of a report with
// harmless texts, and no others.
func FuzzDocument(f *testing.F) {
	for _, text := range judge.Hostile() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, harmless := documentOf(text), documentOf("y")
		pages := map[string]func(*Document) (judge.Page, error){
			"HTML": func(d *Document) (judge.Page, error) {
				page, err := d.HTML()
				if err != nil {
					return judge.Page{}, err
				}
				if err := judge.Terminal(strings.ReplaceAll(string(page), "\t", " ")); err != nil {
					return judge.Page{}, err
				}
				return judge.HTML(page)
			},
			"Markdown": func(d *Document) (judge.Page, error) {
				if err := judge.Terminal(strings.ReplaceAll(string(d.Markdown()), "\t", " ")); err != nil {
					return judge.Page{}, err
				}
				return judge.Markdown(d.Markdown())
			},
		}
		for medium, page := range pages {
			got, err := page(d)
			want, wantErr := page(harmless)
			if err != nil || wantErr != nil || !slices.Equal(got.Elements, want.Elements) {
				t.Errorf("%s: %v, %v: %q gives %v, want %v", medium, err, wantErr, text, got.Elements, want.Elements)
			}
		}
		if err := figuresIn(d); err != nil {
			t.Error(err)
		}
	})
}

// figuresIn returns an error unless the figures are data in the CSV, and the CSV is inside the page.
func figuresIn(d *Document) error {
	figures, err := d.CSV()
	if err != nil {
		return err
	}
	page, err := d.HTML()
	if err != nil {
		return err
	}
	inside := regexp.MustCompile(`href="data:text/csv;base64,([^"]*)"`).FindSubmatch(page)
	if inside == nil {
		return fmt.Errorf("no link to figures in %s", page)
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(inside[1]), "&#43;", "+"))
	if err != nil || string(decoded) != string(figures) {
		return fmt.Errorf("the page links to %q: %w", decoded, err)
	}
	return judge.CSV(decoded, d.Figures)
}
