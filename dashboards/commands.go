package dashboards

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/table"

	"github.com/cephtune/cephtune/internal/metrics"
)

// The labels that the query of commands creates.
const (
	labelWhat    = "what"
	labelCommand = "command"
)

// commands shows what to type to get the report and the object itself. A link could lead to neither:
// a report is a file, and the API server asks for credentials.
func commands(kind, info, empty string) *table.PanelBuilder {
	of := latest(one(info), metrics.LabelName)
	command := func(what, text string) string {
		return fmt.Sprintf(`label_replace(label_replace(%s, %q, %q, %q, "(.+)"), %q, %q, "", "")`,
			of, labelCommand, text, metrics.LabelName, labelWhat, what)
	}
	return rowsOf(about{
		title:       "Report and object",
		description: "Commands to copy: for the report, a page with all figures, and for the object with its whole status.",
		empty:       empty, width: 24, height: 5,
	}, []column{
		{field: labelWhat, title: "What", width: 210},
		{field: labelCommand, title: "Command", inspect: true},
		{field: onlyValue, hidden: true},
	}, instant("commands", latest(fmt.Sprintf("%s or %s",
		command("Report", "kubectl cephtune report "+kind+"/$1 -n $namespace --to $1.html"),
		command("Object with its status", "kubectl get "+kind+" $1 -n $namespace -o yaml"),
	), labelWhat, labelCommand)))
}
