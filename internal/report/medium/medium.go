// Package medium writes data into text of a medium: lines for a terminal, HTML, Markdown and CSV. Data are all
// texts that come from a file, an archive, an object or Ceph, because a stranger may have written them. For
// each medium, one function makes data mean nothing but their characters. JSON needs none: its
// encoder quotes.
//
// In every medium, characters that cannot be seen appear as in JSON, such as \u001b: control characters
// (escape sequences begin with one), and characters without width or that change the direction of writing.
package medium

import (
	"encoding/json"
	"fmt"
	"html"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"

	"sigs.k8s.io/yaml"
)

// Line returns data as one line of visible characters. Ends of lines and tabs become spaces.
func Line(data string) string {
	return visible(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(data), func(rune) bool { return false })
}

// Lines returns data as visible characters, with their ends of lines and tabs. A text that is already
// visible is unchanged.
func Lines(data string) string {
	return visible(data, func(r rune) bool { return r == '\n' || r == '\t' })
}

// visible replaces invalid UTF-8 by U+FFFD. It replaces each character that is neither visible nor kept by
// its code, in the form of JSON. So JSON in which this happens keeps its meaning.
func visible(data string, kept func(rune) bool) string {
	data = strings.ToValidUTF8(data, string(unicode.ReplacementChar))
	isHidden := func(r rune) bool { return !unicode.IsGraphic(r) && !kept(r) }
	if !strings.ContainsFunc(data, isHidden) {
		return data
	}
	var out strings.Builder
	for _, r := range data {
		if !isHidden(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

// HTML returns data as text of an HTML page or an SVG picture, or as the value of an attribute in quotes.
func HTML(data string) string { return html.EscapeString(Line(data)) }

// YAML returns a value as YAML, in the form of its JSON. Unlike yaml.Marshal, it accepts all characters.
func YAML(value any) ([]byte, error) {
	document, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	const inPairs = 0x10000 // In JSON, these characters have two codes, which YAML does not understand.
	return yaml.JSONToYAML([]byte(visible(string(document), func(r rune) bool { return r >= inPairs })))
}

// Format is fmt.Sprintf for a format in the language of a medium, and data as its arguments. It writes
// each argument that is a string or an error with the function of that medium, such as [Markdown].
func Format(as func(string) string, format string, args ...any) string {
	for i, arg := range args {
		if err, ok := arg.(error); ok && err != nil {
			args[i] = as(err.Error())
		} else if value := reflect.ValueOf(arg); value.Kind() == reflect.String {
			args[i] = as(value.String())
		}
	}
	return fmt.Sprintf(format, args...)
}
