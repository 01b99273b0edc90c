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

// commands returns a table of commands: to write the report, to print the object, and to list the changes
// that are still to be restored. Links cannot replace these commands, because a report is a file, and the
// API server requires credentials. The third argument says which things in Ceph objects of the given kind
// change: "OSDs" or "Settings".
func commands(kind, info, changed, empty string) *table.PanelBuilder {
	object := latest(one(info), metrics.LabelName)
	command := func(purpose, text string) string {
		return fmt.Sprintf(`label_replace(label_replace(%s, %q, %q, %q, "(.+)"), %q, %q, "", "")`,
			object, labelCommand, text, metrics.LabelName, labelWhat, purpose)
	}
	return rowsOf(about{
		title: "Commands",
		description: "Commands to copy. The first writes a page with all figures. The second prints the object with its whole status. The third lists what is still to be restored in " +
			"Ceph, with the commands that restore it by hand.",
		empty: empty, width: 24, height: 6,
	}, []column{
		{field: labelWhat, title: "What", width: 210},
		{field: labelCommand, title: "Command", inspect: true},
		{field: onlyValue, hidden: true},
	}, instant("commands", latest(fmt.Sprintf("%s or %s or %s",
		command("Report", "kubectl cephtune report "+kind+"/$1 -n $namespace --to $1.html"),
		command("Object with its status", "kubectl get "+kind+" $1 -n $namespace -o yaml"),
		command(changed+" to be restored", "kubectl cephtune restore "+kind+"/$1 -n $namespace"),
	), labelWhat, labelCommand)))
}
