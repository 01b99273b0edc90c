// Command words counts markers: phrases that make comments and pages hard to read. It fails if the share of
// text with a marker exceeds a limit, or if a page has too many words. It reads the comments of Go files,
// except tests and zz_generated files, and the sentences of hand-written pages. The limit is not zero,
// because a marker is sometimes the right phrase.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "the checkout")
	flag.Float64Var(&o.comments, "comments", 1.5, "largest share of comment lines with a marker, in percent")
	flag.Float64Var(&o.sentences, "sentences", 1.5, "largest share of sentences with a marker, in percent")
	flag.IntVar(&o.pageWords, "page-words", 2500, "largest number of words of a page")
	flag.BoolVar(&o.verbose, "v", false, "print each place")
	flag.Parse()
	var out bytes.Buffer
	err := run(&out, o)
	if _, failed := out.WriteTo(os.Stdout); failed != nil {
		err = errors.Join(err, failed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

type options struct {
	root                string
	comments, sentences float64
	pageWords           int
	verbose             bool
}

func run(out *bytes.Buffer, o options) error {
	files, err := filesBelow(o.root)
	if err != nil {
		return err
	}
	var comments, pages []count
	var long []string
	for _, path := range files {
		source, err := os.ReadFile(filepath.Join(o.root, filepath.FromSlash(path)))
		if err != nil {
			return err
		}
		if isPage(path) {
			pages = append(pages, ofPage(path, source))
			if n := len(strings.Fields(string(source))); n > o.pageWords {
				long = append(long, fmt.Sprintf("%s has %d words, the limit is %d", path, n, o.pageWords))
			}
			continue
		}
		c, err := ofComments(path, source)
		if err != nil {
			return err
		}
		comments = append(comments, c)
	}
	problems := slices.Concat(
		report(out, "comment lines", byGroup(comments, filepath.Dir), o.comments, o.verbose),
		report(out, "sentences", byGroup(pages, func(path string) string { return path }), o.sentences, o.verbose),
		long)
	if len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "\nwords: "))
	}
	return nil
}

// count has the number of units of a file, package or page, and the units with a marker. A unit is a
// comment line or a sentence.
type count struct {
	name   string
	units  int
	marked []place
}

type place struct {
	path         string
	line         int
	marker, text string
}

func (c count) percent() float64 {
	return 100 * float64(len(c.marked)) / float64(max(c.units, 1))
}

// byGroup sums the counts of each group, and sorts the groups by their number of marked units,
// highest first.
func byGroup(counts []count, group func(path string) string) []count {
	sums := map[string]*count{}
	var groups []*count
	for _, c := range counts {
		name := group(c.name)
		if sums[name] == nil {
			sums[name] = &count{name: name}
			groups = append(groups, sums[name])
		}
		sums[name].units += c.units
		sums[name].marked = append(sums[name].marked, c.marked...)
	}
	all := make([]count, 0, len(groups))
	for _, g := range groups {
		all = append(all, *g)
	}
	slices.SortStableFunc(all, func(a, b count) int { return cmp.Compare(len(b.marked), len(a.marked)) })
	return all
}

// report prints the total. With verbose, it also prints the groups and their marked units. It returns a
// problem if the share of marked units exceeds the limit.
func report(out *bytes.Buffer, kind string, groups []count, limit float64, verbose bool) []string {
	total := count{name: "total"}
	for _, g := range groups {
		total.units += g.units
		total.marked = append(total.marked, g.marked...)
		if !verbose {
			continue
		}
		for _, p := range g.marked {
			fmt.Fprintf(out, "%s:%d: %q: %s\n", p.path, p.line, p.marker, p.text)
		}
		fmt.Fprintf(out, "%s: %d of %d %s, %.1f %%\n", g.name, len(g.marked), g.units, kind, g.percent())
	}
	fmt.Fprintf(out, "%d of %d %s have a marker, %.2f %%; the limit is %.2f %%\n",
		len(total.marked), total.units, kind, total.percent(), limit)
	if total.percent() > limit {
		return []string{fmt.Sprintf("%.2f %% of %s have a marker, the limit is %.2f %%: list them with -v",
			total.percent(), kind, limit)}
	}
	return nil
}
