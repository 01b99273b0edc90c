package rights

import (
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// manifests are the files in config with the rights of a manager, in its own namespace and in that of benchmarks.
func manifests() []string {
	return []string{"rbac/role.yaml", "rbac/custom_resources_binding.yaml", "rbac/cluster_locks.yaml", "rbac/leader_election.yaml", "bench/role.yaml"}
}

// Rules are the rights of a manager whose own namespace is also the namespace for benchmarks.
type Rules []rbacv1.PolicyRule

// Read reads the rights in the manifests, for API servers that check none.
func Read(t testing.TB) (all Rules) {
	t.Helper()
	for _, file := range manifests() {
		for _, object := range read(t, filepath.Join(apiserver.Root(t), "config", file)) {
			var role rbacv1.ClusterRole // A Role has the same field.
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
				t.Fatal(err)
			}
			all = append(all, role.Rules...)
		}
	}
	return all
}

// Allow reports whether the rules allow a request. The resource may have a subresource, such as "pods/status".
func (r Rules) Allow(verb, group, resource, name string) bool {
	return slices.ContainsFunc(r, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Verbs, verb) && slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) &&
			(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, name))
	})
}
