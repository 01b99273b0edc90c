// Package medium writes data into text of a medium: lines for a terminal, HTML, Markdown and CSV. Data are all
// texts that come from a file, an archive, an object or Ceph, because a stranger may have written them. For
// each medium, one function makes data mean nothing but their characters. JSON and YAML need none: their
// encoders quote.
//
// In every medium, characters that cannot be seen appear as in JSON, such as \u001b: control characters
// (escape sequences begin with one), and characters without width or that change the direction of writing.
package medium

import (
	"fmt"
	"html"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"
)

// IsVisible reports whether a character is a mark on the page or a space. Tabs and ends of lines are not.
func IsVisible(r rune) bool { return unicode.IsGraphic(r) }

// Line returns data as one line of visible characters. Ends of lines and tabs become spaces.
func Line(data string) string {
	return visible(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(data), "")
}

// Lines returns data as visible characters, with their ends of lines and tabs. A text that is already
// visible is unchanged.
func Lines(data string) string { return visible(data, "\n\t") }

// visible replaces invalid UTF-8 by U+FFFD. It replaces each character that is neither visible nor among
// kept by its code, in the form of JSON. So JSON in which this happens keeps its meaning.
func visible(data, kept string) string {
	data = strings.ToValidUTF8(data, string(unicode.ReplacementChar))
	isHidden := func(r rune) bool { return !IsVisible(r) && !strings.ContainsRune(kept, r) }
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

// Format is fmt.Sprintf for a format in the language of a medium, and data as its arguments. It writes
// each argument that is a string or an error with the function of that medium, such as [Markdown].
func Format(as func(string) string, format string, args ...any) string {
	for i, arg := range args {
		if err, is := arg.(error); is && err != nil {
			args[i] = as(err.Error())
		} else if value := reflect.ValueOf(arg); value.Kind() == reflect.String {
			args[i] = as(value.String())
		}
	}
	return fmt.Sprintf(format, args...)
}
