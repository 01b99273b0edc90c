package doctor

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/cephtune/cephtune/internal/settings"
)

// deploy applies the manifests. Without its arguments it would have the operator run images
// of a release, which the cluster may not be able to pull.
const deploy = "make deploy IMG=OPERATOR-IMAGE TOOLS_IMG=TOOLS-IMAGE"

// Labels and annotations that Helm and the chart set on their objects.
const (
	annotationRelease = "meta.helm.sh/release-name"
	managedByHelm     = "Helm"
)

// installer is how the operator was installed, on which it depends what mends it: a value of
// the chart, or a file of config/. The zero value is one that is not known.
type installer struct {
	known bool
	// chart says that it is from the chart; release is that of Helm. Without a release, another
	// program renders the chart, such as Argo CD.
	chart              bool
	release, namespace string
}

// installerOf reads it from the labels of the operator's Deployment.
func installerOf(d *appsv1.Deployment) installer {
	chart := d.Labels[settings.LabelManagedBy] == managedByHelm
	return installer{known: true, chart: chart, release: d.Annotations[annotationRelease], namespace: d.Namespace}
}

// fix is what to do: to set values of the chart, none if applying it again is enough, or
// what is to be done without the chart. Where it is not known how the operator was installed,
// it is both.
func (e *examination) fix(values, without string) string {
	in := func(file string) string {
		if values == "" {
			return ""
		}
		return values + " in " + file + ", and "
	}
	switch i := e.installer; {
	case !i.known:
		return fmt.Sprintf("with Helm: %shelm upgrade --install cephtune charts/cephtune -n %s --create-namespace -f values.yaml\nwithout: %s",
			in("values.yaml"), e.operator, without)
	case !i.chart:
		return without
	case i.release == "":
		return in("the values of the chart") + "have whoever renders the chart apply it again"
	default:
		return fmt.Sprintf("%shelm upgrade %s charts/cephtune -n %s -f values.yaml", in("values.yaml"), i.release, i.namespace)
	}
}
