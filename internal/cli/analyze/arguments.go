package analyze

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cephtune/cephtune/internal/cli/exit"
)

// SpreadLists repeats --baseline and --candidate before each further value. A shell expands
// "--candidate new-*.txt" to several arguments; without the repetition, only the first would belong to
// the flag.
func SpreadLists(args []string) []string {
	var out []string
	list := ""
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, _, hasValue := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return append(out, args[i:]...)
		case name == "--baseline" || name == "--candidate":
			list = name
			out = append(out, arg)
			if !hasValue && i+1 < len(args) {
				i++
				out = append(out, args[i])
			}
		case list != "" && !strings.HasPrefix(arg, "-"):
			out = append(out, list+"="+arg)
		default:
			list = ""
			out = append(out, arg)
		}
	}
	return out
}

// group is the baseline or a candidate from the command line: its files and its name.
type group struct {
	name  string
	files []string
}

// groups gathers the names and the files of the candidates in the order in which they are given, by
// --candidate-name and --candidate or by positional arguments. If a name is the first, each name comes before
// its files, otherwise after them.
type groups struct {
	words []word
}

type word struct {
	isName bool
	text   string
}

// filesValue and nameValue implement pflag.Value for --candidate and --candidate-name.
type (
	filesValue struct{ *groups }
	nameValue  struct{ *groups }
)

var (
	_ pflag.Value = filesValue{}
	_ pflag.Value = nameValue{}
)

func (v filesValue) Set(s string) error {
	for file := range strings.SplitSeq(s, ",") {
		if file == "" {
			return errors.New("a file name is empty")
		}
		v.words = append(v.words, word{text: file})
	}
	return nil
}

func (filesValue) Type() string { return "FILE" }

func (filesValue) String() string { return "" }

func (v nameValue) Set(s string) error {
	if s == "" {
		return errors.New("the name is empty")
	}
	v.words = append(v.words, word{isName: true, text: s})
	return nil
}

func (nameValue) Type() string { return "NAME" }

func (nameValue) String() string { return "" }

// list returns the candidates in the order in which they were given.
func (g *groups) list() ([]group, error) {
	var out []group
	var unnamed []string // files whose name follows
	for _, w := range g.words {
		namesFirst := g.words[0].isName
		switch {
		case w.isName && namesFirst:
			out = append(out, group{name: w.text})
		case w.isName:
			out, unnamed = append(out, group{name: w.text, files: unnamed}), nil
		case namesFirst:
			last := &out[len(out)-1]
			last.files = append(last.files, w.text)
		default:
			unnamed = append(unnamed, w.text)
		}
	}
	if len(unnamed) > 0 {
		out = append(out, group{files: unnamed})
	}
	return out, checkGroups(out)
}

func checkGroups(gs []group) error {
	seen := map[string]bool{}
	for i := range gs {
		c := &gs[i]
		switch {
		case len(c.files) == 0:
			return exit.UsageErrorf("--candidate-name %s has no --candidate files; give each name next to its files", c.name)
		case c.name == "" && len(gs) > 1:
			return exit.UsageErrorf("--candidate %s has no --candidate-name; with several candidates each needs one", c.files[0])
		case c.name == "":
			c.name = "candidate"
		}
		if seen[c.name] {
			return exit.UsageErrorf("--candidate-name %s is given twice; give all its files in one place", c.name)
		}
		seen[c.name] = true
	}
	return nil
}

// fraction is a share such as 20% or 0.2. Set refuses a bare 20, because it is ambiguous.
type fraction float64

func (f *fraction) Set(s string) error {
	number, isPercent := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("%q is not a share such as 20%% or 0.2", s)
	}
	if isPercent {
		x /= 100
	} else if x > 1 {
		return fmt.Errorf("%q is ambiguous; write %s%% or a fraction such as 0.2", s, s)
	}
	if x < 0 {
		return fmt.Errorf("%q is negative", s)
	}
	*f = fraction(x)
	return nil
}

func (*fraction) Type() string { return "SHARE" }

func (f *fraction) String() string {
	return strconv.FormatFloat(100*float64(*f), 'g', 6, 64) + "%"
}

// condition is the parsed value of one --where.
type condition struct{ column, value string }

func parseConditions(where []string) ([]condition, error) {
	var out []condition
	for _, w := range where {
		column, value, ok := strings.Cut(w, "=")
		if !ok || column == "" {
			return nil, exit.UsageErrorf("--where %q: want COLUMN=VALUE", w)
		}
		out = append(out, condition{column, value})
	}
	return out, nil
}
