package medium

import (
	"regexp"
	"strings"
)

// noSpace is a space without width. GitHub looks for mentions and links after it has removed escapes, and only
// another character prevents them.
const noSpace = "&#8203;"

var (
	// linked matches the places where GitHub would make a link of plain text: names of people, issues, and
	// addresses.
	linked = regexp.MustCompile(`@|://|(?i:www\.|mailto:|xmpp:|\bgh-)|#\d`)
	// block matches the begin of a heading, an item of a list or a definition, and a line that would be a rule
	// or underline a heading.
	block = regexp.MustCompile(`^(?:\d{1,9}[.)]|[-+:]|#{1,6})(?: |$)|^[-=][-= ]*$`)
	// ticks matches a row of backticks, which ends a block of code if it is long enough.
	ticks = regexp.MustCompile("`+")
)

// Markdown returns data as text of Markdown as on GitHub: in a paragraph, an item of a list, or a cell of a
// table. The text has no markup, and people and issues that it names get no mention.
func Markdown(data string) string {
	text := linked.ReplaceAllStringFunc(strings.TrimSpace(Line(data)), func(link string) string {
		return link[:1] + "\x00" + link[1:]
	})
	text = strings.NewReplacer(
		`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`,
		"<", "&lt;", ">", "&gt;", "&", "&amp;", "|", "&#124;", "$", "&#36;", "\x00", noSpace,
	).Replace(text)
	if !block.MatchString(text) {
		return text
	}
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	return text[:digits] + `\` + text[digits:]
}

// MarkdownTable returns data as a table.
func MarkdownTable(header []string, rows [][]string) string {
	var out strings.Builder
	row := func(cells []string) {
		for _, c := range cells {
			out.WriteString("| " + Markdown(c) + " ")
		}
		out.WriteString("|\n")
	}
	row(header)
	out.WriteString(strings.Repeat("|---", len(header)) + "|\n")
	for _, r := range rows {
		row(r)
	}
	return out.String()
}

// MarkdownCode returns data as a block of code, with a fence that data cannot close.
func MarkdownCode(language, data string) string {
	fence := "```"
	for _, row := range ticks.FindAllString(data, -1) {
		if len(row) >= len(fence) {
			fence = row + "`"
		}
	}
	return fence + language + "\n" + strings.TrimRight(Lines(data), "\n") + "\n" + fence + "\n"
}
