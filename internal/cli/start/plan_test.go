package start

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
)

// planning is a cluster whose operator plans at once. It records the created objects.
func planningCluster(t *testing.T, finish func(*v1alpha1.CephTuningSweep), created *[]v1alpha1.CephTuningSweep) client.WithWatch {
	return interceptor.NewClient(clitest.Holding(t), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			s, ok := o.(*v1alpha1.CephTuningSweep)
			if !ok {
				t.Fatalf("a %T is created", o)
			}
			*created = append(*created, *s.DeepCopy())
			s.Name = s.GenerateName + "x7k2p"
			s.Status.ObservedRunID, s.Status.ObservedGeneration = s.Spec.RunID, s.Generation
			finish(s)
			return c.Create(ctx, o)
		},
	})
}

func planned(refusals ...string) func(*v1alpha1.CephTuningSweep) {
	return func(s *v1alpha1.CephTuningSweep) {
		s.Status.Plan = &v1alpha1.SweepPlan{
			Baseline:       []v1alpha1.BaselineValue{{Name: "pg_num", Value: "32"}},
			Configurations: 3, MinimumRuns: 40, MaximumRuns: 72,
			EstimatedDuration: &metav1.Duration{Duration: 4 * time.Hour}, RunDuration: &metav1.Duration{Duration: 3 * time.Minute},
			EstimatedBytesWritten: new(resource.MustParse("432Gi")), RunBytesWritten: new(resource.MustParse("6Gi")),
			PlacementGroupChanges: 960, SmallestEffect: "6.8%", Refusals: refusals,
		}
		clitest.Complete(&s.Status.Conditions, "The plan is in status.")
	}
}

func refused(s *v1alpha1.CephTuningSweep) {
	clitest.Set(&s.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNotAllowed, "The settings do not list CephCluster my-cluster.")
	clitest.Set(&s.Status.Conditions, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotAllowed, "The settings do not list CephCluster my-cluster.")
}

// switched returns the plan of a sweep that switches settings under a load.
func switched(sessions int32) func(*v1alpha1.CephTuningSweep) {
	return func(s *v1alpha1.CephTuningSweep) {
		planned()(s)
		plan := s.Status.Plan
		plan.Pairs = 8
		if sessions == 1 {
			plan.Pairs = 60
		}
		plan.Design, plan.Sessions, plan.MinimumRuns, plan.MaximumRuns = v1alpha1.DesignInterleaved, sessions, sessions, sessions
	}
}

// because returns a plan of Blocks with the reason of design Auto.
func because(reason string) func(*v1alpha1.CephTuningSweep) {
	return func(s *v1alpha1.CephTuningSweep) {
		planned()(s)
		s.Status.Plan.Design, s.Status.Plan.DesignReason = v1alpha1.DesignBlocks, reason
	}
}

func TestPlanGolden(t *testing.T) {
	sweep := clitest.SampleFile(t, "cephtuningsweep_pg_num")
	for name, c := range map[string]struct {
		line   string
		finish func(*v1alpha1.CephTuningSweep)
	}{
		"a plan":                 {"-f SWEEP", planned()},
		"a plan with refusals":   {"-f SWEEP", planned("The administrator does not allow varying pg_num.", "The budget is too small.")},
		"a plan of sessions":     {"-f SWEEP", switched(3)},
		"a plan of one session":  {"-f SWEEP", switched(1)},
		"a plan that says why":   {"-f SWEEP", because("Option osd_mclock_profile may not be switched under a load.")},
		"no plan":                {"-f SWEEP", refused},
		"nobody plans":           {"-f SWEEP --timeout 500ms", func(*v1alpha1.CephTuningSweep) {}},
		"usage no file":          {"", nil},
		"usage an argument":      {"pg-num", nil},
		"usage an output":        {"-f SWEEP -o wide", nil},
		"usage negative timeout": {"-f SWEEP --timeout -1s", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var created []v1alpha1.CephTuningSweep
			cluster := planningCluster(t, c.finish, &created)
			line := strings.ReplaceAll(c.line, "SWEEP", sweep)
			got := clitest.Execute(t, NewPlanCommand(clitest.Connecting(cluster)), line, "")
			text := strings.ReplaceAll(got.String(), sweep, "SWEEP")
			clitest.Golden(t, "plan/"+name, "$ plan "+c.line+"\n"+text, *update)

			if slices.ContainsFunc(created, func(s v1alpha1.CephTuningSweep) bool {
				return s.Spec.Mode != v1alpha1.SweepModePlan || s.Name != "" || !strings.HasSuffix(s.GenerateName, "-plan-")
			}) {
				t.Errorf("created %+v", created)
			}
			left := &v1alpha1.CephTuningSweepList{}
			if err := cluster.List(t.Context(), left); err != nil || len(left.Items) > 0 {
				t.Errorf("left behind: %v, %v", left.Items, err)
			}
		})
	}
}

func TestTheObjectForScripts(t *testing.T) {
	var created []v1alpha1.CephTuningSweep
	cmd := NewPlanCommand(clitest.Connecting(planningCluster(t, planned(), &created)))
	got := clitest.Execute(t, cmd, "-o json -f "+clitest.SampleFile(t, "cephtuningsweep_pg_num"), "")
	if got.Err != nil || !strings.Contains(got.Stdout, `"maximumRuns": 72`) || got.Stderr != "" {
		t.Errorf("%v\n%s\n%s", got.Err, got.Stdout, got.Stderr)
	}
}
