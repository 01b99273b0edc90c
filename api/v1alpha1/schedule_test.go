package v1alpha1_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// testSchedule applies what docs/howto/run-on-a-schedule.md has people apply, and makes the
// request of its CronJob as its ServiceAccount: that is allowed, and nothing more.
func testSchedule(t *testing.T, config *rest.Config, c client.Client) {
	job := applySchedule(t, c)
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	args := pod.Containers[0].Args
	name := args[slices.Index(args, "cephbenchmark")+1]

	as := rest.CopyConfig(config)
	as.Impersonate.UserName = "system:serviceaccount:" + job.Namespace + ":" + pod.ServiceAccountName
	as.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	scheduler, err := client.New(as, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	patch := strings.ReplaceAll(strings.TrimPrefix(args[len(args)-1], "--patch="), "$("+pod.Containers[0].Env[0].Name+")", job.Name+"-29412345")
	mayPatch := func(name string) (*unstructured.Unstructured, error) {
		b := parse(t, strings.ReplaceAll(minimalBenchmark, "name: minimal", "name: "+name))
		if err := c.Create(deadline(t), b); err != nil {
			t.Fatal(err)
		}
		if err := scheduler.Get(deadline(t), client.ObjectKeyFromObject(b), b); err != nil { // As kubectl does first.
			return nil, err
		}
		return b, scheduler.Patch(deadline(t), b, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	b, err := mayPatch(name)
	if err != nil {
		t.Fatal(err)
	}
	if id, _, _ := unstructured.NestedString(b.Object, "spec", "runID"); id != job.Name+"-29412345" {
		t.Errorf("the run ID is %q after %s", id, patch)
	}
	if err := scheduler.Delete(deadline(t), b); !apierrors.IsForbidden(err) {
		t.Errorf("it may delete the benchmark, too: %v", err)
	}
	if _, err := mayPatch("another"); !apierrors.IsForbidden(err) {
		t.Errorf("it may change another benchmark, too: %v", err)
	}
}

// applySchedule creates all objects of the page, and returns the CronJob.
func applySchedule(t *testing.T, c client.Client) *batchv1.CronJob {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(apiserver.Root(t), "docs", "howto", "run-on-a-schedule.md"))
	if err != nil {
		t.Fatal(err)
	}
	job := &batchv1.CronJob{}
	for _, match := range regexp.MustCompile("(?ms)^```yml\\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		for one := range strings.SplitSeq(match[1], "\n---\n") {
			object := parse(t, one)
			if err := c.Create(deadline(t), object); err != nil {
				t.Fatalf("%v\n%s", err, one)
			}
			if object.GetKind() != "CronJob" {
				continue
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, job); err != nil {
				t.Fatal(err)
			}
		}
	}
	if job.Name == "" {
		t.Fatal("the page has no CronJob")
	}
	return job
}
