package trial_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/signature/trial"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// The API server sets defaults and drops unknown fields. What it stores must be what was signed, for every kind of
// load, target and parameter.
func TestWhatTheAPIServerStoresIsSigned(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(apiserver.Start(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "signed"}}); err != nil {
		t.Fatal(err)
	}
	for name, s := range sweepsOfSamples(t) {
		t.Run(name, func(t *testing.T) {
			s.Namespace, s.ResourceVersion = "signed", ""
			if err := c.Create(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			s.Status.ObservedRunID, s.Status.Trial = s.Spec.RunID, trial.Next(s, 1, nil)
			values := map[string]cephvalue.Value{}
			for _, p := range s.Spec.Parameters {
				if len(p.Values) > 0 {
					values[string(p.Name)] = cephvalue.Of(string(p.Values[0]))
				}
			}
			b, err := sweepspec.Child{Sweep: s, Run: 1, Configuration: sweep.Configuration{Values: values}}.Benchmark()
			if err != nil {
				t.Fatal(err)
			}
			if err := trial.Sign(key, s, b); err != nil {
				t.Fatal(err)
			}
			if err := c.Create(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			stored := &v1alpha1.CephBenchmark{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(b), stored); err != nil {
				t.Fatal(err)
			}
			for from, object := range map[string]*v1alpha1.CephBenchmark{"the answer": b, "what is stored": stored} {
				if signed, err := trial.IsSigned(key, s, object); err != nil || !signed {
					text, _ := yaml.Marshal(object.Spec)
					t.Errorf("%s is not what was signed (%v):\n%s", from, err, text)
				}
			}
		})
	}
}

// sweepsOfSamples returns the sweeps of the samples, and sweeps with the targets and loads of the other samples.
func sweepsOfSamples(t *testing.T) map[string]*v1alpha1.CephTuningSweep {
	t.Helper()
	all := map[string]*v1alpha1.CephTuningSweep{}
	paths, err := filepath.Glob("../../../config/samples/cephtuningsweep_*.yaml")
	others, failure := filepath.Glob("../../../config/samples/cephbenchmark_*.yaml")
	if err != nil || failure != nil || len(paths) < 5 || len(others) < 8 {
		t.Fatalf("%d and %d samples, %v, %v", len(paths), len(others), err, failure)
	}
	for _, path := range append(paths, others...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, b := &v1alpha1.CephTuningSweep{}, &v1alpha1.CephBenchmark{}
		if err := errors.Join(yaml.Unmarshal(text, s), yaml.Unmarshal(text, b)); err != nil {
			t.Fatal(err)
		}
		if s.Kind == v1alpha1.KindCephBenchmark {
			if b.Spec.Diagnosis != nil {
				continue // It has no template, so no sweep has it.
			}
			s = underSweep(b)
		}
		all[filepath.Base(path)] = s
	}
	return all
}

// underSweep returns a sweep with the template of a benchmark.
func underSweep(b *v1alpha1.CephBenchmark) *v1alpha1.CephTuningSweep {
	s := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Name: "of-" + b.Name}}
	s.Spec.ClusterRef, s.Spec.Template = b.Spec.ClusterRef, b.Spec.Template
	s.Spec.Template.InitialState = "" // Rollback is not for sweeps.
	s.Spec.Parameters = []v1alpha1.Parameter{{
		Name: "profile", Config: &v1alpha1.ConfigParameter{Section: "osd", Option: "osd_mclock_profile"}, Values: []v1alpha1.ParameterValue{"high_client_ops"},
	}}
	s.Spec.Objective.MetricReference = v1alpha1.MetricReference{Phase: b.Spec.Template.Phases[0].Name, Metric: v1alpha1.MetricBandwidth}
	return s
}
