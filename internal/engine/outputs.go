package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// Output is the output of one run within a file.
type Output struct {
	// Place is where the output is if a wrapper, such as a ConfigMap, has it in a string, or if it is that of one
	// of several pods; "" otherwise.
	Place string
	// Before is the number of lines before the output, in the file or in the string.
	Before int
	Text   []byte
	// Pods says that other pods wrote to the same log.
	Pods bool
}

// These limits bound the memory and the time for a file.
const (
	maxOutputs = 4096
	maxWrapped = 16 // levels of wrappers and of their objects
)

// Outputs finds the outputs of all runs in a file, whatever is around them: prefixes of logs, objects of
// Kubernetes, arrays of JSON, messages. A file without any is one output, whose parser says what is wrong with it.
func Outputs(file []byte) []Output {
	f := finder{}
	texts := plain(file)
	for _, t := range texts {
		before := len(f.found)
		f.text(t.text, t.name, 0, 0)
		for i := before; i < len(f.found); i++ {
			f.found[i].Pods = len(texts) > 1
		}
	}
	return f.found
}

// Parts parses an output and returns its parts. [parse.Format] describes the errors.
func (o Output) Parts(options Options) ([]Part, error) {
	if len(bytes.TrimSpace(o.Text)) == 0 {
		return nil, &IncompleteError{Reason: parse.Truncated, Detail: "the output is empty"}
	}
	format, ok := Detect(o.Text)
	if !ok {
		return nil, unknown(o.Text)
	}
	if format.Parts == nil {
		if options.Job != "" {
			return nil, &NoJobError{Job: options.Job, Found: string(format.Tool) + ", which has no jobs"}
		}
		res, err := format.Parse(bytes.NewReader(o.Text), options)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", format.Name, o.explain(err))
		}
		return []Part{{Result: res}}, nil
	}
	parts, err := format.Parts(bytes.NewReader(o.Text), options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", format.Name, o.explain(err))
	}
	return parts, nil
}

// explain names the fault of an output whose line breaks were lost, as in some web forms: it only seems to be cut.
func (o Output) explain(err error) error {
	const longest = 400 // No line of plain output is longer.
	text := bytes.TrimSpace(o.Text)
	if incomplete, ok := errors.AsType[*IncompleteError](err); ok && incomplete.Reason == parse.Truncated &&
		len(text) > longest && bytes.IndexByte(text, '\n') < 0 && len(parse.Documents(text)) == 0 {
		return &SyntaxError{Line: 1, Want: "the lines of an output", Found: "one line of all, without line breaks: copy the output again"}
	}
	return err
}

// finder gathers outputs.
type finder struct{ found []Output }

// text finds the outputs in a text that begins behind the given number of lines of its place.
func (f *finder) text(text []byte, place string, before, depth int) {
	if depth < maxWrapped && f.wrapped(text, place, before, depth) {
		return
	}
	begins := append(starts(text), len(text))
	for i, start := range begins[:len(begins)-1] {
		if len(f.found) == maxOutputs {
			return
		}
		run := text[start:begins[i+1]]
		if trimmed := bytes.TrimRight(run, " \t\r\n"); bytes.HasSuffix(trimmed, []byte(",")) { // An array follows.
			run = trimmed[:len(trimmed)-1]
		}
		f.found = append(f.found, Output{Place: place, Before: before, Text: run})
		before += lines(text[start:begins[i+1]])
	}
}

func lines(text []byte) int { return bytes.Count(text, []byte("\n")) }

// starts returns where the runs of a text begin. Lines before the first belong to it. A script may have called
// several tools, but a tool has one format: fio prints plain lines around its JSON.
func starts(text []byte) []int {
	var all []int
	var tools []result.Tool
	for _, format := range Formats() {
		if format.Split == nil || slices.Contains(tools, format.Tool) || !format.Detect(text) {
			continue
		}
		tools = append(tools, format.Tool)
		all = append(all, format.Split(text)...)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return []int{0}
	}
	all[0] = 0
	return all
}

// wrapped finds the outputs in the objects of a text. It returns false if none of the objects is a wrapper.
func (f *finder) wrapped(text []byte, place string, before, depth int) bool {
	known := len(f.found)
	if isYAML(text) {
		f.yaml(text, place, depth)
		return len(f.found) > known
	}
	documents := parse.Documents(text)
	if !slices.ContainsFunc(documents, func(d parse.Document) bool { return !isReport(d) }) {
		return false
	}
	for _, d := range documents {
		f.value(text[d.Start:d.End], place, before+lines(text[:d.Start]), depth+1)
	}
	return len(f.found) > known
}

// isReport reports whether an object is the report of a run. Each engine's format knows it by its words.
func isReport(d parse.Document) bool {
	return slices.ContainsFunc(Formats(), func(format Format) bool { return d.HasWord(format.Words...) })
}

// value finds the outputs in a value of JSON that begins behind the given number of lines of its place.
func (f *finder) value(raw []byte, place string, before, depth int) {
	if reported(raw) {
		f.text(raw, place, before, maxWrapped)
		return
	}
	decoder := parse.NewJSONDecoder(raw)
	open, err := decoder.ReadToken()
	if err != nil || depth >= maxWrapped || len(f.found) == maxOutputs {
		return
	}
	switch byte(open.Kind()) {
	case '"':
		f.string(open.String(), place, depth)
	case '[':
		f.array(decoder, raw, place, before, depth)
	case '{':
		for decoder.PeekKind() == '"' {
			name, err := decoder.ReadToken()
			if err != nil {
				return
			}
			inner := strings.TrimPrefix(place+"."+name.String(), ".")
			value, err := decoder.ReadValue()
			if err != nil {
				return
			}
			start := int(decoder.InputOffset()) - len(value)
			f.member(value, place, inner, before+lines(raw[:start]), depth+1)
		}
	}
}

func reported(raw []byte) bool {
	documents := parse.Documents(raw)
	return len(documents) == 1 && isReport(documents[0])
}

// array finds the outputs in the elements of an array. Reports that follow each other may be reports of one run, and
// strings that follow each other may be its lines, as in the member stdout_lines of Ansible.
func (f *finder) array(decoder *jsontext.Decoder, raw []byte, place string, before, depth int) {
	first, end := -1, 0
	var texts bytes.Buffer
	flush := func() {
		if first >= 0 {
			f.text(raw[first:end], place, before+lines(raw[:first]), maxWrapped)
		}
		if texts.Len() > 0 {
			f.string(texts.String(), place, depth)
		}
		first = -1
		texts.Reset()
	}
	for i := 0; decoder.PeekKind() != ']'; i++ {
		value, err := decoder.ReadValue()
		if err != nil {
			break
		}
		start := int(decoder.InputOffset()) - len(value)
		if reported(value) {
			if first < 0 {
				first = start
			}
			end = start + len(value)
			continue
		}
		var line string
		if value.Kind() == '"' && json.Unmarshal(value, &line) == nil && !bytes.ContainsAny([]byte(line), "\n{") {
			texts.WriteString(line + "\n")
			continue
		}
		flush()
		f.member(value, place, place+"["+strconv.Itoa(i)+"]", before+lines(raw[:start]), depth+1)
	}
	flush()
}

// member finds the outputs in a member of an object or an array. Only a string needs the name of its place: the
// lines of other values are lines of the file.
func (f *finder) member(value jsontext.Value, place, inner string, before, depth int) {
	switch {
	case value.Kind() == '"':
		f.value(value, inner, 0, depth)
	case value.Kind() == '{' || value.Kind() == '[':
		known := len(f.found)
		f.value(value, inner, before, depth)
		for i := known; i < len(f.found); i++ {
			if f.found[i].Place == inner { // Not in a string.
				f.found[i].Place = place
			}
		}
	}
}

// string finds the outputs in a string of a wrapper. Other strings, such as a job file, have none.
func (f *finder) string(text, place string, depth int) {
	if !strings.ContainsAny(text, "\n{") {
		return
	}
	for _, t := range plain([]byte(text)) {
		if _, ok := Detect(t.text); ok {
			f.text(t.text, place+t.name, 0, depth)
		}
	}
}

// isYAML reports whether a text is YAML of Kubernetes, or a report of fio that a script converted to YAML.
func isYAML(text []byte) bool {
	return bytes.Contains(head(text), []byte("apiVersion:")) && bytes.Contains(text, []byte("kind:")) ||
		bytes.HasPrefix(text, []byte("fio version: ")) || bytes.Contains(text, []byte("\nfio version: "))
}

func head(text []byte) []byte { return text[:min(len(text), parse.HeadBytes)] }

// yaml finds the outputs in YAML, such as ConfigMaps of Kubernetes.
func (f *finder) yaml(text []byte, place string, depth int) {
	for i, object := range bytes.Split(text, []byte("\n---")) {
		raw, err := yaml.YAMLToJSON(object)
		if err != nil || len(f.found) == maxOutputs {
			return
		}
		if i > 0 {
			place = "[" + strconv.Itoa(i) + "]"
		}
		f.value(raw, place, 0, depth+1)
	}
}
