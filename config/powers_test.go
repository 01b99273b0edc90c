package config

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/internal/settings"
)

var update = flag.Bool("update", false, "write docs/powers.md again; read its diff before you commit it")

const (
	powersPage  = "../docs/powers.md"
	reasonsFile = "testdata/reasons.yaml"

	manager    = "ServiceAccount cephtune-system/cephtune-manager"
	everywhere = "the whole cluster"
)

// installations returns the folders that can be applied, in the order of the page: what "make
// deploy" applies, then each folder that adds or replaces a part of it.
func installations() []string {
	return []string{"namespaced", "default", "ceph-cache-dropper", "ceph-osd-restarter", "ceph-osd-stopper"}
}

// power is something that an account may do.
type power struct {
	who, where, role string
	resource         string // GROUP/RESOURCE, or a URL
	names            []string
	verbs            []string
}

// reasons says why a power is needed, by role and resource.
type reasons map[string]map[string]string

// TestPowers compares the powers in the manifests with the page about them. It fails if the
// manifests grant more or less than the page says, or if a power has no reason.
func TestPowers(t *testing.T) {
	got := page(t)
	if *update {
		if err := os.WriteFile(powersPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, powersPage), got); diff != "" {
		t.Errorf("the manifests grant other rights than docs/powers.md lists (-page +manifests); if you intend that, "+
			"write the reason into config/%s and run: go test ./config -run TestPowers -update\n%s", reasonsFile, diff)
	}
}

// The clients' key and the manager's role name the scratch pools of all targets, and the chart's check of existing pools
// refuses these names.
func TestScratchPoolsAreNamed(t *testing.T) {
	for _, file := range []string{"ceph/io.yaml", "ceph/role.yaml", "../charts/cephtune/templates/_helpers.tpl"} {
		text := read(t, file)
		for target := range settings.MaxTargets {
			if names := settings.ScratchNamesOf(target); !strings.Contains(text, names.Pool) {
				t.Errorf("%s does not name %s", file, names.Pool)
			}
		}
	}
	if next := settings.ScratchNamesOf(settings.MaxTargets); strings.Contains(read(t, "ceph/role.yaml"), next.Pool) || settings.IsScratchPool(next.Data) {
		t.Errorf("%s is named, but no target has it", next.Pool)
	}
}

// These powers are not granted to any account, whatever the page says.
func TestForbiddenPowers(t *testing.T) {
	for _, folder := range folders(t) {
		for _, p := range powersOf(t, render(t, folder)) {
			for _, problem := range tooMuch(p) {
				t.Errorf("%s: %s has %s of %s in %s: %s", folder, p.who, strings.Join(p.verbs, ", "), p.resource, p.where, problem)
			}
		}
	}
}

// tooMuch returns the reasons why a power must not be granted to its account; nil if it may be granted.
func tooMuch(p power) []string {
	var problems []string
	if strings.Contains(p.resource, "*") || slices.Contains(p.verbs, "*") || slices.Contains(p.names, "*") {
		problems = append(problems, "a wildcard also covers what is added later")
	}
	for _, verb := range []string{"escalate", "bind", "impersonate", "approve", "sign"} {
		if slices.Contains(p.verbs, verb) {
			problems = append(problems, "it allows the account to gain more rights")
		}
	}
	_, kind, _ := strings.Cut(p.resource, "/")
	if slices.Contains([]string{"exec", "attach", "portforward", "proxy", "ephemeralcontainers", "token"}, kind) || p.resource == "pods" && slices.Contains(p.verbs, "create") {
		problems = append(problems, "it allows the account to use the rights of other accounts")
	}
	if p.resource == "secrets" && readsSecretsOfOthers(p) {
		problems = append(problems, "Secrets may only be created, or read by name")
	}
	if p.who == manager && p.where == everywhere && changesOthers(p) {
		problems = append(problems, "it allows changes outside the namespaces of benchmarks")
	}
	return problems
}

// readsSecretsOfOthers reports whether a power allows more than creating Secrets and reading them
// by name.
func readsSecretsOfOthers(p power) bool {
	other := slices.ContainsFunc(p.verbs, func(verb string) bool { return verb != "create" && verb != "get" })
	return other || slices.Contains(p.verbs, "get") != (len(p.names) > 0)
}

// changesOthers reports whether a power allows writing objects that are not the manager's own.
func changesOthers(p power) bool {
	harmless := strings.HasPrefix(p.resource, "cephtune.dev/") ||
		slices.Contains([]string{"events.k8s.io/events", "authentication.k8s.io/tokenreviews", "authorization.k8s.io/subjectaccessreviews"}, p.resource)
	return !harmless && slices.ContainsFunc(p.verbs, func(verb string) bool {
		return !slices.Contains([]string{"get", "list", "watch"}, verb)
	})
}

// powersOf lists the powers that bindings grant, and those of ClusterRoles without a binding.
func powersOf(t *testing.T, objects []unstructured.Unstructured) []power {
	t.Helper()
	rules, bound := map[string][]rbacv1.PolicyRule{}, map[string]bool{}
	for i := range objects {
		switch o := &objects[i]; o.GetKind() {
		case "Role":
			rules["Role "+o.GetNamespace()+"/"+o.GetName()] = as[rbacv1.Role](t, o).Rules
		case "ClusterRole":
			rules["ClusterRole "+o.GetName()] = as[rbacv1.ClusterRole](t, o).Rules
		}
	}
	var all []power
	give := func(o *unstructured.Unstructured, where string) {
		binding := as[rbacv1.RoleBinding](t, o) // A ClusterRoleBinding has the same fields.
		role := "Role " + where + "/" + binding.RoleRef.Name
		if binding.RoleRef.Kind == "ClusterRole" {
			role = "ClusterRole " + binding.RoleRef.Name
		}
		if rules[role] == nil {
			t.Errorf("%s %s binds %s, which does not exist", o.GetKind(), o.GetName(), role)
		}
		bound[role] = true
		for _, s := range binding.Subjects {
			who := fmt.Sprintf("%s %s/%s", s.Kind, s.Namespace, s.Name)
			all = append(all, powers(who, where, binding.RoleRef.Name, rules[role])...)
		}
	}
	for i := range objects {
		switch o := &objects[i]; o.GetKind() {
		case "RoleBinding":
			give(o, o.GetNamespace())
		case "ClusterRoleBinding":
			give(o, everywhere)
		}
	}
	for i := range objects {
		o := &objects[i]
		if name := "ClusterRole " + o.GetName(); o.GetKind() == "ClusterRole" && !bound[name] {
			all = append(all, powers(whoHas(o), "where it is bound", o.GetName(), rules[name])...)
		}
	}
	return all
}

// whoHas says who has a ClusterRole without a binding.
func whoHas(o *unstructured.Unstructured) string {
	var roles []string
	for label, value := range o.GetLabels() {
		if role, ok := strings.CutPrefix(label, "rbac.authorization.k8s.io/aggregate-to-"); ok && value == "true" {
			roles = append(roles, role)
		}
	}
	if len(roles) == 0 {
		return "users with a binding of the role"
	}
	slices.Sort(roles)
	return "users with role " + strings.Join(roles, " or ")
}

func powers(who, where, role string, rules []rbacv1.PolicyRule) []power {
	var all []power
	for _, rule := range rules {
		for _, url := range rule.NonResourceURLs {
			all = append(all, power{who: who, where: where, role: role, resource: url, verbs: rule.Verbs})
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				if group != "" {
					resource = group + "/" + resource
				}
				all = append(all, power{who: who, where: where, role: role, resource: resource, names: rule.ResourceNames, verbs: rule.Verbs})
			}
		}
	}
	return all
}

// page renders docs/powers.md from the manifests and the reasons.
func page(t *testing.T) string {
	t.Helper()
	var purposes reasons
	if err := yaml.UnmarshalStrict([]byte(read(t, reasonsFile)), &purposes); err != nil {
		t.Fatal(err)
	}
	text := strings.Builder{}
	text.WriteString(`# Who may do what

This page lists every right that the manifests in ` + "`config`" + ` grant, and the code that uses it. A test generates the page
(` + "`go test ./config`" + `), and fails if the manifests grant more or less than the page says. [SECURITY.md](../SECURITY.md)
explains what an attacker could do with these rights, and [cephx caps](cephx-caps.md) explains the caps of each key.
`)
	shown, used := map[string]bool{}, map[string]bool{}
	for _, folder := range installations() {
		objects := render(t, folder)
		fmt.Fprintf(&text, "\n## %s\n\n%s\n", titles()[folder], comments()[folder])
		text.WriteString(tableOfPowers(t, powersOf(t, objects), purposes, shown, used))
		text.WriteString(tableOfKeys(t, objects))
	}
	for role, resources := range purposes {
		for resource := range resources {
			if !used[role+" "+resource] {
				t.Errorf("%s has a reason for %s of role %s, but no account has that right: remove the reason", reasonsFile, resource, role)
			}
		}
	}
	return text.String()
}

func titles() map[string]string {
	return map[string]string{
		"namespaced":         "As `make deploy` installs it",
		"default":            "With `config/default` in place of `config/namespaced`",
		"ceph-cache-dropper": "With `config/ceph-cache-dropper`",
		"ceph-osd-restarter": "With `config/ceph-osd-restarter`",
		"ceph-osd-stopper":   "With `config/ceph-osd-stopper`",
	}
}

func comments() map[string]string {
	return map[string]string{
		"namespaced":         "`config/namespaced` installs the operator for CRs in one namespace and a CephCluster in another.",
		"default":            "The manager handles CRs in all namespaces. `config/bench`, `config/ceph` and `config/ceph-tuner` grant the other rights, as above.",
		"ceph-cache-dropper": "For `osdCaches: DropBeforePhase`. It is off unless you apply this folder and set `identities.cacheDropper`.",
		"ceph-osd-restarter": "For `guardrails.osdRestarts: Allow`. It is off unless you apply this folder and set `restartOSDs`.",
		"ceph-osd-stopper":   "For `template.outage`. It is off unless you apply this folder, and set `identities.osdStopper` and `stopOSDs`.",
	}
}

// tableOfPowers lists the powers that were not shown before.
func tableOfPowers(t *testing.T, all []power, purposes reasons, shown, used map[string]bool) string {
	t.Helper()
	text := strings.Builder{}
	who := ""
	slices.SortStableFunc(all, func(a, b power) int { return strings.Compare(a.who+" "+a.where, b.who+" "+b.where) })
	for _, p := range all {
		names := "any"
		if len(p.names) > 0 {
			names = "`" + strings.Join(p.names, "`, `") + "`"
		}
		row := fmt.Sprintf("| %s | %s | `%s` | %s |", p.where, strings.Join(p.verbs, ", "), p.resource, names)
		if shown[p.who+row] {
			continue
		}
		shown[p.who+row] = true
		because := purposes[p.role][p.resource]
		if because == "" {
			t.Errorf("there is no reason why %s has %s of %s: add one to %s below %s, or remove the right", p.who, strings.Join(p.verbs, ", "), p.resource, reasonsFile, p.role)
		}
		used[p.role+" "+p.resource] = true
		if p.who != who {
			who = p.who
			fmt.Fprintf(&text, "\n**%s%s**\n\n| where | verbs | resource | names | purpose |\n|---|---|---|---|---|\n", strings.ToUpper(who[:1]), who[1:])
		}
		fmt.Fprintf(&text, "%s %s |\n", row, because)
	}
	return text.String()
}

// tableOfKeys lists the caps of the keys that Rook creates.
func tableOfKeys(t *testing.T, objects []unstructured.Unstructured) string {
	t.Helper()
	text := strings.Builder{}
	for _, o := range objects {
		if o.GetKind() != "CephClient" {
			continue
		}
		caps, _, err := unstructured.NestedStringMap(o.Object, "spec", "caps")
		if err != nil {
			t.Fatal(err)
		}
		if text.Len() == 0 {
			text.WriteString("\n**Keys of Ceph**\n\n| key | daemon | caps |\n|---|---|---|\n")
		}
		for _, daemon := range []string{"mon", "mgr", "osd", "mds"} {
			for grant := range strings.SplitSeq(caps[daemon], ",") {
				if grant = strings.TrimSpace(grant); grant != "" {
					fmt.Fprintf(&text, "| `%s` | %s | `%s` |\n", o.GetName(), daemon, grant)
				}
			}
			delete(caps, daemon)
		}
		if len(caps) > 0 {
			t.Errorf("CephClient %s has caps for %v, which this test does not put on the page", o.GetName(), caps)
		}
	}
	return text.String()
}

func TestTooMuch(t *testing.T) {
	for name, p := range map[string]power{
		"all verbs":              {resource: "pods", verbs: []string{"*"}},
		"all resources":          {resource: "apps/*", verbs: []string{"get"}},
		"impersonation":          {resource: "users", verbs: []string{"impersonate"}},
		"shells in pods":         {resource: "pods/exec", verbs: []string{"create"}},
		"tokens of others":       {resource: "serviceaccounts/token", verbs: []string{"create"}},
		"all Secrets":            {resource: "secrets", verbs: []string{"get"}},
		"a list of Secrets":      {resource: "secrets", verbs: []string{"list"}, names: []string{"s"}},
		"changes of Secrets":     {resource: "secrets", verbs: []string{"patch"}, names: []string{"s"}},
		"Jobs in all namespaces": {who: manager, where: everywhere, resource: "batch/jobs", verbs: []string{"create"}},
	} {
		if len(tooMuch(p)) != 1 {
			t.Errorf("%s: problems %q, want one", name, tooMuch(p))
		}
	}
	for name, p := range map[string]power{
		"a Secret by name": {resource: "secrets", verbs: []string{"get"}, names: []string{"s"}},
		"new Secrets":      {resource: "secrets", verbs: []string{"create"}},
		"one namespace":    {who: manager, where: everywhere, resource: "namespaces", verbs: []string{"get"}},
		"reading CRs":      {who: manager, where: everywhere, resource: "cephtune.dev/cephbenchmarks", verbs: []string{"get", "patch"}},
	} {
		if problems := tooMuch(p); len(problems) > 0 {
			t.Errorf("%s: problems %q, want none", name, problems)
		}
	}
}
