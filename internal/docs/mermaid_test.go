package docs_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestDiagramsParse checks diagrams, because GitHub shows an error instead of an invalid one. There
// is no parser of Mermaid in Go. So this test knows the part of Mermaid that our pages use, and
// refuses everything else.
func TestDiagramsParse(t *testing.T) {
	found := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language != "mermaid" {
				continue
			}
			found++
			if err := parseDiagram(b.text); err != nil {
				t.Errorf("%s: %v", p.path, err)
			}
		}
	}
	if found == 0 {
		t.Error("no page has a diagram")
	}
}

func TestDiagramsThatDoNotParse(t *testing.T) {
	for name, text := range map[string]string{
		"no kind":                    "a --> b",
		"a kind that GitHub has not": "flow LR\na --> b",
		"half an arrow":              "flowchart LR\na -> b",
		"a node that stays open":     "flowchart LR\na[one --> b",
		"a label that stays open":    "flowchart LR\na -- \"one --> b",
		"brackets in a label":        "flowchart LR\na[one (two)] --> b",
		"a subgraph that stays open": "flowchart LR\nsubgraph s [S]\na --> b",
		"an end of nothing":          "flowchart LR\na --> b\nend",
		"the node end":               "flowchart LR\na --> end",
		"a message without a text":   "sequenceDiagram\nparticipant A\nA->>A",
		"somebody who is not there":  "sequenceDiagram\nparticipant A\nA->>B: hello",
		"a text that is cut":         "sequenceDiagram\nparticipant A\nA->>A: one; two",
	} {
		if parseDiagram(text) == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func parseDiagram(text string) error {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	switch first := strings.TrimSpace(lines[0]); {
	case regexp.MustCompile(`^flowchart (TB|TD|LR|RL|BT)$`).MatchString(first):
		return parseFlowchart(lines[1:])
	case first == "sequenceDiagram":
		return parseSequence(lines[1:])
	default:
		return fmt.Errorf("%q begins no diagram that this test knows", first)
	}
}

// These are the parts of a flowchart. In a label without quotes, brackets would end the node.
const (
	label    = `("[^"]*"|[^][(){}"|]+)`
	node     = `[A-Za-z][A-Za-z0-9_]*(\[` + label + `\]|\(\[` + label + `\]\)|\[\(` + label + `\)\]|\{\{` + label + `\}\}|\(` + label + `\))?`
	nodes    = node + `( & ` + node + `)*`
	edgeText = `("[^"]*"|[A-Za-z/ ]+)`
	edge     = `(<?-->|~~~|-\.->|-- ` + edgeText + ` -->|-\. ` + edgeText + ` \.->)`
)

func parseFlowchart(lines []string) error {
	known := regexp.MustCompile(`^(direction (TB|TD|LR|RL|BT)|` + nodes + `( ` + edge + ` ` + nodes + `)*)$`)
	reserved := regexp.MustCompile(`(^|[ &])end($|[ &[({])`)
	depth := 0
	for _, line := range lines {
		line = strings.TrimSpace(line)
		switch {
		case regexp.MustCompile(`^subgraph [A-Za-z0-9_]+( \[[^][(){}"]+\])?$`).MatchString(line):
			depth++
		case line == "end":
			if depth--; depth < 0 {
				return fmt.Errorf("%q ends nothing", line)
			}
		case !known.MatchString(line) || reserved.MatchString(regexp.MustCompile(`"[^"]*"|\[[^]]*\]`).ReplaceAllString(line, "")):
			return fmt.Errorf("a line that this test does not know: %s", line)
		}
	}
	if depth > 0 {
		return fmt.Errorf("%d subgraphs stay open", depth)
	}
	return nil
}

func parseSequence(lines []string) error {
	participant := regexp.MustCompile(`^participant ([A-Za-z]+)( as [^;#]+)?$`)
	message := regexp.MustCompile(`^([A-Za-z]+)(->>|-->>)([A-Za-z]+): [^;#]+$`)
	there := map[string]bool{}
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if parts := participant.FindStringSubmatch(line); parts != nil {
			there[parts[1]] = true
			continue
		}
		parts := message.FindStringSubmatch(line)
		if parts == nil || !there[parts[1]] || !there[parts[3]] {
			return fmt.Errorf("a line that this test does not know, or somebody who is no participant: %s", line)
		}
	}
	return nil
}
