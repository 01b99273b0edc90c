package pipeline

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/cephtune/cephtune/internal/report/medium"
)

// State says how a case ended.
type State int

// The states. Pipelines show a skipped case as a harmless one, and an error as red.
const (
	Passed State = iota
	Failed
	Error
	Skipped
)

// Case is what a pipeline counts as one test.
type Case struct {
	Name  string
	State State
	// Message says why, in one line. Text, which a case that has Passed does not need, says more.
	Message, Text string
}

type suite struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Cases    []testcase `xml:"testcase"`
}

type testcase struct {
	Name    string  `xml:"name,attr"`
	Class   string  `xml:"classname,attr"`
	Failure *reason `xml:"failure"`
	Error   *reason `xml:"error"`
	Skipped *reason `xml:"skipped"`
	Out     string  `xml:"system-out,omitempty"`
}

type reason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the cases of an object as JUnit XML, in the form that pipelines have from Ant.
func JUnit(w io.Writer, object string, cases []Case) error {
	s := suite{Name: medium.Line(object), Tests: len(cases)}
	for _, c := range cases {
		one, cause := testcase{Name: medium.Line(c.Name), Class: s.Name}, &reason{Message: medium.Line(c.Message), Text: medium.Lines(c.Text)}
		switch c.State {
		case Passed:
			one.Out = cause.Message
		case Failed:
			one.Failure = cause
			s.Failures++
		case Error:
			one.Error = cause
			s.Errors++
		case Skipped:
			one.Skipped = cause
			s.Skipped++
		}
		s.Cases = append(s.Cases, one)
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}
