package dashboards

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dashboardFile is the part of a dashboard that the tests read. They read the JSON, because Grafana
// reads it too.
type dashboardFile struct {
	UID           string
	Title         string
	Description   string
	Editable      bool
	Refresh       string
	SchemaVersion int
	Tags          []string
	Panels        []panelJSON
	Templating    struct{ List []variableJSON }
	Annotations   struct{ List []annotationJSON }
	Links         []struct {
		Title, Type string
		Tags        []string
		IncludeVars bool
	}
}

type panelJSON struct {
	ID          int
	Type        string
	Title       string
	Description string
	Datasource  sourceJSON
	GridPos     struct{ X, Y, W, H int }
	Targets     []targetJSON
	Options     struct {
		ReduceOptions struct{ Fields string }
		XField        string
	}
	Transformations []struct {
		ID      string
		Options struct {
			RenameByName  map[string]string
			ExcludeByName map[string]bool
			ApplyTo       struct{ Options string }
		}
	}
	FieldConfig struct {
		Defaults struct {
			Unit     string
			Decimals *float64
			NoValue  string
		}
		Overrides []struct {
			Matcher struct {
				ID      string
				Options any
			}
			Properties []struct {
				ID    string
				Value any
			}
		}
	}
}

type targetJSON struct {
	Expr         string
	RefID        string
	Instant      bool
	Range        bool
	Format       string
	LegendFormat string
	Interval     string
	Datasource   sourceJSON
}

type annotationJSON struct {
	Name, IconColor         string
	TitleFormat, TextFormat string
	Datasource              sourceJSON
	Target                  targetJSON
}

type variableJSON struct {
	Type, Name, Label, Description string
	Query, Regex, AllValue         string
	Multi, IncludeAll              bool
	Refresh                        int
	Datasource                     sourceJSON
}

type sourceJSON struct{ Type, UID string }

// committed reads all dashboards of this folder.
func committed(t testing.TB) map[string]dashboardFile {
	t.Helper()
	names, err := filepath.Glob("*.json")
	if err != nil || len(names) != 3 {
		t.Fatalf("there are %d dashboards (%v), want 3", len(names), err)
	}
	read := map[string]dashboardFile{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var dashboard dashboardFile
		if err := json.Unmarshal(text, &dashboard); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		read[strings.TrimSuffix(name, ".json")] = dashboard
	}
	return read
}

// panels returns all panels except rows.
func (d dashboardFile) panels() []panelJSON {
	var panels []panelJSON
	for _, panel := range d.Panels {
		if panel.Type != "row" {
			panels = append(panels, panel)
		}
	}
	return panels
}

// queries returns all queries of a dashboard by their place, including those of annotations.
func (d dashboardFile) queries() map[string]targetJSON {
	all := map[string]targetJSON{}
	for _, panel := range d.panels() {
		for _, target := range panel.Targets {
			all[panel.Title+" / "+target.RefID] = target
		}
	}
	for _, annotation := range d.Annotations.List {
		all["annotation "+annotation.Name] = annotation.Target
	}
	return all
}
