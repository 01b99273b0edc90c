package parse

import (
	"bytes"
	"slices"
)

// Document is the place of a JSON object or array in a text.
type Document struct {
	Start, End int
	// Complete is false if the text ends, or another document begins, before the document ends.
	Complete bool
	// Words are the first names and string values directly in the object; none for an array.
	Words []string
}

// maxWords limits the words of a document. An engine's own names are among the first.
const maxWords = 64

// Documents finds the JSON documents in a text. Tools print messages before, between and within the lines of
// their JSON, and scripts print text on the line on which a document begins.
func Documents(text []byte) []Document {
	s := scanner{text: text}
	for start := 0; start < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i
		}
		s.line(start, end)
		start = end + 1
	}
	if s.depth > 0 {
		s.finish(len(text), false)
	}
	return s.found
}

// scanner follows the braces and the strings of a text.
type scanner struct {
	text   []byte
	found  []Document
	open   Document // the document that is being read, if depth is above 0
	depth  int
	object bool // whether the open document is an object
}

func (s *scanner) line(start, end int) {
	line := s.text[start:end]
	if s.depth > 0 && string(bytes.TrimRight(line, " \r")) == "{" { // Within a document, braces are indented.
		s.finish(start, false)
	}
	if s.depth > 0 && IsMessage(line) {
		return
	}
	for start < end {
		if s.depth == 0 {
			i := beginning(s.text[start:end])
			if i < 0 {
				return
			}
			start += i
			s.open, s.object = Document{Start: start}, s.text[start] == '{'
		}
		start = s.read(start, end)
	}
}

// read reads the open document up to its end, or to the end of the line. It returns where it stopped.
func (s *scanner) read(start, end int) int {
	for i := start; i < end; i++ {
		switch s.text[i] {
		case '"': // A string of JSON ends on its line.
			behind := stringEnd(s.text[i+1 : end])
			if s.depth == 1 && s.object && len(s.open.Words) < maxWords {
				s.open.Words = append(s.open.Words, string(s.text[i+1:i+1+behind]))
			}
			i += behind + 1
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth == 0 {
				s.finish(i+1, true)
				return i + 1
			}
		}
	}
	return end
}

func (s *scanner) finish(end int, complete bool) {
	s.open.End, s.open.Complete, s.depth = end, complete, 0
	s.found = append(s.found, s.open)
}

// stringEnd returns the length of a string, without its quotation mark, or of the whole text.
func stringEnd(text []byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(text)
}

// beginning returns the offset at which a document begins in a line; -1 for none. A brace begins a document if
// a name follows it, or nothing. Prompts and progress lines have brackets, too.
func beginning(line []byte) int {
	for i, c := range line {
		rest := bytes.TrimLeft(line[min(i+1, len(line)):], " \t\r")
		switch {
		case c == '{' && (len(rest) == 0 || rest[0] == '"' || rest[0] == '}'):
			return i
		case c == '[' && len(rest) == 0 && len(bytes.TrimSpace(line)) == 1:
			return i
		case c == '[' && len(rest) > 0 && (rest[0] == '{' || rest[0] == '[') && len(bytes.TrimSpace(line[:i])) == 0:
			return i
		}
	}
	return -1
}

// IsMessage reports whether a line within a document is a message, and not JSON.
func IsMessage(line []byte) bool {
	return len(line) > 0 && bytes.IndexByte([]byte(" \t{}[]\","), line[0]) < 0
}

// HasWord reports whether a document has one of the words.
func (d Document) HasWord(words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(d.Words, word) })
}
