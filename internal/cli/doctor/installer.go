package doctor

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/cephtune/cephtune/internal/settings"
)

// deploy applies the manifests. Without its arguments, make would deploy the images of a release, which
// the cluster may not be able to pull.
const deploy = "make deploy IMG=OPERATOR-IMAGE TOOLS_IMG=TOOLS-IMAGE"

// annotationRelease is an annotation that Helm sets. managedByHelm is the value of the label managed-by
// on the chart's objects.
const (
	annotationRelease = "meta.helm.sh/release-name"
	managedByHelm     = "Helm"
)

// installer says how the operator was installed. Fixes depend on it: they change a value of the
// chart, or a file of config/. The zero value means unknown.
type installer struct {
	known bool
	// chart says that the operator was installed from the chart. release is the Helm release. If
	// release is empty, another program, such as Argo CD, renders the chart.
	chart              bool
	release, namespace string
}

// installerOf reads the installer from the labels and annotations of the operator's Deployment.
func installerOf(d *appsv1.Deployment) installer {
	chart := d.Labels[settings.LabelManagedBy] == managedByHelm
	return installer{known: true, chart: chart, release: d.Annotations[annotationRelease], namespace: d.Namespace}
}

// fix returns the action that resolves a problem. With the chart, the action is to change the chart's values
// as the first argument says, unless that argument is empty, and to apply the chart again. Without the chart,
// the action is the second argument. If the installer is unknown, fix returns both actions.
func (e *examination) fix(values, without string) string {
	in := func(file string) string {
		if values == "" {
			return ""
		}
		return values + " in " + file + ", and "
	}
	switch i := e.installer; {
	case !i.known:
		return fmt.Sprintf("with Helm: %shelm upgrade --install cephtune CHART -n %s --create-namespace -f values.yaml\nwithout: %s",
			in("values.yaml"), e.operator, without)
	case !i.chart:
		return without
	case i.release == "":
		return in("the values of the chart") + "render the chart and apply it again"
	default:
		return fmt.Sprintf("%shelm upgrade %s CHART -n %s -f values.yaml", in("values.yaml"), i.release, i.namespace)
	}
}
