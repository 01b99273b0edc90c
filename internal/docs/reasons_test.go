package docs_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/testing/constants"
)

// reasonPages have the entries about reasons: one for failures, one for all others.
var reasonPages = []string{"docs/failures.md", "docs/troubleshooting.md"}

// setters are the packages that set conditions.
var setters = []string{
	"controllers/cephbenchmark", "controllers/cephtuningsweep", "internal/clients/clientview", "internal/conclusion",
	"internal/history", "internal/reconcile", "internal/reconcile/kstatus", "internal/loadtarget", "internal/workload",
}

// TestReasonsAreExplained checks that each reason has an entry that says where to look and what to
// do, and that each entry has a reason.
func TestReasonsAreExplained(t *testing.T) {
	reasons := withPrefix(t, api, "Reason")
	var entries []string
	for _, page := range reasonPages {
		for _, match := range regexp.MustCompile(`(?m)^### ([A-Z]\w*)$`).FindAllStringSubmatch(read(t, page), -1) {
			entries = append(entries, match[1])
			entry := section(t, page, "### "+match[1])
			for _, part := range []string{"\n- **Look**: ", "\n- **Do**: "} {
				if !strings.Contains(entry, part) {
					t.Errorf("%s: the entry about %s has no %q", page, match[1], strings.TrimSpace(part))
				}
			}
		}
	}
	slices.Sort(entries)
	if diff := cmp.Diff(reasons, entries); diff != "" {
		t.Errorf("%v (-constants +entries):\n%s", reasonPages, diff)
	}
}

// TestReasonsAreSet checks that controllers set each reason. A reason that is never set needs
// neither an entry nor a constant.
func TestReasonsAreSet(t *testing.T) {
	set := map[string]bool{}
	for _, dir := range setters {
		for _, file := range sources(t, dir) {
			inspect(file, func(n ast.Node, parents []ast.Node) {
				selector, ok := n.(*ast.SelectorExpr)
				if ok && types.ExprString(selector.X) == "v1alpha1" && !isRead(parents) {
					set[selector.Sel.Name] = true
				}
			})
		}
	}
	for _, c := range constants.Of(t, sourcesOf(t, api)...) {
		isOne := strings.HasPrefix(c.Name, "Reason") || strings.HasPrefix(c.Name, "Condition")
		if isOne && !set[c.Name] {
			t.Errorf("nothing in %s sets v1alpha1.%s: remove it, with its entry", strings.Join(setters, ", "), c.Name)
		}
	}
}

// isRead reports whether an expression with these parents is compared, not set.
func isRead(parents []ast.Node) bool {
	switch parent := parents[len(parents)-1].(type) {
	case *ast.BinaryExpr:
		return parent.Op == token.EQL || parent.Op == token.NEQ
	case *ast.CaseClause:
		return true
	case *ast.CallExpr:
		reads := []string{"isTrue", "meta.IsStatusConditionTrue", "meta.FindStatusCondition", "meta.RemoveStatusCondition"}
		return slices.Contains(reads, types.ExprString(parent.Fun))
	}
	return false
}

// passedOn are expressions that pass on a reason that was set elsewhere, and where that is.
var passedOn = map[string]string{
	"reason":                   "an argument of waiting or fail, or what podsWaiting and jobFailure say",
	"p.Outcome.Reason":         "a plan",
	"o.Reason":                 "an outcome",
	"late.Reason":              "the deadline of a plan",
	"e.Reason":                 "the event of a run, from internal/conclusion",
	"failing.Reason":           "a condition",
	"failed.Reason":            "a condition",
	"complete.Reason":          "a condition",
	"ready.Reason":             "a condition",
	"first.Code":               "internal/quiescence, whose words docs/disturbances.md explains",
	"obstacles[hopeless].Code": "internal/quiescence, whose words docs/disturbances.md explains",
	"string(e.Code)":           "internal/design/sweep, whose words are among the events",
}

// messages returns the expressions that the controllers use as reasons of outcomes, obstacles, events
// and plans.
func messages(t *testing.T) []ast.Expr {
	t.Helper()
	var found []ast.Expr
	for _, dir := range setters {
		for _, file := range sources(t, dir) {
			inspect(file, func(n ast.Node, _ []ast.Node) {
				switch n := n.(type) {
				case *ast.CompositeLit:
					found = append(found, reasonIn(n)...)
				case *ast.CallExpr:
					if slices.Contains([]string{"fail", "waiting", "reconcile.Warning", "reconcile.Normal"}, types.ExprString(n.Fun)) {
						found = append(found, n.Args[0])
					}
				}
			})
		}
	}
	return found
}

// reasonIn returns the reason in a literal of a type that has one.
func reasonIn(made *ast.CompositeLit) []ast.Expr {
	if made.Type == nil {
		return nil
	}
	switch types.ExprString(made.Type) {
	case "Outcome", "kstatus.Outcome", "metav1.Condition", "quiescence.Obstacle":
		for _, element := range made.Elts {
			pair, ok := element.(*ast.KeyValueExpr)
			if ok && slices.Contains([]string{"Reason", "Code"}, types.ExprString(pair.Key)) {
				return []ast.Expr{pair.Value}
			}
		}
	}
	return nil
}

// TestReasonsAreConstants checks that each reason is a constant of the API, a word for an event, or
// passed on from elsewhere. No table would have another reason.
func TestReasonsAreConstants(t *testing.T) {
	found, used := messages(t), map[string]bool{}
	for _, expression := range found {
		text := types.ExprString(expression)
		used[text] = true
		_, isWord := literal(expression)
		if !isWord && !strings.HasPrefix(text, "v1alpha1.Reason") && passedOn[text] == "" {
			t.Errorf("where does the reason %s come from? Make it a constant of the API, or say it in passedOn", text)
		}
	}
	if len(found) < 60 {
		t.Errorf("found %d only: are outcomes made otherwise by now?", len(found))
	}
	for text := range passedOn {
		if !used[text] {
			t.Errorf("nothing is passed on as %s any more: remove it from passedOn", text)
		}
	}
}

// eventWords are the reasons of events that are not reasons of conditions.
func eventWords(t *testing.T) []string {
	t.Helper()
	words := ofType(t, "internal/design/sweep", "EventCode")
	for _, expression := range messages(t) {
		if word, isWord := literal(expression); isWord {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// obstacles returns the codes of conditions that prevent a measurement.
func obstacles(t *testing.T) []string {
	t.Helper()
	var codes []string
	for _, file := range sources(t, "internal/quiescence") {
		inspect(file, func(n ast.Node, _ []ast.Node) {
			switch n := n.(type) {
			case *ast.CallExpr:
				if name := types.ExprString(n.Fun); slices.Contains([]string{"waits", "stays", "surveyed"}, name) {
					if code, ok := literal(n.Args[0]); ok {
						codes = append(codes, code)
					}
				}
			case *ast.KeyValueExpr:
				if code, ok := literal(n.Value); ok && types.ExprString(n.Key) == "Code" {
					codes = append(codes, code)
				}
			}
		})
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// inspect calls visit with each node and its parents, the innermost last.
func inspect(file *ast.File, visit func(n ast.Node, parents []ast.Node)) {
	var parents []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			parents = parents[:len(parents)-1]
			return true
		}
		if len(parents) > 0 {
			visit(n, parents)
		}
		parents = append(parents, n)
		return true
	})
}
