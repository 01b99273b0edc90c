package analyze

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpreadLists(t *testing.T) {
	for name, tc := range map[string]struct{ args, want string }{
		"what a shell makes of a pattern": {
			"analyze --baseline a b --candidate c d -o json",
			"analyze --baseline a --baseline=b --candidate c --candidate=d -o json",
		},
		"with equals signs":             {"--baseline=a b --candidate=c", "--baseline=a --baseline=b --candidate=c"},
		"other flags keep their values": {"--metric iops x --plot y z", "--metric iops x --plot y z"},
		"a flag without a value before": {"--paired --baseline a b --candidate c d", "--paired --baseline a --baseline=b --candidate c --candidate=d"},
		"nothing behind the last flag":  {"--candidate", "--candidate"},
		"the end of flags":              {"--baseline a -- b", "--baseline a -- b"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(SpreadLists(strings.Fields(tc.args)), " ")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCandidatesKeepTheirOrder(t *testing.T) {
	want := []group{{"A", []string{"a1", "a2", "a3"}}, {"B", []string{"b1"}}}
	for name, words := range map[string][]string{
		"names first": {"name=A", "a1,a2", "a3", "name=B", "b1"},
		"names last":  {"a1", "a2,a3", "name=A", "b1", "name=B"},
	} {
		t.Run(name, func(t *testing.T) {
			var g groups
			for _, w := range words {
				var err error
				if n, ok := strings.CutPrefix(w, "name="); ok {
					err = nameValue{&g}.Set(n)
				} else {
					err = filesValue{&g}.Set(w)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			got, err := g.list()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(group{})); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
}
