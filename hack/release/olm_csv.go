package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"helm.sh/helm/v3/pkg/chart/loader"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const bundleDescription = `cephtune measures whether a setting makes a Ceph cluster of Rook faster. It changes the setting,
proves that each OSD runs with it, measures it alternately with the present setting, gives a verdict with an interval, and
restores everything.

**Before you subscribe**, apply ` + "`access.yaml`" + ` of the same release. It contains what OLM cannot create: the namespace of
benchmarks, the CephClients and Roles for your Ceph cluster, and the operator config. Change the cluster's name in it first.
`

// csv returns the ClusterServiceVersion, which describes the release for OLM. Its source is the chart's
// metadata. It has no deployments and no permissions yet.
func (r *release) csv() (*v1alpha1.ClusterServiceVersion, error) {
	made, err := loader.LoadDir(filepath.Join(r.root, "charts", "cephtune"))
	if err != nil {
		return nil, err
	}
	icon, err := os.ReadFile(filepath.Join(r.root, "docs", "images", "icon.svg"))
	if err != nil {
		return nil, err
	}
	csv := &v1alpha1.ClusterServiceVersion{
		TypeMeta:   metav1.TypeMeta{APIVersion: "operators.coreos.com/v1alpha1", Kind: "ClusterServiceVersion"},
		ObjectMeta: metav1.ObjectMeta{Name: "cephtune." + r.tag()},
	}
	if err := csv.Spec.Version.UnmarshalJSON([]byte(`"` + r.version + `"`)); err != nil {
		return nil, err
	}
	meta := made.Metadata
	repository := string(r.publishedBy([]byte(meta.Home)))
	minimum := regexp.MustCompile(`\d+\.\d+\.\d+`).FindString(meta.KubeVersion)
	spec := &csv.Spec
	spec.DisplayName, spec.Description, spec.Keywords = "cephtune", bundleDescription, meta.Keywords
	spec.Maturity, spec.MinKubeVersion, spec.Provider.Name = "alpha", minimum, meta.Maintainers[0].Name
	spec.Icon = []v1alpha1.Icon{{Data: base64.StdEncoding.EncodeToString(icon), MediaType: "image/svg+xml"}}
	spec.Links = []v1alpha1.AppLink{{Name: "Documentation", URL: repository + "/blob/" + r.tag() + "/docs/README.md"}}
	spec.RelatedImages = []v1alpha1.RelatedImage{
		{Name: "operator", Image: r.reference(r.operatorImage())}, {Name: "tools", Image: r.reference(r.toolsImage())},
	}
	// The mode AllNamespaces is not supported, because OLM would then turn the Roles for Leases into
	// ClusterRoles.
	spec.InstallModes = []v1alpha1.InstallMode{
		{Type: v1alpha1.InstallModeTypeOwnNamespace, Supported: true},
		{Type: v1alpha1.InstallModeTypeSingleNamespace}, {Type: v1alpha1.InstallModeTypeMultiNamespace}, {Type: v1alpha1.InstallModeTypeAllNamespaces},
	}
	spec.InstallStrategy.StrategyName = v1alpha1.InstallStrategyNameDeployment
	csv.Labels = map[string]string{}
	for _, p := range imagePlatforms() {
		csv.Labels["operatorframework.io/os."+p.os], csv.Labels["operatorframework.io/arch."+p.arch] = "supported", "supported"
	}
	csv.Annotations = map[string]string{
		"capabilities": meta.Annotations["artifacthub.io/operatorCapabilities"], "categories": "Storage",
		"containerImage": r.reference(r.operatorImage()), "createdAt": r.created.Format(time.RFC3339),
		"description": meta.Description, "repository": repository, "support": repository,
		"operatorframework.io/suggested-namespace": operatorNamespace,
		"olm.skipRange": "<" + r.version,
	}
	return csv, r.describeKinds(csv, meta.Annotations)
}

// describeKinds copies the chart's descriptions and examples of the CRDs.
func (r *release) describeKinds(csv *v1alpha1.ClusterServiceVersion, annotations map[string]string) error {
	if err := yaml.UnmarshalStrict([]byte(annotations["artifacthub.io/crds"]), &csv.Spec.CustomResourceDefinitions.Owned); err != nil {
		return err
	}
	var examples []any
	if err := yaml.UnmarshalStrict([]byte(annotations["artifacthub.io/crdsExamples"]), &examples); err != nil {
		return err
	}
	text, err := json.MarshalIndent(examples, "", "  ")
	csv.Annotations["alm-examples"] = string(text)
	return err
}
