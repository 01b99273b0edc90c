//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// These tests check the state in which each run begins: images equal their prefilled data to the
// byte, or the data is new, or caches are warm. The pool contains data of another user, so that
// leftover snapshots would be noticed.
func TestLongInitialState(t *testing.T) {
	c := forTest(t)
	c.createSettledPool(t)
	before := c.occupy(t, existingPool)
	untouched := func(t *testing.T) {
		t.Helper()
		if after := c.occupied(t, existingPool); after != before {
			t.Errorf("the pool holds\n%s\nwant it as it was:\n%s", after, before)
		}
	}
	t.Run("rolled back", func(t *testing.T) {
		b := c.overwriting("rollback")
		b.Spec.Template.Rest = &metav1.Duration{Duration: 40 * time.Second} // The test reads the image during this rest.
		c.create(t, b)
		c.awaitMeasuring(t, b)
		image, prefilled := c.prefilledImage(t)
		if current, err := c.contents(t.Context(), image); err != nil || current == prefilled {
			t.Errorf("the first run has written nothing over what was prefilled, or it cannot be told: %v", err)
		}
		c.await(t, b, runWithin, "to be done with its first run", func(b *v1alpha1.CephBenchmark) error {
			if p := b.Status.Progress; p == nil || p.CompletedRuns != 1 {
				return errors.New("it is not")
			}
			return nil
		})
		// Once the second run writes, the digests differ for good.
		eventually(t, time.Minute, "the image to hold what was prefilled", func(ctx context.Context) error {
			current, err := c.contents(ctx, image)
			if err == nil && current != prefilled {
				err = fmt.Errorf("its digest is %s, want %s", current, prefilled)
			}
			return err
		})
		c.awaitEnd(t, v1alpha1.ConditionComplete, b)
		wantFound(t, b, v1alpha1.DataRolledBack, v1alpha1.DataRolledBack)
		c.wantRuns(t, b)
		untouched(t)
	})
	t.Run("the client is lost while there is a snapshot", func(t *testing.T) {
		b := c.overwriting("rollback-lost")
		c.create(t, b)
		c.awaitMeasuring(t, b)
		c.prefilledImage(t)
		if err := c.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(benchNamespace), made()); err != nil {
			t.Fatalf("kill the client: %v", err)
		}
		c.awaitEnd(t, v1alpha1.ConditionFailed, b)
		wantReason(t, b, v1alpha1.ConditionFailed, v1alpha1.ReasonClientsLost)
		untouched(t)
	})
	t.Run("fresh, and warm", func(t *testing.T) {
		b := c.overwriting("fresh")
		b.Spec.Template.InitialState, b.Spec.Template.OSDCaches = v1alpha1.InitialStateFresh, v1alpha1.OSDCachesWarmBeforePhase
		b.Spec.Template.Phases = append(b.Spec.Template.Phases,
			fioPhase("read", v1alpha1.Fio{Pattern: v1alpha1.FioRandRead, IODepth: 4}),
			v1alpha1.Phase{Name: "objects", RadosBench: &v1alpha1.RadosBench{
				Mode: v1alpha1.RadosBenchRand, BlockSize: resource.MustParse("64Ki"), Duration: metav1.Duration{Duration: shortest},
			}})
		c.runTo(t, v1alpha1.ConditionComplete, b)
		wantFound(t, b, v1alpha1.DataPrefilled, v1alpha1.DataPrefilled)
		for i, want := range []bool{false, true, true} {
			if p := b.Status.Phases[i]; slices.Contains(p.Marks, v1alpha1.MarkWarmed) != want {
				t.Errorf("phase %s has the marks %q", p.Name, p.Marks)
			}
		}
		for _, run := range c.wantRuns(t, b) {
			if detail := string(run.Environment); !strings.Contains(detail, `"initialState":"Fresh"`) || !strings.Contains(detail, `"osdCaches":"WarmBeforePhase"`) {
				t.Errorf("run %d does not tell what it began with: %s", run.Number, detail)
			}
		}
		untouched(t)
	})
}

// overwriting returns a benchmark of two runs that overwrite an image in the existing pool.
func (c *cluster) overwriting(name string) *v1alpha1.CephBenchmark {
	target := v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{
		Name: existingPool, Image: v1alpha1.Image{Size: resource.MustParse("128Mi")},
	}}
	b := c.benchmark("initial-"+name, target, fioPhase("over", v1alpha1.Fio{Pattern: v1alpha1.FioRandWrite, IODepth: 4}))
	b.Spec.Repetitions = 2
	b.Spec.Template.InitialState = v1alpha1.InitialStateRollback
	return b
}

// wantFound checks in which state each run has found its data.
func wantFound(t *testing.T, b *v1alpha1.CephBenchmark, want ...v1alpha1.DataState) {
	t.Helper()
	var got []v1alpha1.DataState
	for _, run := range b.Status.Runs {
		got = append(got, run.InitialState)
	}
	if !slices.Equal(got, want) {
		t.Errorf("runs have found their data %q, want %q", got, want)
	}
}

// prefilledImage returns the benchmark's only image with a snapshot in the existing pool, and the
// digest of the snapshot.
func (c *cluster) prefilledImage(t *testing.T) (image, digest string) {
	t.Helper()
	eventually(t, time.Minute, "an image with a snapshot", func(ctx context.Context) error {
		listed, err := c.toolbox(ctx, "rbd", "--pool="+existingPool, "ls", "--long")
		if err != nil {
			return err
		}
		for word := range strings.FieldsSeq(listed) {
			if name, ok := strings.CutSuffix(word, "@cephtune-prefilled"); ok {
				image = name
				return nil
			}
		}
		return fmt.Errorf("there is none:\n%s", listed)
	})
	digest, err := c.contents(t.Context(), image+"@cephtune-prefilled")
	if err != nil {
		t.Fatal(err)
	}
	return image, digest
}

// contents returns the digest of an image or a snapshot in the existing pool.
func (c *cluster) contents(ctx context.Context, image string) (string, error) {
	out, err := c.toolbox(ctx, "bash", "-o", "pipefail", "-c", `rbd export --no-progress "$1" - | sha256sum`, "-", existingPool+"/"+image)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", image, err)
	}
	digest, _, _ := strings.Cut(out, " ")
	return digest, nil
}
