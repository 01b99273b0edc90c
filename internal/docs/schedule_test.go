package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
)

// schedule is what the page about schedules has people apply.
type schedule struct {
	job     batchv1.CronJob
	account corev1.ServiceAccount
	role    rbacv1.Role
	binding rbacv1.RoleBinding
}

func readSchedule(t *testing.T) schedule {
	t.Helper()
	s := schedule{}
	// As strict as kubectl, which refuses fields that it does not know.
	options := json.SerializerOptions{Yaml: true, Strict: true}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, options)
	for _, b := range readPage(t, "docs/howto/run-on-a-schedule.md").blocks {
		if b.language != "yml" {
			continue
		}
		for text := range strings.SplitSeq(b.text, "\n---\n") {
			object, _, err := decoder.Decode([]byte(text), nil, nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			switch object := object.(type) {
			case *batchv1.CronJob:
				s.job = *object
			case *corev1.ServiceAccount:
				s.account = *object
			case *rbacv1.Role:
				s.role = *object
			case *rbacv1.RoleBinding:
				s.binding = *object
			default:
				t.Fatalf("what is a %T for?", object)
			}
		}
	}
	return s
}

// TestTheScheduleHoldsTogether: the CronJob runs as whom the Role is bound to, and changes
// what that allows it to change, with words that are run IDs.
func TestTheScheduleHoldsTogether(t *testing.T) {
	s := readSchedule(t)
	pod := s.job.Spec.JobTemplate.Spec.Template.Spec
	if pod.ServiceAccountName != s.account.Name || s.binding.Subjects[0].Name != s.account.Name || s.binding.RoleRef.Name != s.role.Name {
		t.Errorf("the pod runs as %q, the account is %q, and role %q is bound to %q", pod.ServiceAccountName, s.account.Name, s.binding.RoleRef.Name, s.binding.Subjects[0].Name)
	}
	rule := s.role.Rules[0]
	args := pod.Containers[0].Args
	if args[0] != "patch" || args[1] != "cephbenchmark" || !slices.Equal(rule.ResourceNames, args[2:3]) || !slices.Equal(rule.Verbs, []string{"get", "patch"}) {
		t.Errorf("%q is run, and %v is allowed", args, rule)
	}
	if !strings.Contains(strings.Join(args, " "), `"runID":"$(`+pod.Containers[0].Env[0].Name+`)"`) {
		t.Errorf("the run ID is not that of the environment: %q", args)
	}
	id := s.job.Name + "-29412345" // As the controller of CronJobs names Jobs: by the minute.
	if !regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,38}[A-Za-z0-9])?$`).MatchString(id) {
		t.Errorf("%q is no run ID", id)
	}
}
