package storm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

// Cluster is the Ceph cluster of a story, as managers reach it.
type Cluster struct {
	story   *Story
	cluster *cephtest.Cluster
	// changes are the verbs that Ceph may carry out late, and writes are the other verbs that change something.
	changes, writes []string

	mu sync.Mutex
	// late is how many changes Ceph may still carry out. away is until when Ceph does not answer.
	late int
	away time.Time
}

// ClusterOf makes managers reach a cluster through a story. It sets Carry.
func ClusterOf(s *Story, c *cephtest.Cluster, changes, writes []string) *Cluster {
	made := &Cluster{story: s, cluster: c, changes: changes, writes: writes}
	c.Carry = made.Carry
	return made
}

// Carry carries a verb out, with the fault that is due at it, if any.
func (c *Cluster) Carry(ctx context.Context, verb string, do func() error) error {
	return c.story.Carry(ctx, verb, "", Ceph, slices.Contains(c.changes, verb) || slices.Contains(c.writes, verb), func() error {
		c.mu.Lock()
		away := time.Now().Before(c.away)
		c.mu.Unlock()
		if away {
			return fmt.Errorf("ceph %s: no monitor answers: %w", verb, context.DeadlineExceeded)
		}
		return do()
	})
}

// Pending reports whether a late change may still happen.
func (c *Cluster) Pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.late > 0
}

// Calm makes Ceph answer again.
func (c *Cluster) Calm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = time.Time{}
}

// Faults returns the faults of a Ceph cluster.
func (c *Cluster) Faults() map[string]Effect {
	before := func(begin func(call *Call)) Effect {
		return func(call *Call, do func() error) error {
			begin(call)
			return do()
		}
	}
	return map[string]Effect{
		"change is late": c.changeIsLate,
		"Ceph unreachable": before(func(call *Call) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.away = time.Now().Add(time.Duration(call.Random.IntN(600)) * time.Second)
		}),
		"ceph-mgr away": before(func(call *Call) {
			active := func(ok bool) { c.cluster.Act(func(all *cephtest.Cluster) { all.Answers.Status.ManagerActive = ok }) }
			active(false)
			call.Later(20*time.Minute, func() { active(true) })
		}),
		"OSD down": before(func(call *Call) {
			c.cluster.LoseOSD(1)
			call.Later(20*time.Minute, func() { c.cluster.BringUp(1) })
		}),
	}
}

// Later ends a fault within a duration.
func (c *Call) Later(longest time.Duration, end func()) {
	time.AfterFunc(time.Duration(c.Random.Int64N(int64(longest))), end)
}

// changeIsLate loses the answer to a change, which Ceph carries out later.
func (c *Cluster) changeIsLate(call *Call, do func() error) error {
	if !slices.Contains(c.changes, call.Name) {
		c.story.Again("change is late")
		return do()
	}
	c.cluster.Act(func(all *cephtest.Cluster) { all.Lose = call.Name })
	c.count(1)
	err := do()
	c.cluster.Act(func(all *cephtest.Cluster) { all.Lose = "" })
	time.AfterFunc(time.Duration(call.Random.Int64N(int64(ceph.LongestChange-time.Second))), func() {
		c.cluster.Land()
		c.count(-1)
		c.story.Note("a late change lands")
	})
	return err
}

func (c *Cluster) count(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late += more
}
