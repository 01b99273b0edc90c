package object

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/cli/terminal"
)

// Print writes an object as json or yaml, as kubectl does.
func Print(c client.Client, o runtime.Object, format string, out io.Writer) error {
	var printer printers.ResourcePrinter = &printers.YAMLPrinter{}
	if format == "json" {
		printer = &printers.JSONPrinter{}
	}
	gvk, err := c.GroupVersionKindFor(o)
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	o.GetObjectKind().SetGroupVersionKind(gvk)
	return (&printers.OmitManagedFieldsPrinter{Delegate: printer}).PrintObj(o, terminal.ForFile(out))
}
