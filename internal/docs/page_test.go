package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// page is a file of the documentation.
type page struct {
	path     string // below the checkout, with slashes
	headings []string
	anchors  map[string]bool // of headings, as GitHub generates them
	links    []string        // including those of images
	blocks   []block
	tables   []table
	html     []string
}

// block is a fenced block of code.
type block struct{ language, text string }

// table is a table with the heading above it.
type table struct {
	under string
	rows  [][]string // without the head
}

// root is the root folder of the checkout.
func root(t *testing.T) string {
	t.Helper()
	return apiserver.Root(t)
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// pages returns all pages by path: those in docs, and those at the top.
func pages(t *testing.T) map[string]*page {
	t.Helper()
	all := map[string]*page{}
	top, err := filepath.Glob(filepath.Join(root(t), "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range top {
		name := filepath.Base(file)
		all[name] = readPage(t, name)
	}
	err = fs.WalkDir(os.DirFS(root(t)), "docs", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".md") {
			all[path] = readPage(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("found %d pages only", len(all))
	}
	return all
}

func readPage(t *testing.T, path string) *page {
	t.Helper()
	source := []byte(read(t, path))
	p := &page{path: path, anchors: map[string]bool{}}
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	err := ast.Walk(parser.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			p.add(n, source)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// add records the content of a node.
func (p *page) add(n ast.Node, source []byte) {
	switch n := n.(type) {
	case *ast.Heading:
		title := plain(n, source)
		p.headings = append(p.headings, title)
		p.anchors[p.newAnchor(title)] = true
	case *ast.Link:
		p.links = append(p.links, string(n.Destination))
	case *ast.Image:
		p.links = append(p.links, string(n.Destination))
	case *ast.FencedCodeBlock:
		p.blocks = append(p.blocks, block{string(n.Language(source)), string(n.Lines().Value(source))})
	case *ast.HTMLBlock:
		p.html = append(p.html, string(n.Lines().Value(source)))
	case *ast.RawHTML:
		p.html = append(p.html, string(n.Segments.Value(source)))
	case *tables.Table:
		p.tables = append(p.tables, p.newTable(n, source))
	}
}

func (p *page) newTable(n *tables.Table, source []byte) table {
	made := table{}
	if len(p.headings) > 0 {
		made.under = p.headings[len(p.headings)-1]
	}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		if row.Kind() == tables.KindTableHeader {
			continue
		}
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, plain(cell, source))
		}
		made.rows = append(made.rows, cells)
	}
	return made
}

// newAnchor returns the anchor of a heading. The page may have another heading with the same name.
func (p *page) newAnchor(title string) string {
	base := anchor(title)
	name := base
	for i := 1; p.anchors[name]; i++ {
		name = base + "-" + strconv.Itoa(i)
	}
	return name
}

// anchor returns GitHub's anchor for a heading.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// plain returns the text of a node without markup.
func plain(n ast.Node, source []byte) string {
	var out strings.Builder
	// The walk fails only if its function does.
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if piece, ok := n.(*ast.Text); ok && entering {
			out.Write(piece.Segment.Value(source))
			if piece.SoftLineBreak() {
				out.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(out.String())
}

// words returns the words that the tables under a heading explain: the first column, up to a colon,
// split at commas.
func (p *page) words(t *testing.T, heading string) []string {
	t.Helper()
	var words []string
	for _, table := range p.tables {
		if table.under != heading {
			continue
		}
		for _, row := range table.rows {
			before, _, _ := strings.Cut(row[0], ":")
			words = append(words, strings.Split(before, ", ")...)
		}
	}
	if len(words) == 0 {
		t.Fatalf("%s has no table under %q", p.path, heading)
	}
	slices.Sort(words)
	return words
}

// section returns the text of a page between a heading and the next heading.
func section(t *testing.T, path, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(read(t, path), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no %q", path, heading)
	}
	before, _, _ := strings.Cut(after, "\n#")
	return before
}
