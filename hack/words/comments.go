package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// directive matches comments for tools: //go:embed, //nolint, //+kubebuilder.
var directive = regexp.MustCompile(`^//(?:[a-z]+:|nolint\b| ?\+\w)`)

// ofComments counts the comment lines of a file, and those with a marker. A marker that a line break
// divides counts for its first line. A line with several markers counts once.
func ofComments(path string, source []byte) (count, error) {
	fileSet := token.NewFileSet()
	file, err := parser.ParseFile(fileSet, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return count{}, err
	}
	c := count{name: path}
	for _, group := range file.Comments {
		lines, first := linesOf(group), fileSet.Position(group.Pos()).Line
		text := strings.Join(lines, "\n")
		for _, line := range lines {
			if strings.TrimSpace(line) != "" {
				c.units++
			}
		}
		last := -1
		for _, at := range find(text) {
			marker := text[at[0]:at[1]]
			start := at[0] + strings.Index(marker, strings.TrimLeft(marker, ".:;?! \n"))
			line := strings.Count(text[:start], "\n")
			if line == last {
				continue
			}
			last = line
			c.marked = append(c.marked, place{path, first + line, plain(marker), strings.TrimSpace(lines[line])})
		}
	}
	return c, nil
}

// linesOf returns the lines of a comment group, without slashes and stars. A directive becomes an empty
// line.
func linesOf(group *ast.CommentGroup) []string {
	var lines []string
	for _, comment := range group.List {
		if directive.MatchString(comment.Text) {
			lines = append(lines, "")
			continue
		}
		text := strings.TrimSuffix(strings.TrimPrefix(comment.Text, "/*"), "*/")
		for line := range strings.SplitSeq(strings.TrimPrefix(text, "//"), "\n") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
