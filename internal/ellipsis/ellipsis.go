// Package ellipsis shortens texts to what a field of the API or a message has room for.
//
// It depends on nothing, so that pure packages can use it.
package ellipsis

import "strings"

// mark stands for what was left out, and takes its part of the room.
const mark = "…"

// Cut shortens a text at its end to at most that many bytes, which are three or more.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	// A character of several bytes may be cut in two: what is left of it goes too.
	return strings.ToValidUTF8(text[:most-len(mark)], "") + mark
}

// CutFront shortens a text at its beginning, likewise: the error is at the end of a tool's
// output.
func CutFront(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return mark + strings.ToValidUTF8(text[len(text)-most+len(mark):], "")
}
