package settings

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	minStartTimeout = 10 * time.Second
	maxStartTimeout = 24 * time.Hour

	maxPoolName = 128
)

func (s *Settings) validate() field.ErrorList {
	var problems field.ErrorList
	clusters := field.NewPath("clusters")
	seen := sets.New[string]()
	for i, c := range s.Clusters {
		path := clusters.Index(i)
		problems = append(problems, c.validate(path)...)
		if key := c.Namespace + "/" + c.Name; seen.Has(key) {
			problems = append(problems, field.Duplicate(path, key))
		} else {
			seen.Insert(key)
		}
	}
	problems = append(problems, s.Images.validate(field.NewPath("images"), len(s.Clusters) > 0)...)
	return append(problems, s.Pods.validate(field.NewPath("pods"))...)
}

func (c Cluster) validate(path *field.Path) field.ErrorList {
	var problems field.ErrorList
	problems = append(problems, name(path.Child("namespace"), c.Namespace, "the namespace of a CephCluster", validation.IsDNS1123Label)...)
	problems = append(problems, name(path.Child("name"), c.Name, "the name of a CephCluster", validation.IsDNS1123Label)...)
	problems = append(problems, pools(path.Child("existingPools"), c.ExistingPools)...)
	problems = append(problems, storageClasses(path.Child("storageClasses"), c.StorageClasses)...)
	problems = append(problems, options(path.Child("options"), c)...)
	problems = append(problems, image(path.Child("toolsImage"), c.ToolsImage, false)...)
	if c.PlacePGs && c.Identities.Tuner == "" {
		problems = append(problems, field.Forbidden(path.Child("placePGs"), "moving placement groups needs an identity: set identities.tuner, for example to cephtune-tuner"))
	}
	return append(problems, c.Identities.validate(path.Child("identities"))...)
}

// options checks the entries of Options without asking Ceph. It does not check the entries' Values, and does
// not compare Min with Max.
func options(path *field.Path, c Cluster) field.ErrorList {
	var problems field.ErrorList
	for i, option := range c.Options {
		place := path.Index(i)
		problems = append(problems, option.validate(place, c)...)
		same := func(o Option) bool {
			return o.Name == option.Name && o.Pool == option.Pool && o.Mask == option.Mask
		}
		if slices.ContainsFunc(c.Options[:i], same) {
			problems = append(problems, field.Duplicate(place, option.Name))
		}
	}
	if len(c.Options) > 0 && c.Identities.Tuner == "" {
		problems = append(problems, field.Forbidden(path, "changing options needs an identity: set identities.tuner, for example to cephtune-tuner"))
	}
	return problems
}

func (o Option) validate(path *field.Path, c Cluster) field.ErrorList {
	var problems field.ErrorList
	if !regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`).MatchString(o.Name) {
		problems = append(problems, field.Invalid(path.Child("name"), o.Name, "write the name of an option that `ceph config help` or `ceph osd pool get` accepts"))
	}
	risk, reason := ConfigRisk(o.Name)
	if o.Pool != "" {
		risk, reason = PoolRisk(o.Name)
	}
	if risk == RiskNever {
		problems = append(problems, field.Forbidden(path.Child("name"), o.Name+" is never varied, because "+reason+": remove the entry"))
	}
	problems = append(problems, o.validatePlace(path, c)...)
	if o.SwitchUnderLoad && (o.Pool != "" || risk == RiskRestart) {
		problems = append(problems, field.Forbidden(path.Child("switchUnderLoad"), "only options that OSDs take while they run can be switched under a load: remove switchUnderLoad"))
	}
	if cause := o.needsMax(); cause != "" && o.Max == "" && len(o.Values) == 0 {
		problems = append(problems, field.Required(path.Child("max"), cause))
	}
	for _, bound := range []struct{ name, value string }{{"min", o.Min}, {"max", o.Max}} {
		if bound.value != "" && !regexp.MustCompile(`^-?[0-9]+(\.[0-9]+|[KMGTPE]i?)?$`).MatchString(bound.value) {
			problems = append(problems, field.Invalid(path.Child(bound.name), bound.value, "write a number as Ceph takes it, such as 64, 0.5 or 4Gi"))
		}
	}
	return problems
}

// validatePlace checks the pool and the mask of an option, and that an option of an existing pool does not
// alter stored data.
func (o Option) validatePlace(path *field.Path, c Cluster) field.ErrorList {
	var problems field.ErrorList
	if o.Pool == "" && o.Name == "pg_num" {
		problems = append(problems, field.Required(path.Child("pool"), "pg_num is an option of a pool: name the pool"))
	}
	if o.Pool != "" && o.Mask != "" {
		problems = append(problems, field.Forbidden(path.Child("mask"), "an option of a pool has no mask: remove the mask"))
	}
	if o.Pool != "" && !c.AllowsPool(o.Pool) {
		problems = append(problems, field.Invalid(path.Child("pool"), o.Pool, "the pool is not in existingPools: add it there too"))
	}
	if o.Pool != "" && AltersStoredData(o.Name) {
		problems = append(problems, field.Forbidden(path.Child("name"), o.Name+" alters stored data, so it is for scratch pools, which need no entry: remove the entry"))
	}
	if o.Mask != "" && !regexp.MustCompile(`^(class|host):[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`).MatchString(o.Mask) {
		problems = append(problems, field.Invalid(path.Child("mask"), o.Mask, "write class:CLASS or host:HOST, with at most 63 characters after the colon"))
	}
	return problems
}

// pools checks a list of existing pools. The list must not contain scratch pools, because benchmarks create
// and remove those.
func pools(path *field.Path, names []string) field.ErrorList {
	var problems field.ErrorList
	for i, pool := range names {
		place := path.Index(i)
		switch {
		case strings.HasPrefix(pool, "."):
			problems = append(problems, field.Invalid(place, pool, "pools that begin with a dot belong to Ceph itself: remove this pool"))
		case len(pool) > maxPoolName || !regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`).MatchString(pool):
			problems = append(problems, field.Invalid(place, pool, "write the name of a pool as `ceph osd pool ls` shows it: letters, digits, '_', '.' and '-'"))
		case pool == ScratchPool || pool == ScratchDataPool:
			problems = append(problems, field.Invalid(place, pool, "the scratch pools are always allowed, as target.scratchPool: remove this pool"))
		case slices.Contains(names[:i], pool):
			problems = append(problems, field.Duplicate(place, pool))
		}
	}
	return problems
}

func storageClasses(path *field.Path, classes []StorageClass) field.ErrorList {
	var problems field.ErrorList
	for i, class := range classes {
		place := path.Index(i)
		problems = append(problems, name(place.Child("name"), class.Name, "the name of a StorageClass", validation.IsDNS1123Subdomain)...)
		if class.MaxTotal.Sign() <= 0 {
			problems = append(problems, field.Invalid(place.Child("maxTotal"), class.MaxTotal.String(), "write the most in all claims of a benchmark, such as 100Gi; to allow none, remove the entry"))
		}
		if slices.ContainsFunc(classes[:i], func(c StorageClass) bool { return c.Name == class.Name }) {
			problems = append(problems, field.Duplicate(place, class.Name))
		}
	}
	return problems
}

// validate checks the names of the identities. It also rejects an identity in two roles, because its key would
// have the rights of both. Above all, the key of IO must have no other rights: everyone who may create pods in
// a benchmark namespace can use that key.
func (ids Identities) validate(path *field.Path) field.ErrorList {
	var problems field.ErrorList
	problems = append(problems, identity(path.Child("observer"), ids.Observer)...)
	problems = append(problems, identity(path.Child("io"), ids.IO)...)
	if ids.CacheDropper != "" {
		problems = append(problems, identity(path.Child("cacheDropper"), ids.CacheDropper)...)
	}
	if ids.Tuner != "" {
		problems = append(problems, identity(path.Child("tuner"), ids.Tuner)...)
		if ids.Tuner == ids.Observer || ids.Tuner == ids.CacheDropper {
			problems = append(problems, field.Invalid(path.Child("tuner"), ids.Tuner, "it changes settings, so it must be an identity of its own: write another CephClient"))
		}
	}
	if ids.OSDStopper != "" {
		problems = append(problems, identity(path.Child("osdStopper"), ids.OSDStopper)...)
		if slices.Contains([]string{ids.Observer, ids.CacheDropper, ids.Tuner, ids.IO}, ids.OSDStopper) {
			problems = append(problems, field.Invalid(path.Child("osdStopper"), ids.OSDStopper, "it stops OSDs, so it must be an identity of its own: write another CephClient"))
		}
	}
	if ids.Observer == ids.IO || ids.CacheDropper == ids.IO || ids.Tuner == ids.IO {
		problems = append(problems, field.Invalid(path.Child("io"), ids.IO, "its key is given to pods, so it must be an identity that nothing else uses: write another CephClient"))
	}
	if ids.CacheDropper == ids.Observer {
		problems = append(problems, field.Invalid(path.Child("cacheDropper"), ids.CacheDropper, "it may do anything to all OSDs, so it must be an identity of its own: write another CephClient"))
	}
	return problems
}

func identity(path *field.Path, id string) field.ErrorList {
	if reserved := regexp.MustCompile(`^(client\.|admin$|rgw|rbd-mirror|osd\.|bootstrap-|csi-)`); reserved.MatchString(id) {
		return field.ErrorList{field.Invalid(path, id, `write the name of a CephClient of cephtune's own, without "client."`)}
	}
	return name(path, id, "the name of a CephClient", validation.IsDNS1123Subdomain)
}

func (i Images) validate(path *field.Path, needed bool) field.ErrorList {
	var problems field.ErrorList
	problems = append(problems, image(path.Child("tools"), i.Tools, needed)...)
	problems = append(problems, image(path.Child("runner"), i.Runner, needed)...)
	policies := []corev1.PullPolicy{corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever}
	if !slices.Contains(policies, corev1.PullPolicy(i.PullPolicy)) {
		problems = append(problems, field.NotSupported(path.Child("pullPolicy"), corev1.PullPolicy(i.PullPolicy), policies))
	}
	for n, secret := range i.PullSecrets {
		place := path.Child("pullSecrets").Index(n)
		problems = append(problems, name(place, secret, "the name of a Secret in the benchmark namespaces", validation.IsDNS1123Subdomain)...)
		if slices.Contains(i.PullSecrets[:n], secret) {
			problems = append(problems, field.Duplicate(place, secret))
		}
	}
	return problems
}

func (p Pods) validate(path *field.Path) field.ErrorList {
	var problems field.ErrorList
	if d := p.StartTimeout.Duration; d < minStartTimeout || d > maxStartTimeout {
		problems = append(problems, field.Invalid(path.Child("startTimeout"), d.String(), "write a time between 10s and 24h, such as 5m"))
	}
	if p.PriorityClassName != "" {
		problems = append(problems, name(path.Child("priorityClassName"), p.PriorityClassName, "the name of a PriorityClass", validation.IsDNS1123Subdomain)...)
	}
	problems = append(problems, metav1validation.ValidateLabels(p.Labels, path.Child("labels"))...)
	problems = append(problems, metav1validation.ValidateLabels(p.NodeSelector, path.Child("nodeSelector"))...)
	problems = append(problems, ours(path.Child("labels"), p.Labels)...)
	for _, key := range sets.List(sets.KeySet(p.Annotations)) {
		problems = append(problems, name(path.Child("annotations"), key, "a key such as example.com/name", validation.IsQualifiedName)...)
	}
	return append(problems, ours(path.Child("annotations"), p.Annotations)...)
}

func image(path *field.Path, reference string, needed bool) field.ErrorList {
	switch {
	case reference == "" && needed:
		return field.ErrorList{field.Required(path, "write the reference of an image, such as ghcr.io/cephtune/tools:0.1.0")}
	case strings.ContainsFunc(reference, unicode.IsSpace):
		return field.ErrorList{field.Invalid(path, reference, "write the reference of an image, which has no spaces")}
	}
	return nil
}

// ours rejects the labels and annotations that cephtune sets on pods itself, and all others with the prefix
// cephtune.dev/.
func ours(path *field.Path, pairs map[string]string) field.ErrorList {
	var problems field.ErrorList
	for _, key := range sets.List(sets.KeySet(pairs)) {
		if key == LabelManagedBy || key == LabelComponent || strings.HasPrefix(key, "cephtune.dev/") {
			problems = append(problems, field.Forbidden(path.Key(key), "cephtune sets it itself: remove it"))
		}
	}
	return problems
}

// name checks a required value by one of Kubernetes' validation rules.
func name(path *field.Path, value, wanted string, rule func(string) []string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "write "+wanted)}
	}
	if broken := rule(value); len(broken) > 0 {
		return field.ErrorList{field.Invalid(path, value, "write "+wanted+": "+broken[0])}
	}
	return nil
}
