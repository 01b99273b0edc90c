package analyze

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/wholefile"
)

// table is a CSV file with the line number of each row.
type table struct {
	file   string
	header []string
	rows   []row
}

type row struct {
	line  int
	cells []string
}

// studyOfTable reads runs from a table. Each row is one run.
func studyOfTable(o *options) (*study, error) {
	conditions, err := parseConditions(o.where)
	if err != nil {
		return nil, err
	}
	t, err := readTable(o.table)
	if err != nil {
		return nil, err
	}
	columns, err := t.findColumns(o, conditions)
	if err != nil {
		return nil, err
	}
	s := &study{
		source: "table", metric: o.value, unit: unit{symbol: o.value, scale: 1},
		higherIsBetter: o.higherIsBetter, paired: len(o.block) > 0,
	}
	t.keep(columns.where, conditions)
	configurations, err := t.configurations(columns)
	if err != nil {
		return nil, err
	}
	if err := s.splitBaseline(t.file, o, configurations); err != nil {
		return nil, err
	}
	s.columnDifferences = t.differences(s, columns)
	t.warnAboutMixtures(s, columns)
	return s, nil
}

func readTable(file string) (*table, error) {
	data, err := wholefile.Read(file, nil, maxFile)
	if err != nil {
		return nil, err
	}
	// Spreadsheets put a byte order mark before the first name.
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	reader.TrimLeadingSpace = true
	t := &table{file: file}
	for {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if parse, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, fmt.Errorf("%s:%d: %w; want as many columns as the first line has", file, parse.Line, parse.Err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		line, _ := reader.FieldPos(0)
		if t.header == nil {
			t.header = cells
			continue
		}
		t.rows = append(t.rows, row{line, cells})
	}
	if len(t.rows) == 0 {
		return nil, fmt.Errorf("%s: no rows; want a line of column names and a line for each run", file)
	}
	return t, nil
}

// columns holds the positions of the columns that have a role.
type columns struct {
	configuration, value int
	block, where         []int
}

// findColumns returns the first error of a flag that names no column.
func (t *table) findColumns(o *options, conditions []condition) (out columns, err error) {
	find := func(flag, name string) int {
		i, missing := t.column(flag, name)
		err = cmp.Or(err, missing)
		return i
	}
	out.configuration, out.value = find("--configuration", o.configuration), find("--value", o.value)
	for _, name := range o.block {
		out.block = append(out.block, find("--block", name))
	}
	for _, c := range conditions {
		out.where = append(out.where, find("--where", c.column))
	}
	return out, err
}

func (t *table) column(flag, name string) (int, error) {
	i := slices.Index(t.header, name)
	if i < 0 {
		return 0, fmt.Errorf("%s:1: %s %q: there is no such column, only %s", t.file, flag, name, strings.Join(t.header, ", "))
	}
	if slices.Contains(t.header[i+1:], name) {
		return 0, fmt.Errorf("%s:1: %s %q: there are several columns of that name", t.file, flag, name)
	}
	return i, nil
}

// keep drops the rows that do not meet all conditions.
func (t *table) keep(where []int, conditions []condition) {
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool {
		for i, c := range conditions {
			if r.cells[where[i]] != c.value {
				return true
			}
		}
		return false
	})
}

// configurations gathers the rows of each configuration, in the order of first appearance.
func (t *table) configurations(columns columns) ([]configuration, error) {
	var out []configuration
	for _, r := range t.rows {
		value, err := parseValue(r.cells[columns.value])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: column %s: %w", t.file, r.line, t.header[columns.value], err)
		}
		name := r.cells[columns.configuration]
		i := slices.IndexFunc(out, func(c configuration) bool { return c.Name == name })
		if i < 0 {
			i = len(out)
			out = append(out, configuration{Name: name})
		}
		out[i].Runs = append(out[i].Runs, run{
			Source: place{file: t.file}.line(r.line), Block: r.block(columns.block), Value: value, Steady: true,
		})
	}
	return out, nil
}

func (r row) block(columns []int) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = r.cells[c]
	}
	return strings.Join(parts, "/")
}

func parseValue(cell string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
	if err != nil {
		return 0, fmt.Errorf("want a number, found %q", cell)
	}
	if !(x > 0) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("want a number above 0, found %q; leave out rows of failed runs", cell)
	}
	// No measurement is outside this range, and a sum of larger numbers could overflow.
	if x < 1e-100 || x > 1e100 {
		return 0, fmt.Errorf("want a plausible measurement, found %q", cell)
	}
	return x, nil
}

func (s *study) splitBaseline(file string, o *options, all []configuration) error {
	if len(all) == 0 {
		return fmt.Errorf("%s: no row has %s", file, strings.Join(o.where, " and "))
	}
	for _, c := range all {
		if c.Name == o.baseline[0] {
			s.baseline = c
		} else {
			s.candidates = append(s.candidates, c)
		}
	}
	if s.baseline.Runs == nil {
		names := make([]string, len(all))
		for i, c := range all {
			names[i] = c.Name
		}
		return fmt.Errorf("%s: column %s has no %q for the baseline, only %s", file, o.configuration, o.baseline[0], strings.Join(names, ", "))
	}
	if len(s.candidates) == 0 {
		return fmt.Errorf("%s: column %s has only %q: there is nothing to compare", file, o.configuration, o.baseline[0])
	}
	return nil
}

// warnAboutMixtures warns of columns without a role that have few values and differ within a block.
// Their rows may be different workloads, which must not count as repetitions. A column that differs
// only between blocks is harmless: its value is the same on both sides of a ratio.
func (t *table) warnAboutMixtures(s *study, c columns) {
	var mixed []string
	for i, name := range t.header {
		if c.roleOf(i) {
			continue
		}
		// A column with many different values is probably a date or a run number.
		if 2*t.distinct(i) <= len(t.rows) && t.differsWithinBlock(i, c.block) {
			mixed = append(mixed, name)
		}
	}
	if len(mixed) > 0 {
		s.warn("rows differ in %s; if these are workloads and not repetitions, choose one with --where or give the column as another --block", strings.Join(mixed, ", "))
	}
}

func (t *table) distinct(column int) int {
	seen := map[string]bool{}
	for _, r := range t.rows {
		seen[r.cells[column]] = true
	}
	return len(seen)
}

func (t *table) differsWithinBlock(column int, block []int) bool {
	first := map[string]string{}
	for _, r := range t.rows {
		cell, name := r.cells[column], r.block(block)
		if _, ok := first[name]; !ok {
			first[name] = cell
		}
		if first[name] != cell {
			return true
		}
	}
	return false
}

// checkMisplaced refuses flags that would be ignored silently. With --metric latencyP99 for a
// table, for example, the user expects that less is better.
func (o *options) checkMisplaced(given func(flag string) bool) error {
	if o.exported {
		for _, flag := range []string{"metric", "direction", "minimum-effect", "equivalence", "confidence", "baseline-name"} {
			if given(flag) {
				return exit.UsageErrorf("an exported sweep is judged by its own plan: remove --%s", flag)
			}
		}
	}
	switch {
	case o.table == "" && given("higher-is-better"):
		return exit.UsageErrorf("--higher-is-better is for --table; for outputs, --metric implies it")
	case o.table != "" && given("metric"):
		return exit.UsageErrorf("--metric is for outputs; for a table, use --value, and --higher-is-better=false if less is better")
	case o.table != "" && (given("direction") || given("baseline-name")):
		return exit.UsageErrorf("--direction and --baseline-name are for outputs; for a table, use --where and --baseline")
	}
	return nil
}

// checkTableFlags requires the flags that a table needs, and refuses flags that apply only to files.
func (o *options) checkTableFlags() error {
	switch {
	case o.configuration == "" || o.value == "":
		return exit.UsageErrorf("--table needs --configuration COLUMN and --value COLUMN")
	case len(o.baseline) != 1:
		return exit.UsageErrorf("--table needs --baseline VALUE: one value of the column %s", o.configuration)
	case len(o.candidates.words) > 0:
		return exit.UsageErrorf("--candidate is for files; in a table, every other value of %s is a candidate", o.configuration)
	case o.paired:
		return exit.UsageErrorf("--paired is for files; for a table, use --block COLUMN")
	}
	return nil
}

// checkSingleFile refuses flags that a summary, or the judgement of an exported sweep, would ignore.
func (o *options) checkSingleFile() error {
	switch {
	case o.exported && (o.paired || o.plot != ""):
		return exit.UsageErrorf("an exported sweep is judged by its own plan: --paired and --plot do not apply; kubectl cephtune report -f draws it")
	case o.exported && len(o.expectDifference) > 0:
		return exit.UsageErrorf("all sessions of an exported sweep have one load: remove --expect-difference")
	case o.summarised && !o.exported && (o.paired || o.plot != "" || len(o.expect)+len(o.expectDifference) > 0):
		return exit.UsageErrorf("a single file is only summarised: --paired, --plot, --expect and --expect-difference need a second one")
	}
	return nil
}

// checkFileFlags requires both sides or a single argument. It refuses flags for tables, and flags that
// a single argument would ignore.
func (o *options) checkFileFlags() error {
	if err := o.checkSingleFile(); err != nil {
		return err
	}
	switch {
	case len(o.baseline) == 0 || len(o.candidates.words) == 0 && !o.summarised:
		return exit.UsageErrorf("give two files, --baseline FILE… and --candidate FILE…, or --table FILE")
	case o.configuration != "" || o.value != "" || len(o.block) > 0 || len(o.where) > 0:
		return exit.UsageErrorf("--configuration, --value, --block and --where are for --table")
	}
	return nil
}
