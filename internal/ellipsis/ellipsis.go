// Package ellipsis shortens texts to the room in a field of the API or in a message.
//
// It is a package of its own, without imports of cephtune, because the runner, the controllers and
// the pure packages below them use it.
package ellipsis

import "strings"

// mark replaces the omitted text. Its length counts.
const mark = "…"

// Cut shortens a text at its end to at most the given number of bytes, which must be at least three.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	// The cut may be inside a character of several bytes. ToValidUTF8 removes its first part.
	return strings.ToValidUTF8(text[:most-len(mark)], "") + mark
}

// CutFront is like Cut, but shortens a text at its beginning. It suits a program's output, which has the
// error at its end.
func CutFront(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return mark + strings.ToValidUTF8(text[len(text)-most+len(mark):], "")
}
