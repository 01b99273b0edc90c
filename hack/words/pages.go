package main

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// end matches the end of a sentence. It also matches abbreviations such as "e.g. ", which the pages do not
// use.
var end = regexp.MustCompile(`[.?!][)"*_]*\s+`)

// ofPage counts the sentences of paragraphs, headings, list items and table cells, and those with a marker.
// Code blocks do not count.
func ofPage(path string, source []byte) count {
	c := count{name: path}
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table))
	document := markdown.Parser().Parse(text.NewReader(source))
	// The walk cannot fail, because its function returns no error.
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || !holdsText(n) {
			return ast.WalkContinue, nil
		}
		for _, sentence := range sentences(textOf(n, source)) {
			c.units++
			if found := find(sentence); len(found) > 0 {
				c.marked = append(c.marked, place{path, lineOf(n, source), plain(sentence[found[0][0]:found[0][1]]), plain(sentence)})
			}
		}
		return ast.WalkSkipChildren, nil
	})
	return c
}

func holdsText(n ast.Node) bool {
	switch n.Kind() {
	case ast.KindParagraph, ast.KindTextBlock, ast.KindHeading, tables.KindTableCell:
		return true
	}
	return false
}

// textOf returns the text of a block, with the word CODE instead of each code span.
func textOf(block ast.Node, source []byte) string {
	var words strings.Builder
	// The walk cannot fail, because its function returns no errors.
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			words.WriteString("CODE")
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			words.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				words.WriteByte('\n')
			}
		}
		return ast.WalkContinue, nil
	})
	return words.String()
}

func sentences(words string) []string {
	var found []string
	rest := words
	for at := end.FindStringIndex(rest); at != nil; at = end.FindStringIndex(rest) {
		found, rest = append(found, rest[:at[1]]), rest[at[1]:]
	}
	if strings.TrimSpace(rest) != "" {
		found = append(found, rest)
	}
	return found
}

// lineOf returns the line of a block's first text. Table cells have no line numbers of their own.
func lineOf(block ast.Node, source []byte) int {
	line := 1
	// The walk cannot fail, because its function returns no errors.
	_ = ast.Walk(block, func(n ast.Node, _ bool) (ast.WalkStatus, error) {
		first, ok := n.(*ast.Text)
		if !ok {
			return ast.WalkContinue, nil
		}
		line += bytes.Count(source[:first.Segment.Start], []byte("\n"))
		return ast.WalkStop, nil
	})
	return line
}
