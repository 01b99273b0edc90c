package docs_test

import (
	"bytes"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/cli"
)

const recipeIndex = "docs/recipes/README.md"

// recipes returns the pages of all recipes.
func recipes(t *testing.T) []*page {
	t.Helper()
	var found []*page
	for name, p := range pages(t) {
		if path.Dir(name) == path.Dir(recipeIndex) && name != recipeIndex {
			found = append(found, p)
		}
	}
	if len(found) < 5 {
		t.Fatalf("found %d recipes only", len(found))
	}
	return found
}

// TestRecipesAreWhole checks that each recipe has the expected sections, is in the index, and has a
// short form that the end-to-end tests run.
func TestRecipesAreWhole(t *testing.T) {
	sections := []string{
		"The recipe", "Reading the outcome", "Where the hand-run version goes wrong", "How long it takes", "Requirements", "Limits",
	}
	index := readPage(t, recipeIndex)
	for _, p := range recipes(t) {
		for _, section := range sections {
			if !slices.Contains(p.headings, section) {
				t.Errorf("%s does not say %q", p.path, section)
			}
		}
		if !slices.ContainsFunc(p.blocks, isObject) {
			t.Errorf("%s has no object to apply", p.path)
		}
		if !slices.Contains(index.links, path.Base(p.path)) {
			t.Errorf("%s does not name %s", recipeIndex, p.path)
		}
		if !runsShort(t, p) {
			t.Errorf("no file of test/e2e/recipes says that it is %s in short", p.path)
		}
	}
}

// isObject reports whether a block is an object that can be applied.
func isObject(b block) bool {
	return b.language == "yaml" && strings.HasPrefix(b.text, "apiVersion: cephtune.dev/")
}

// runsShort reports whether a file of the end-to-end tests names the recipe.
func runsShort(t *testing.T, p *page) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "test", "e2e", "recipes", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		relative, err := filepath.Rel(root(t), file)
		return err == nil && strings.Contains(read(t, filepath.ToSlash(relative)), p.path)
	})
}

// TestAnalysesOfRecipes runs each command in recipes that analyses data of this repository. It
// compares the output with the following block of the page.
func TestAnalysesOfRecipes(t *testing.T) {
	all := recipes(t)
	t.Chdir(root(t))
	found := 0
	for _, p := range all {
		for i, b := range p.blocks {
			args, analyses := analysisOf(t, p, b)
			if !analyses {
				continue
			}
			found++
			if i+1 == len(p.blocks) || p.blocks[i+1].language != "text" {
				t.Errorf("%s: no output follows %s", p.path, strings.Join(args, " "))
				continue
			}
			var stdout, stderr bytes.Buffer
			if code := cli.Run(append([]string{"kubectl-cephtune"}, args...), &stdout, &stderr); code != 0 {
				t.Errorf("%s: %s: exit code %d: %s", p.path, strings.Join(args, " "), code, &stderr)
			}
			if diff := cmp.Diff(p.blocks[i+1].text, stdout.String()); diff != "" {
				t.Errorf("%s: %s (-page +program):\n%s", p.path, strings.Join(args, " "), diff)
			}
		}
	}
	if found < 2 {
		t.Errorf("found %d analyses only", found)
	}
}

// analysisOf returns the command of a block that contains only one "analyze" command.
func analysisOf(t *testing.T, p *page, b block) ([]string, bool) {
	t.Helper()
	if b.language != "console" {
		return nil, false
	}
	commands := commandsOf(t, p, b)
	if len(commands) != 1 {
		return nil, false
	}
	rest, ours := afterOurs(commands[0])
	return rest, ours && len(rest) > 0 && rest[0] == "analyze"
}
