package engine

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"slices"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/cephtune/cephtune/internal/engine/parse"
)

// decoded returns a file without compression, without the marks of an encoding, and with line feeds at the ends of
// lines. It also undoes what scripts and web pages do to quotation marks.
func decoded(file []byte) []byte {
	file = utf8Text(unzipped(file))
	file = bytes.ReplaceAll(file, []byte("\r\n"), []byte("\n"))
	if bytes.IndexByte(file, '\n') < 0 {
		file = bytes.ReplaceAll(file, []byte("\r"), []byte("\n"))
	}
	if bytes.Contains(file, []byte("&quot;")) || bytes.Contains(file, []byte("&#34;")) || bytes.Contains(file, []byte("&lt;")) {
		file = []byte(html.UnescapeString(string(file)))
	}
	return fromPython(unescaped(file))
}

// unzipped returns what gzip compressed, up to the longest document that parsers read. It returns any other file,
// and a damaged one, as it is.
func unzipped(file []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return file
	}
	text, err := io.ReadAll(io.LimitReader(r, parse.MaxDocument+1))
	if err != nil {
		return file
	}
	return text
}

// utf8Text converts UTF-16, which PowerShell writes, with or without a byte order mark.
func utf8Text(file []byte) []byte {
	decoder := unicode.BOMOverride(encoding.Nop.NewDecoder())
	if begin := file[:min(len(file), 512)]; len(begin) >= 8 && 3*bytes.Count(begin, []byte{0}) > len(begin) {
		switch {
		case begin[0] == 0 && begin[1] != 0:
			decoder = unicode.BOMOverride(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder())
		case begin[0] != 0 && begin[1] == 0 && begin[2] != 0:
			decoder = unicode.BOMOverride(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder())
		}
	}
	text, _, err := transform.Bytes(decoder, file)
	if err != nil {
		return file
	}
	return text
}

// unescaped returns a text that a script printed as one string, such as "{\n \"fio version\" …" or b'{\n …', with
// its lines.
func unescaped(text []byte) []byte {
	trimmed := bytes.TrimSpace(text)
	var one string
	if bytes.HasPrefix(trimmed, []byte(`"`)) && json.Unmarshal(trimmed, &one) == nil {
		return []byte(one)
	}
	const fewest = 5 // Fewer may be part of a message.
	if n := bytes.Count(text, []byte(`\n`)); n < fewest || n < bytes.Count(text, []byte("\n")) || len(parse.Documents(text)) > 0 {
		return text
	}
	return []byte(strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "", `\t`, "\t", `\"`, `"`, `\'`, `'`).Replace(string(text)))
}

// fromPython converts reports of runs that Python printed as dictionaries, with single quotation marks, to JSON.
func fromPython(text []byte) []byte {
	isPrinted := func(format Format) bool {
		return slices.ContainsFunc(format.Words, func(word string) bool { return bytes.Contains(text, []byte("'"+word+"'")) })
	}
	if !slices.ContainsFunc(Formats(), isPrinted) {
		return text
	}
	p := python{text: text, words: strings.NewReplacer(
		"True", "true", "False", "false", "None", "null", "nan", "null", "inf", "null", "(", "[", ")", "]",
	)}
	for p.offset < len(text) {
		// Only a brace looks ahead: otherwise a file of spaces would take quadratic time.
		if text[p.offset] == '{' && bytes.HasPrefix(bytes.TrimLeft(text[p.offset+1:], " \t\n"), []byte("'")) {
			p.dictionary()
			continue
		}
		p.out.WriteByte(text[p.offset])
		p.offset++
	}
	return p.out.Bytes()
}

// python converts dictionaries of Python to JSON. It keeps line feeds, so that numbers of lines stay.
type python struct {
	text   []byte
	words  *strings.Replacer // replaces what is not in a string
	offset int
	out    bytes.Buffer
}

// dictionary converts the dictionary at p.offset, with all that is in it.
func (p *python) dictionary() {
	depth, plain := 0, p.offset // plain is where the text after the last string begins
	flush := func() { _, _ = p.words.WriteString(&p.out, string(p.text[plain:p.offset])) }
	for p.offset < len(p.text) {
		switch c := p.text[p.offset]; c {
		case '\'', '"':
			flush()
			p.quoted(c)
			plain = p.offset
			continue
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			depth--
		}
		p.offset++
		if depth == 0 {
			break
		}
	}
	flush()
}

// quoted converts the string at p.offset, which ends with the same quotation mark.
func (p *python) quoted(mark byte) {
	p.out.WriteByte('"')
	for p.offset++; p.offset < len(p.text) && p.text[p.offset] != mark && p.text[p.offset] != '\n'; p.offset++ {
		switch c := p.text[p.offset]; {
		case c == '\\' && p.offset+1 < len(p.text):
			p.offset++
			switch next := p.text[p.offset]; next {
			case '\'':
				p.out.WriteByte('\'')
			case 'x':
				p.out.WriteString(`\u00`)
			default:
				p.out.Write([]byte{'\\', next})
			}
		case c == '"':
			p.out.WriteString(`\"`)
		default:
			p.out.WriteByte(c)
		}
	}
	p.out.WriteByte('"')
	if p.offset < len(p.text) && p.text[p.offset] == mark {
		p.offset++
	}
}
