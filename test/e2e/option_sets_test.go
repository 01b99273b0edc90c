//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

// optionOfSet is an option of a set, with its bounds or its values.
type optionOfSet struct {
	Name     string
	Min, Max any
	Values   []string
}

// OSDs must accept every option of the chart's option sets while they run, at both bounds. Under
// mClock, sleeps are 0, whatever is set: docs/option-sets.md says so.
func TestOptionSets(t *testing.T) {
	c := forTest(t)
	before := c.tunables(t)
	text, err := os.ReadFile("../../config/ceph-tuner/option-sets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sets map[string][]optionOfSet
	if err := yaml.Unmarshal(text, &sets); err != nil {
		t.Fatal(err)
	}
	options := map[string]optionOfSet{}
	for _, set := range sets {
		for _, o := range set {
			options[o.Name] = o
		}
	}
	t.Cleanup(func() {
		for name := range options {
			if _, err := c.ceph(context.WithoutCancel(t.Context()), "config", "rm", "osd", name); err != nil {
				t.Error(err)
			}
		}
		c.wantTunables(t, before)
	})
	// Under mClock, OSDs accept limits of recovery and backfill only with this option.
	c.setOption(t, "osd_mclock_override_recovery_settings", "true")
	for _, end := range []func(optionOfSet) string{low, high} {
		for name, o := range options {
			if name == "osd_mclock_override_recovery_settings" {
				continue
			}
			c.setOption(t, name, end(o))
		}
		for name, o := range options {
			want := end(o)
			if strings.Contains(name, "_sleep") {
				want = "0"
			}
			if name == "osd_mclock_override_recovery_settings" {
				want = "true"
			}
			if err := c.awaitOption(t.Context(), name, want); err != nil {
				t.Error(err)
			}
		}
	}
}

func low(o optionOfSet) string {
	if len(o.Values) > 0 {
		return o.Values[0]
	}
	return fmt.Sprint(o.Min)
}

func high(o optionOfSet) string {
	if len(o.Values) > 0 {
		return o.Values[len(o.Values)-1]
	}
	return fmt.Sprint(o.Max)
}

func (c *cluster) setOption(t *testing.T, name, value string) {
	t.Helper()
	if _, err := c.ceph(t.Context(), "config", "set", "osd", name, value); err != nil {
		t.Fatal(err)
	}
}

// awaitOption waits until an OSD runs with a value.
func (c *cluster) awaitOption(ctx context.Context, name, want string) error {
	var got map[string]string
	err := wait.PollUntilContextTimeout(ctx, time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
		now := map[string]string{}
		if err := c.cephJSON(ctx, &now, "tell", "osd.0", "config", "get", name); err != nil {
			return false, nil //nolint:nilerr // It is retried until the deadline.
		}
		got = now
		return sameValue(got[name], want), nil
	})
	if err != nil {
		return fmt.Errorf("%s: osd.0 runs with %q, want %s: %w", name, got[name], want, err)
	}
	return nil
}

// sameValue compares numbers by value, because Ceph prints sizes in bytes and fractions with six
// digits.
func sameValue(got, want string) bool {
	if got == want {
		return true
	}
	number, err := strconv.ParseFloat(got, 64)
	if err != nil {
		return false
	}
	quantity, err := resource.ParseQuantity(want)
	return err == nil && quantity.AsApproximateFloat64() == number
}
