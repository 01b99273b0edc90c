package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// callsOf returns the calls between the functions of the module in root. It reads only the programs and the
// packages of the module that they import. A call through an interface or a variable counts as a call of
// every function that it may reach.
func callsOf(root string, programs ...string) (*graph, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	module, names, err := packagesOf(root, programs)
	if err != nil {
		return nil, err
	}
	loaded, err := packages.Load(&packages.Config{Dir: root, Mode: packages.LoadSyntax | packages.NeedModule}, names...)
	if err != nil {
		return nil, err
	}
	if packages.PrintErrors(loaded) > 0 {
		return nil, errors.New("the packages do not compile")
	}
	program, _ := ssautil.Packages(loaded, ssa.InstantiateGenerics)
	program.Build()
	return graphOf(program, root, module+"/"), nil
}

// packagesOf returns the path of the module, and the paths of the programs and of those packages of the
// module that the programs import.
func packagesOf(root string, programs []string) (module string, names []string, err error) {
	mode := packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedModule
	loaded, err := packages.Load(&packages.Config{Dir: root, Mode: mode}, programs...)
	if err != nil {
		return "", nil, err
	}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		if p.Module != nil && p.Module.Main {
			module, names = p.Module.Path, append(names, p.PkgPath)
		}
	})
	if module == "" {
		return "", nil, fmt.Errorf("%s has no module with %s", root, strings.Join(programs, " and "))
	}
	return module, names, nil
}

// graphOf returns the calls of a program. A function literal counts as called by the function that contains
// it, because the real caller may be in another module, such as errgroup.
func graphOf(program *ssa.Program, root, prefix string) *graph {
	all := ssautil.AllFunctions(program)
	g := &graph{functions: map[string]function{}, callees: map[string][]string{}}
	called := map[string]map[string]bool{}
	call := func(caller, callee *ssa.Function) {
		from, to := g.enter(caller, root, prefix), g.enter(callee, root, prefix)
		if called[from] == nil {
			called[from] = map[string]bool{}
		}
		called[from][to] = true
	}
	for caller, node := range vta.CallGraph(all, nil).Nodes {
		if caller == nil {
			continue
		}
		for _, edge := range node.Out {
			if len(edge.Callee.Func.Blocks) > 0 {
				call(caller, edge.Callee.Func)
			}
		}
		for _, inner := range caller.AnonFuncs {
			call(caller, inner)
		}
	}
	for name, callees := range called {
		g.callees[name] = slices.Sorted(maps.Keys(callees))
	}
	return g
}

// enter adds a function to the graph, and returns the function's name without the path of the module.
func (g *graph) enter(f *ssa.Function, root, prefix string) string {
	name := strings.ReplaceAll(f.String(), prefix, "")
	if _, known := g.functions[name]; known {
		return name
	}
	entry := function{short: f.Name()}
	if position := f.Prog.Fset.Position(f.Pos()); position.IsValid() && f.Synthetic == "" {
		if file, err := filepath.Rel(root, position.Filename); err == nil && filepath.IsLocal(file) {
			entry.file = filepath.ToSlash(file)
		}
	}
	if origin := f.Origin(); origin != nil {
		entry.short = origin.Name()
		if file, err := filepath.Rel(root, f.Prog.Fset.Position(origin.Pos()).Filename); err == nil && filepath.IsLocal(file) {
			entry.file = filepath.ToSlash(file)
		}
	}
	g.functions[name] = entry
	return name
}
