package control

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
)

const finalizer = "cephtune.dev/restore"

func atWork(t *testing.T) *v1alpha1.CephTuningSweep {
	s := clitest.Sweep(t, "pg_num")
	s.Name, s.Namespace, s.Finalizers = "pg-num", clitest.Namespace, []string{finalizer}
	clitest.GoOn(&s.Status.Conditions, v1alpha1.ReasonRunning, "Run 8 is under way.")
	clitest.Set(&s.Status.Conditions, v1alpha1.ConditionRestored, metav1.ConditionFalse, v1alpha1.ReasonNotRestored, "pg_num of pool replicapool was 32.")
	return s
}

// removedAfterLooks is a cluster whose operator restores everything while the command looks a few times.
func removedAfterLooks(t *testing.T, s *v1alpha1.CephTuningSweep) client.WithWatch {
	looks := 0
	return interceptor.NewClient(clitest.Holding(t, s), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, o, opts...)
			found, ok := o.(*v1alpha1.CephTuningSweep)
			if err != nil || !ok || found.DeletionTimestamp.IsZero() {
				return err
			}
			switch looks++; looks {
			case 1, 2:
				clitest.GoOn(&found.Status.Conditions, v1alpha1.ReasonRestoring, "Waiting for the teardown of benchmark pg-num-8.")
			case 3:
				clitest.GoOn(&found.Status.Conditions, v1alpha1.ReasonRestoring, "Restoring everything, because the sweep is deleted.")
			default:
				found.Finalizers = nil
				if err := c.Update(ctx, found); err != nil {
					return err
				}
				return c.Get(ctx, key, o, opts...)
			}
			return nil
		},
	})
}

func TestCancelGolden(t *testing.T) {
	ended, abandoned, unseen := atWork(t), atWork(t), atWork(t)
	clitest.Complete(&ended.Status.Conditions, "It is done.")
	ended.Status.Conditions = ended.Status.Conditions[:1]
	clitest.Complete(&ended.Status.Conditions, "It is done.")
	abandoned.Annotations = map[string]string{v1alpha1.AnnotationAbandonRestore: "true"}
	unseen.Status.Conditions, unseen.Finalizers = nil, nil
	for name, c := range map[string]struct {
		line    string
		cluster client.WithWatch
	}{
		"a sweep at work":          {"pg-num", removedAfterLooks(t, atWork(t))},
		"a sweep nobody has seen":  {"pg-num", clitest.Holding(t, unseen)},
		"a sweep that is given up": {"pg-num", removedAfterLooks(t, abandoned)},
		"a sweep that has ended":   {"cephsweep pg-num", clitest.Holding(t, ended)},
		"in vain":                  {"pg-num --timeout 500ms", clitest.Holding(t, atWork(t))},
		"no such benchmark":        {"cephbench/pg-num", clitest.Holding(t)},
		"usage two names":          {"a/b c", nil},
		"usage negative timeout":   {"pg-num --timeout -1s", nil},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := NewCancelCommand(clitest.Connecting(c.cluster), clitest.Hurried())
			clitest.Golden(t, "cancel "+name, "$ cancel "+c.line+"\n"+clitest.Execute(t, cmd, c.line, "").String(), *update)
		})
	}
}

func TestCancelKeepsEndedObjects(t *testing.T) {
	for name, end := range map[string]func(*[]metav1.Condition){
		"complete": func(c *[]metav1.Condition) { clitest.Complete(c, "It is done.") },
		"failed on a verdict": func(c *[]metav1.Condition) {
			clitest.Fail(c, v1alpha1.ReasonFailedOnVerdict, "The verdict is Inferior.")
		},
	} {
		ended := atWork(t)
		ended.Status.Conditions = nil
		end(&ended.Status.Conditions)
		c := clitest.Holding(t, ended)
		got := clitest.Execute(t, NewCancelCommand(clitest.Connecting(c), clitest.Hurried()), "pg-num", "")
		err := c.Get(t.Context(), client.ObjectKeyFromObject(ended), &v1alpha1.CephTuningSweep{})
		if got.Code() != 1 || err != nil {
			t.Errorf("%s: %v, and the sweep: %v", name, got.Err, err)
		}
	}
}

func TestCancelReportsSettingsThatAreNotRestored(t *testing.T) {
	for reason, want := range map[string]int{
		v1alpha1.ReasonRestored: 0, v1alpha1.ReasonLeftAlone: 3, v1alpha1.ReasonOSDsNotRestarted: 3, v1alpha1.ReasonAbandoned: 3,
	} {
		s := atWork(t)
		clitest.Set(&s.Status.Conditions, v1alpha1.ConditionRestored, metav1.ConditionFalse, reason, "osd.3 has another value.")
		got := clitest.Execute(t, NewCancelCommand(clitest.Connecting(removedAfterLooks(t, s)), clitest.Hurried()), "pg-num", "")
		if got.Code() != want || want != 0 && !strings.Contains(got.Err.Error(), "osd.3 has another value.") {
			t.Errorf("%s: exit code %d, want %d: %v", reason, got.Code(), want, got.Err)
		}
	}
}

func TestAnotherOfTheSameNameIsNotWaitedFor(t *testing.T) {
	s := atWork(t)
	s.Finalizers = nil
	c := clitest.Holding(t, s)
	again := interceptor.NewClient(c, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := c.Delete(ctx, o, opts...); err != nil {
				return err
			}
			next := atWork(t)
			next.UID = "another"
			return c.Create(ctx, next)
		},
	})
	got := clitest.Execute(t, NewCancelCommand(clitest.Connecting(again), clitest.Hurried()), "pg-num", "")
	if got.Err != nil || apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(s), &v1alpha1.CephTuningSweep{})) {
		t.Errorf("got %+v", got)
	}
}
