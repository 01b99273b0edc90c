package main

import (
	"fmt"
	"slices"
)

// way is the way of a value through the program. A chain lists functions, and each function calls the next
// one, directly or not. A new chain begins where a value is returned, stored or sent to another process.
type way struct {
	name   string
	chains [][]string
}

// These functions begin or end several chains.
const (
	sweepPass     = "(*controllers/cephtuningsweep.Reconciler).Reconcile"
	benchmarkPass = "(*controllers/cephbenchmark.Reconciler).Reconcile"
	send          = "(*internal/ceph.Sidecar).SetConfig"
)

func ways() []way {
	sidecar := []string{"(*internal/ceph.Handler).ServeHTTP", "(*internal/ceph.CLI).SetConfig", "(*internal/ceph.CLI).run"}
	apply := "(*controllers/cephtuningsweep.Reconciler).applyConfiguration"
	return []way{
		{"a parameter's value, from spec to Ceph", [][]string{
			{sweepPass, "internal/sweepspec.SpaceOf", "internal/sweepspec.plannerValue"},
			{sweepPass, apply, "internal/sweepspec.Changes"},
			{apply, "(*internal/tuning.Engine).Apply", send},
			sidecar,
		}},
		{"a result of fio, from its output to status", [][]string{
			{"(*internal/runner.session).carryOut", "internal/engine/fio.ParseJSON", "(*internal/engine/fio.report).result"},
			{"(*internal/runner.session).carryOut", "internal/runner.encodeReport"},
			{"(*internal/runner.server).getReport", "(*internal/runner.session).report"},
			{benchmarkPass, "(*internal/runner.client).Report"},
			{benchmarkPass, "(*internal/figure.Observer).Add"},
			{benchmarkPass, "internal/figure.Combine"}, // Combine returns results in the form that status has.
		}},
		{"a restore, from the journal to Ceph", [][]string{
			{sweepPass, "(*controllers/cephtuningsweep.Reconciler).restoreAndRelease", "(*internal/tuning.Engine).Restore", send},
			sidecar,
		}},
	}
}

// crossed is a file on a way, with the way's functions in this file.
type crossed struct {
	file      string
	functions []string
}

// files returns the files of a way, in the order in which the way first reaches them.
func (w way) files(calls *graph) ([]crossed, error) {
	var files []crossed
	for _, chain := range w.chains {
		for i := range len(chain) - 1 {
			path, err := calls.shortest(chain[i], chain[i+1])
			if err != nil {
				return nil, err
			}
			for _, f := range path {
				files = add(files, f)
			}
		}
	}
	return files, nil
}

// add adds a function to its file. It ignores functions without a file: generated ones, and those of other
// modules.
func add(files []crossed, f function) []crossed {
	if f.file == "" {
		return files
	}
	i := slices.IndexFunc(files, func(c crossed) bool { return c.file == f.file })
	if i < 0 {
		return append(files, crossed{f.file, []string{f.short}})
	}
	if !slices.Contains(files[i].functions, f.short) {
		files[i].functions = append(files[i].functions, f.short)
	}
	return files
}

// graph has the functions of a program and their calls. Both maps have the functions' names as keys.
type graph struct {
	functions map[string]function
	// callees has the sorted names of the functions that a function calls.
	callees map[string][]string
}

// function is a function of the program: its name within the package, and its file.
type function struct{ short, file string }

// shortest returns the chain of calls between two functions that goes from one file to another least often.
// If several chains do so equally often, it returns a short one.
func (g *graph) shortest(from, to string) ([]function, error) {
	for _, name := range []string{from, to} {
		if _, known := g.functions[name]; !known {
			return nil, fmt.Errorf("there is no function %s", name)
		}
	}
	before := map[string]string{from: from}
	// A frontier has the functions whose chains from the start go from one file to another equally often.
	for frontier := []string{from}; len(frontier) > 0; {
		var next []string
		for i := 0; i < len(frontier); i++ { // The frontier grows by callees in the same file.
			for _, callee := range g.callees[frontier[i]] {
				if _, seen := before[callee]; seen || !g.sameFile(frontier[i], callee) {
					continue
				}
				before[callee] = frontier[i]
				frontier = append(frontier, callee)
			}
		}
		for _, name := range frontier {
			for _, callee := range g.callees[name] {
				if _, seen := before[callee]; !seen {
					before[callee] = name
					next = append(next, callee)
				}
			}
		}
		frontier = next
	}
	if _, reached := before[to]; !reached {
		return nil, fmt.Errorf("%s does not call %s, directly or not", from, to)
	}
	path := []function{g.functions[to]}
	for name := to; name != from; name = before[name] {
		path = append(path, g.functions[before[name]])
	}
	slices.Reverse(path)
	return path, nil
}

// sameFile reports whether a call stays in the file. A call of a function without a file, such as a
// generated one, counts as staying.
func (g *graph) sameFile(caller, callee string) bool {
	to := g.functions[callee].file
	return to == "" || to == g.functions[caller].file
}
