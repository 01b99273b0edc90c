// Package judge says, with a parser of each medium, whether data in a text of that medium have stayed data. It
// shares no code with package medium.
package judge

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	nethtml "golang.org/x/net/html"
)

// Hostile returns texts that try to be more than data in a terminal, in CSV, in Markdown, or in HTML.
func Hostile() []string {
	return []string{
		"", " ", "x", "-1.5", "+3%", "1e9", "a=b", "a b\tc",
		"\x1b[31mred\x1b[0m", "\x1b]0;title\a", "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "\x1b[2J\x1b[H", "\u009b31m", "\u009d0;t\u009c", "a\rb", "a\nerror: b",
		"a\r\n\r\nb", "\b\b\bx", "\x00", "\x7f", "\xff\xfe", "\xc3", "a\u0085b", "\u2028\u2029", "\u202egpj.exe", "\u2066a\u2069", "a\u200bb\u200d\ufeff", "\U000e0001\U000e0041", "e\u0301\u0301",
		"=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", " =1",
		"\u00a0=1", "＝1+1", "＋1", "－1", "＠x", "\"=1\"", "'=1", "a;=1", "a; \"=1\"", "a|=1", "-1.5;=2", "=cmd|' /C calc'!A0", "a\n=1", "a,=1",
		"<script>alert(1)</script>", "</pre></p><img src=x onerror=alert(1)>", "\" onmouseover=\"alert(1)", "' style='x", "<!-- ", "]]>", "&lt;b&gt;", "&amp;#64;", "&#64;user", "</title></svg><script>",
		"![x](http://evil.example/x.png)", "[x](javascript:alert(1))", "[x]: http://evil.example", "[x][x]", "<http://evil.example>", "http://evil.example", "www.evil.example",
		"a@evil.example", "mailto:a@evil.example",
		"@user", "(@org/team)", "#12", "owner/repo#12", "GH-12", "user/repo@0123456", "[^1]: x", "[^1]", "$x$", "$$\\ce{x}$$",
		"# heading", "#", "- item", "+ item", "* item", "1. item", "2) item", "---", "===", "- - -", "> quote", "    code", "~~~", "~~x~~", "**x**", "__x__", "_x_", "`x`", "``", "| a | b |",
		"|---|---|", "a | b", "a\\", "\\|", "\\\\|", "\\`", ": x", "- [ ] x",
		"```\n# out\n```", "````", "~~~~\nx", "```yaml", strings.Repeat("`", 100), strings.Repeat("x", 5000), strings.Repeat("(", 200) + strings.Repeat("[", 200),
	}
}

// Terminal returns an error if a text may do more to a terminal than print characters and start lines. The
// only escape sequences that it accepts are those given.
func Terminal(text string, sequences ...string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%.200q is no UTF-8", text)
	}
	for i, r := range text {
		isOurs := func(sequence string) bool { return strings.HasPrefix(text[i:], sequence) }
		if r == '\n' || slices.ContainsFunc(sequences, isOurs) {
			continue
		}
		if unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
			return fmt.Errorf("character %U, in %.200q", r, text[max(0, i-50):])
		}
	}
	return nil
}

// number matches a number to a spreadsheet.
var number = regexp.MustCompile(`^ *[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)? ?%? *$`)

// CSV returns an error if a text has not the given cells, or if a spreadsheet would take a cell for a formula,
// with a comma or with a semicolon between cells.
func CSV(text []byte, rows [][]string) error {
	got, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(got) != len(rows) {
		return fmt.Errorf("%d rows became %d: %w", len(rows), len(got), err)
	}
	for i, row := range rows {
		if len(got[i]) != len(row) {
			return fmt.Errorf("%d cells became %d", len(row), len(got[i]))
		}
		for n, data := range row {
			if err := csvCell(got[i][n], data); err != nil {
				return err
			}
		}
	}
	return semicolons(text)
}

// csvCell returns an error if a cell does not show its data, or if a spreadsheet would take it for a formula.
func csvCell(cell, data string) error {
	if err := Terminal(cell); err != nil {
		return err
	}
	if number.MatchString(data) && cell != data || Terminal(data) == nil && withoutMarks(cell) != withoutMarks(data) {
		return fmt.Errorf("%q became %q", data, cell)
	}
	if !number.MatchString(data) && isFormula(cell) {
		return fmt.Errorf("%q is the formula %q", data, cell)
	}
	return nil
}

// semicolons returns an error if a spreadsheet that separates cells at semicolons would find a formula.
func semicolons(text []byte) error {
	other := csv.NewReader(bytes.NewReader(text))
	other.Comma, other.LazyQuotes, other.FieldsPerRecord = ';', true, -1
	got, err := other.ReadAll()
	for _, cell := range slices.Concat(got...) {
		first, _, _ := strings.Cut(cell, ",")
		if isFormula(cell) && !number.MatchString(first) {
			return fmt.Errorf("%q is a formula where the separator is a semicolon", cell)
		}
	}
	return err
}

func withoutMarks(text string) string { return strings.NewReplacer("'", "", "\n", " ").Replace(text) }

// isFormula reports whether a spreadsheet may take a cell for a formula.
func isFormula(cell string) bool {
	cell = strings.TrimLeftFunc(cell, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
	return strings.ContainsFunc(firstOf(cell), func(r rune) bool { return strings.ContainsRune("=+-@＝＋－＠", r) })
}

func firstOf(text string) string {
	_, size := utf8.DecodeRuneInString(text)
	return text[:size]
}

// Page is what a browser makes of HTML.
type Page struct {
	// Elements has the name of each element, in their order.
	Elements []string
	// Text is all text, without that in code.
	Text string
	// Code is the text in code.
	Code string
}

// HTML parses a page as a browser does. It returns an error if the page can load, run or open anything, except
// its link to figures in CSV.
func HTML(page []byte) (Page, error) {
	root, err := nethtml.Parse(bytes.NewReader(page))
	if err != nil {
		return Page{}, err
	}
	found := Page{}
	var text, code strings.Builder
	for node := range root.Descendants() {
		switch node.Type {
		case nethtml.TextNode:
			target := &text
			if isIn(node, "pre") {
				target = &code
			}
			target.WriteString(node.Data)
		case nethtml.CommentNode:
			return found, fmt.Errorf("a comment: %q", node.Data)
		case nethtml.ElementNode:
			found.Elements = append(found.Elements, node.Data)
			if err := checkElement(node); err != nil {
				return found, err
			}
		default: // the document and its type
		}
	}
	found.Text, found.Code = text.String(), code.String()
	return found, nil
}

func isIn(node *nethtml.Node, element string) bool {
	for above := range node.Ancestors() {
		if above.Type == nethtml.ElementNode && above.Data == element {
			return true
		}
	}
	return false
}

func checkElement(node *nethtml.Node) error {
	if slices.Contains([]string{"script", "iframe", "object", "embed", "img", "image", "link", "base", "form", "input", "button", "video", "audio", "use", "foreignobject", "foreignObject"}, node.Data) {
		return fmt.Errorf("an element %s", node.Data)
	}
	for _, a := range node.Attr {
		switch {
		case strings.HasPrefix(a.Key, "on"), slices.Contains([]string{"src", "srcset", "srcdoc", "style", "action", "formaction", "background", "ping"}, a.Key):
			return fmt.Errorf("an attribute %s=%q of %s", a.Key, a.Val, node.Data)
		case a.Key == "href" && !strings.HasPrefix(a.Val, "data:text/csv;base64,"):
			return fmt.Errorf("a link to %q", a.Val)
		}
	}
	return nil
}

// linked matches text of which GitHub makes a link or a mention.
var linked = regexp.MustCompile(`@[A-Za-z0-9]|#[0-9]|(?i:\bgh-[0-9])|[a-z]://|(?i:\bwww\.)`)

// Markdown parses a text as GitHub does, and returns the page. It returns an error if the page has a link, an
// image, or text of which GitHub would make a link or a mention.
func Markdown(text []byte) (Page, error) {
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList),
		goldmark.WithRendererOptions(html.WithUnsafe()),
	)
	var page bytes.Buffer
	if err := markdown.Convert(text, &page); err != nil {
		return Page{}, err
	}
	found, err := HTML(page.Bytes())
	if err != nil {
		return found, err
	}
	if link := linked.FindString(found.Text); link != "" {
		return found, fmt.Errorf("a link or a mention: %q", link)
	}
	return found, nil
}
