package analyze

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/manifest"
	"github.com/cephtune/cephtune/internal/cli/results"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/cli/wholefile"
	"github.com/cephtune/cephtune/internal/figure"
	document "github.com/cephtune/cephtune/internal/report"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// replayed is an exported sweep whose sessions were judged again. It is also the JSON form.
type replayed struct {
	SchemaVersion int                            `json:"schemaVersion"`
	Source        string                         `json:"source"`
	Name          string                         `json:"name"`
	RunID         v1alpha1.RunID                 `json:"runID"`
	Verdict       v1alpha1.SweepVerdict          `json:"verdict,omitempty"`
	Scope         v1alpha1.SweepScope            `json:"scope,omitempty"`
	Summary       string                         `json:"summary,omitempty"`
	Candidates    []v1alpha1.ConfigurationResult `json:"configurations"`
	Sessions      []replayedSession              `json:"sessions"`
	// Agrees says that every kept session reproduces the figures of the ledger, and that the verdict
	// equals that in status. Before the completion time is set, the verdict is not compared.
	Agrees bool `json:"agrees"`
}

type replayedSession struct {
	Number int `json:"number"`
	// Validity is Valid, a mark, or the reason why the trial is invalid.
	Validity string                `json:"validity"`
	Windows  v1alpha1.TrialWindows `json:"windows,omitempty"`
	Why      string                `json:"why,omitempty"`
	// Evidence says whether the figures were computed from the session's measurements in the export: Kept if so,
	// otherwise Missing. Figures that were not computed come from the ledger.
	Evidence string `json:"evidence"`
	// Agrees is absent if Evidence is Missing.
	Agrees *bool   `json:"agrees,omitempty"`
	Ratios []ratio `json:"ratios,omitempty"`
}

type ratio struct {
	Configuration string  `json:"configuration"`
	Blocks        int     `json:"blocks"`
	Ratio         float64 `json:"ratio"`
	// PGain is the p-value of the randomisation test. Its null hypothesis is that there is no gain. It is 1 for
	// long windows.
	PGain float64 `json:"pGain"`
}

const (
	evidenceKept    = "Kept"
	evidenceMissing = "Missing"
)

// isExport reports whether a file looks like the export of a sweep: its first 64 KiB have YAML of cephtune and
// name the kind CephTuningSweep.
func isExport(path string) (bool, error) {
	data, err := wholefile.Head(path, headBytes)
	return isObject(data) && bytes.Contains(data, []byte("kind: CephTuningSweep")), err
}

// isObject reports whether data begin with objects of cephtune in YAML. No output of an engine does.
func isObject(data []byte) bool {
	return bytes.Contains(head(data), []byte("apiVersion:")) && bytes.Contains(head(data), []byte("kind: Ceph"))
}

const headBytes = 64 << 10

func head(data []byte) []byte { return data[:min(len(data), headBytes)] }

// replay judges the sessions of an exported sweep again.
func (o *options) replay(ctx context.Context, path string, w io.Writer) error {
	reader, main, err := manifest.Open(path, nil)
	if err != nil {
		return err
	}
	sweep, ok := main.(*v1alpha1.CephTuningSweep)
	if !ok || !sweepspec.HasWindows(sweep.Status.Plan) {
		return fmt.Errorf("%s: only a CephTuningSweep with the design Interleaved can be judged again from its export; for others, see kubectl cephtune report -f %s", path, path)
	}
	sessions, err := results.Sessions(ctx, reader, sweep)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	found, err := sweepspec.Replay(sweep, sessions)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	out := newReplayed(sweep, found)
	if err := terminal.Write(w, o.output, out, out.show); err != nil {
		return err
	}
	if !out.Agrees {
		return errors.New("the result differs from the sweep's status: the export was changed, or another version of cephtune wrote it")
	}
	candidates := slices.DeleteFunc(slices.Clone(out.Candidates), func(c v1alpha1.ConfigurationResult) bool { return c.Index == 0 })
	return checkVerdicts(o, candidates, func(c v1alpha1.ConfigurationResult) (string, string) { return c.Name, string(c.Verdict) })
}

func newReplayed(sweep *v1alpha1.CephTuningSweep, found *sweepspec.Replayed) *replayed {
	out := &replayed{
		SchemaVersion: schemaVersion, Source: "sessions", Name: sweep.Namespace + "/" + sweep.Name, RunID: sweep.Status.ObservedRunID,
		Verdict: found.Outcome.Verdict, Scope: found.Outcome.Scope, Summary: found.Outcome.Summary,
		Candidates: found.Outcome.Configurations, Sessions: []replayedSession{},
	}
	out.Agrees = sweep.Status.CompletionTime == nil || sweep.Status.Verdict == out.Verdict
	for _, s := range found.Sessions {
		one := replayedSession{Number: int(s.Trial.Number), Validity: s.Trial.Validity(), Windows: s.Trial.Windows, Why: s.Why, Evidence: evidenceMissing}
		if s.Kept {
			one.Evidence, one.Agrees = evidenceKept, new(s.Same)
			out.Agrees = out.Agrees && s.Same
		}
		for _, c := range s.Trial.Comparisons {
			one.Ratios = append(one.Ratios, newRatio(document.ConfigurationName(out.Candidates, int(c.Configuration)), c))
		}
		out.Sessions = append(out.Sessions, one)
	}
	return out
}

func newRatio(configuration string, c v1alpha1.TrialComparison) ratio {
	// A ratio that cannot be parsed would have failed the replay.
	value, _ := figure.ParseDecimal(c.Ratio)
	p := 1.0
	if c.Randomization != nil {
		p, _ = figure.ParseDecimal(c.Randomization.PGain)
	}
	return ratio{Configuration: configuration, Blocks: int(c.Blocks), Ratio: value, PGain: p}
}

func (r *replayed) show(p *terminal.Page) {
	p.Printf("%s, run ID %s: judged again from its stored sessions\n\n", r.Name, r.RunID)
	p.Table([]string{"TRIAL", "WINDOWS", "CONFIGURATION", "BLOCKS", "RATIO", "COUNTS", "EVIDENCE"}, r.sessionRows())
	p.WriteString("\n")
	p.Table([]string{"CONFIGURATION", "RATIO", "INTERVAL", "VERDICT"}, r.verdictRows())
	if r.Summary != "" {
		p.Printf("\n%s\n", r.Summary)
	}
}

func (r *replayed) sessionRows() [][]string {
	var rows [][]string
	for _, s := range r.Sessions {
		evidence := "missing: figures of the ledger"
		if s.Agrees != nil {
			evidence = "agrees with the ledger"
			if !*s.Agrees {
				evidence = "DIFFERS from the ledger"
			}
		}
		if len(s.Ratios) == 0 {
			rows = append(rows, []string{strconv.Itoa(s.Number), string(s.Windows), "", "", "", s.Validity, evidence})
		}
		for _, x := range s.Ratios {
			rows = append(rows, []string{
				strconv.Itoa(s.Number), string(s.Windows), x.Configuration, strconv.Itoa(x.Blocks), fmt.Sprintf("%.3f", x.Ratio), s.Validity, evidence,
			})
		}
	}
	return rows
}

func (r *replayed) verdictRows() [][]string {
	var rows [][]string
	for _, c := range r.Candidates {
		verdict := string(c.Verdict)
		if c.Index == 0 {
			verdict = "(baseline)"
		}
		rows = append(rows, []string{c.Name, document.Ratio(c.Ratio), document.Interval(c.Low, c.High, document.Ratio), verdict})
	}
	return rows
}
