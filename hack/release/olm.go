package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	operatorNamespace = "cephtune-system"
	serviceAccount    = "cephtune-manager"
	channel           = "candidate"
)

// bundle has the objects of an installation by the Operator Lifecycle Manager (OLM): those that OLM
// creates, and those that an administrator creates.
type bundle struct {
	csv *v1alpha1.ClusterServiceVersion
	// manifests are the objects besides csv that OLM creates.
	manifests []*unstructured.Unstructured
	// access has the objects that OLM cannot create. They are in other namespaces, or of kinds that OLM
	// does not know. It also has the operator config, which an upgrade by OLM would overwrite.
	access []*unstructured.Unstructured
}

// writeBundle writes a bundle for OLM, and access.yaml, which an administrator applies before the bundle.
// Together, they replace install.yaml. The library of OLM's own tools validates the bundle.
func (r *release) writeBundle() error {
	objects, err := r.objects()
	if err != nil {
		return err
	}
	b, err := r.bundle(objects)
	if err != nil {
		return err
	}
	if err := r.writeFilesOf(b); err != nil {
		return err
	}
	problems, err := validate(filepath.Join(r.out, "olm"))
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("the bundle for OLM is not valid:\n%s", strings.Join(problems, "\n"))
	}
	return err
}

// objects returns the objects of install.yaml. The name of the operator config has no digest,
// because an administrator edits it in place.
func (r *release) objects() ([]*unstructured.Unstructured, error) {
	text, err := r.manifest()
	if err != nil {
		return nil, err
	}
	text = regexp.MustCompile(`\bcephtune-config-[a-z0-9]{10}\b`).ReplaceAll(text, []byte("cephtune-config"))
	var all []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, err
		}
		all = append(all, object)
	}
}

// bundle sorts the objects into the CSV, the other manifests, and access.yaml.
func (r *release) bundle(objects []*unstructured.Unstructured) (*bundle, error) {
	csv, err := r.csv()
	if err != nil {
		return nil, err
	}
	b := &bundle{csv: csv}
	granted, err := b.grant(objects)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if err := b.add(object, granted[object.GetKind()+object.GetName()]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// grant writes the rights of the operator's service account in the whole cluster and in its own namespace into
// the CSV. It returns the kinds and names of the roles and bindings that the bundle omits, because OLM creates
// its own from the CSV.
func (b *bundle) grant(objects []*unstructured.Unstructured) (map[string]bool, error) {
	spec, granted := &b.csv.Spec.InstallStrategy.StrategySpec, map[string]bool{}
	for _, object := range objects {
		inCluster := object.GetKind() == "ClusterRoleBinding"
		inNamespace := object.GetKind() == "RoleBinding" && object.GetNamespace() == operatorNamespace
		if !inCluster && !inNamespace {
			continue
		}
		role, rules, err := rulesOf(object, objects)
		if err != nil {
			return nil, err
		}
		granted[object.GetKind()+object.GetName()], granted[role.GetKind()+role.GetName()] = true, true
		if inCluster {
			spec.ClusterPermissions = permit(spec.ClusterPermissions, rules)
		} else {
			spec.Permissions = permit(spec.Permissions, rules)
		}
	}
	return granted, nil
}

// add adds an object to the CSV, to the other manifests, or to access.yaml. It omits the objects that OLM
// creates from the CSV: the ServiceAccount, and those roles and bindings for which the argument granted is
// true.
func (b *bundle) add(object *unstructured.Unstructured, granted bool) error {
	own := object.GetNamespace() == "" || object.GetNamespace() == operatorNamespace
	switch kind := object.GetKind(); {
	case own && (kind == "ServiceAccount" || granted): // OLM creates it from the CSV.
	case kind == "Deployment":
		spec := &b.csv.Spec.InstallStrategy.StrategySpec
		deployment := v1alpha1.StrategyDeploymentSpec{Name: object.GetName(), Label: object.GetLabels()}
		if err := into(&deployment.Spec, object, "spec"); err != nil {
			return err
		}
		spec.DeploymentSpecs = append(spec.DeploymentSpecs, deployment)
	case !own || kind == "Namespace" || kind == "ConfigMap":
		b.access = append(b.access, object)
	default:
		object.SetNamespace("") // OLM creates it in the operator's namespace.
		b.manifests = append(b.manifests, object)
	}
	return nil
}

// rulesOf returns the role that a binding names, and the rules of the role.
func rulesOf(binding *unstructured.Unstructured, objects []*unstructured.Unstructured) (*unstructured.Unstructured, []rbacv1.PolicyRule, error) {
	var ref rbacv1.RoleRef
	if err := into(&ref, binding, "roleRef"); err != nil {
		return nil, nil, err
	}
	for _, object := range objects {
		if object.GetKind() != ref.Kind || object.GetName() != ref.Name || ref.Kind == "Role" && object.GetNamespace() != binding.GetNamespace() {
			continue
		}
		var role rbacv1.ClusterRole
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role)
		return object, role.Rules, err
	}
	return nil, nil, fmt.Errorf("%s %s binds a role that does not exist", binding.GetKind(), binding.GetName())
}

// permit returns permissions with additional rules for the operator's service account.
func permit(permissions []v1alpha1.StrategyDeploymentPermissions, rules []rbacv1.PolicyRule) []v1alpha1.StrategyDeploymentPermissions {
	if len(permissions) == 0 {
		permissions = []v1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: serviceAccount}}
	}
	permissions[0].Rules = append(permissions[0].Rules, rules...)
	return permissions
}

// into decodes a field of an object into a typed value. The field must be a map.
func into(to any, object *unstructured.Unstructured, field string) error {
	value, _, err := unstructured.NestedMap(object.Object, field)
	if err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(value, to)
}

// writeFilesOf writes access.yaml, and the bundle with its Dockerfile.
func (r *release) writeFilesOf(b *bundle) error {
	csv, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b.csv)
	if err != nil {
		return err
	}
	delete(csv, "status")
	files := map[string][]any{"access.yaml": nil, "bundle/metadata/annotations.yaml": {map[string]any{"annotations": bundleLabels()}}}
	for _, object := range b.access {
		files["access.yaml"] = append(files["access.yaml"], object.Object)
	}
	for _, object := range append(b.manifests, &unstructured.Unstructured{Object: csv}) {
		files["bundle/manifests/"+object.GetName()+"."+strings.ToLower(object.GetKind())+".yaml"] = []any{object.Object}
	}
	for name, objects := range files {
		var documents [][]byte
		for _, object := range objects {
			text, err := yaml.Marshal(object)
			if err != nil {
				return err
			}
			documents = append(documents, text)
		}
		if err := r.write("olm/"+name, bytes.Join(documents, []byte("---\n"))); err != nil {
			return err
		}
	}
	return r.write("olm/Dockerfile", []byte(bundleDockerfile()))
}

// bundleLabels returns the labels of the bundle's image, which describe the format of the bundle. The
// bundle's annotations are the same.
func bundleLabels() map[string]string {
	const prefix = "operators.operatorframework.io.bundle."
	return map[string]string{
		prefix + "mediatype.v1": "registry+v1", prefix + "manifests.v1": "manifests/", prefix + "metadata.v1": "metadata/",
		prefix + "package.v1": "cephtune", prefix + "channels.v1": channel, prefix + "channel.default.v1": channel,
	}
}

// bundleDockerfile returns the Dockerfile of the bundle's image.
func bundleDockerfile() string {
	var labels []string
	for name, value := range bundleLabels() {
		labels = append(labels, "LABEL "+name+"="+value+"\n")
	}
	slices.Sort(labels)
	return "FROM scratch\n" + strings.Join(labels, "") + "COPY bundle/manifests /manifests/\nCOPY bundle/metadata /metadata/\n"
}

// validators returns the validators of OLM and of OperatorHub, except two. One of these is for an older
// kind of catalog. The other pulls the images from their registry.
func validators() validator.Validators {
	return validator.Validators{
		validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator, validation.BundleValidator,
		validation.OperatorHubV2Validator, validation.StandardCategoriesValidator, validation.StandardCapabilitiesValidator,
		validation.ObjectValidator, validation.OperatorGroupValidator, validation.CommunityOperatorValidator,
		validation.AlphaDeprecatedAPIsValidator, validation.GoodPracticesValidator,
	}
}

// validate returns all errors and warnings of the validators about a bundle.
func validate(folder string) ([]string, error) {
	read, err := manifests.GetBundleFromDir(filepath.Join(folder, "bundle"))
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, result := range validators().Validate(read.ObjectsToValidate()...) {
		for _, problem := range slices.Concat(result.Errors, result.Warnings) {
			problems = append(problems, result.Name+": "+problem.Error())
		}
	}
	return problems, nil
}
