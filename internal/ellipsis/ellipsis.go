// Package ellipsis shortens texts to the room in a field of the API or in a message. It imports no package
// of cephtune, so that all packages can use it.
package ellipsis

import "strings"

// mark replaces the omitted text. Its three bytes count towards the limit.
const mark = "…"

// Cut shortens a text at its end. The last argument is the limit of its length in bytes, and must be at
// least three.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	// ToValidUTF8 removes the first part of a character that the cut has split.
	return strings.ToValidUTF8(text[:most-len(mark)], "") + mark
}

// CutFront is like Cut, but shortens a text at its beginning. It suits the output of programs, which print
// an error last.
func CutFront(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return mark + strings.ToValidUTF8(text[len(text)-most+len(mark):], "")
}
