// Package leftovers removes images and objects that the clients of an execution have left in pools that
// outlast the execution. The clients have already tried to remove this data themselves, unless they are lost or
// have failed. If OSDs are full, the package also removes objects from the execution's own scratch pool. It
// changes only Ceph, and each of its calls can be repeated.
package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// ObjectsAtOnce is the largest number of objects that one call removes.
const ObjectsAtOnce = 100

// removeWithin limits the duration of one call of Remove or RemoveObjects.
const removeWithin = 30 * time.Second

// Ceph is the part of Ceph's interface that a removal needs.
type Ceph interface {
	scratchpool.Ceph
	Objects(ctx context.Context, connection ceph.Connection, pool, namespace, prefix string, atMost int) ([]string, error)
	RemoveObjects(ctx context.Context, connection ceph.Connection, pool, namespace string, objects []string) error
}

// Leftovers says where an execution may have left something.
type Leftovers struct {
	// Execution is the prefix of the names of the execution's images. In the default namespace, the names of its
	// objects begin with place.ObjectPrefix and then Execution.
	Execution string
	// ImagePools are the pools that outlast the execution and may have its images. Target is the existing
	// pool that the execution loads, or "". The clients' key always permits Target, but maybe not the other
	// pools.
	ImagePools []string
	Target     string
	// ObjectPool is the pool of the data; "" for a claim. Lasts says that ObjectPool outlasts the execution.
	ObjectPool string
	Lasts      bool
	// Script has the tasks of the clients; nil if they are unknown.
	Script *workload.Script
	// Unremembered says that the spec of the execution is lost. Then the default namespace of ObjectPool may
	// have objects of the execution.
	Unremembered bool
}

// Remove removes one image, or at most ObjectsAtOnce objects of a RADOS namespace, from the pools that
// outlast the execution. Repeat the call until it returns Done.
func (l Leftovers) Remove(ctx context.Context, c Ceph, connection ceph.Connection) (reconcile.Wait, error) {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	for _, pool := range l.ImagePools {
		waits, err := scratchpool.RemoveImages(ctx, c, connection, pool, l.Execution)
		if isDenied(err) && pool != l.Target {
			continue // The clients use the same key, so they cannot have created images there.
		}
		if !waits.IsDone() || err != nil {
			return waits, err
		}
	}
	if !l.Lasts {
		return reconcile.Done, nil
	}
	return l.removeObjects(ctx, c, connection)
}

// RemoveObjects removes at most ObjectsAtOnce of the execution's objects from the pool of its data. Repeat
// the call until it returns Done.
func (l Leftovers) RemoveObjects(ctx context.Context, c Ceph, connection ceph.Connection) (reconcile.Wait, error) {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	return l.removeObjects(ctx, c, connection)
}

// removeObjects removes at most ObjectsAtOnce of the execution's objects that are not part of an image.
func (l Leftovers) removeObjects(ctx context.Context, c Ceph, connection ceph.Connection) (reconcile.Wait, error) {
	if l.ObjectPool == "" {
		return reconcile.Done, nil
	}
	inDefault := l.Unremembered
	for _, traces := range l.traces() {
		inDefault = inDefault || traces.InDefault
		for _, namespace := range traces.Namespaces {
			if waits, err := removeSome(ctx, c, connection, l.ObjectPool, namespace, ""); !waits.IsDone() || err != nil {
				return waits, err
			}
		}
	}
	if !inDefault {
		return reconcile.Done, nil
	}
	return removeSome(ctx, c, connection, l.ObjectPool, "", place.ObjectPrefix+l.Execution)
}

// traces returns the RADOS namespaces in which the clients and the background load may have left objects.
func (l Leftovers) traces() []engine.Traces {
	if l.Script == nil {
		return nil
	}
	var all []engine.Traces
	for _, c := range l.Script.Places {
		all = append(all, engine.TracesOf(c, l.Script.Loads()))
	}
	if b := l.Script.Background; b != nil {
		all = append(all, engine.TracesOf(b.Place, []engine.Load{b.Load}))
	}
	return all
}

func removeSome(ctx context.Context, c Ceph, connection ceph.Connection, pool, namespace, prefix string) (reconcile.Wait, error) {
	objects, err := c.Objects(ctx, connection, pool, namespace, prefix, ObjectsAtOnce)
	if scratchpool.IsNotFound(err) {
		return reconcile.Done, nil // The pool does not exist.
	}
	if err != nil || len(objects) == 0 {
		return "", err
	}
	if err := c.RemoveObjects(ctx, connection, pool, namespace, objects); err != nil {
		return "", err
	}
	return reconcile.Wait(fmt.Sprintf("Objects are left in pool %s.", pool)), nil
}

// isDenied reports whether Ceph answered that the key does not permit a request.
func isDenied(err error) bool {
	answer, ok := errors.AsType[*ceph.Error](err)
	return ok && answer.Denied()
}

// Commands returns the commands with which a client removes the data of loads at its place. The commands
// always remove images, because Rook does not delete a pool that has images. If the last argument is false,
// they do not remove objects: the removal of the pool removes objects much faster.
func Commands(p place.Place, loads []engine.Load, objects bool) []task.Command {
	commands := engine.Cleanup(p, loads)
	if objects {
		return commands
	}
	return slices.DeleteFunc(commands, func(c task.Command) bool { return c.Argv[0] != "rbd" })
}

// TaskID is the ID of the task with which clients remove their data.
const TaskID = "cleanup"

// taskTimeout limits the duration of that task. The manager removes the data that the task leaves.
const taskTimeout = 30 * time.Minute

// Task returns the task with which a client executes these commands.
func Task(commands []task.Command) task.Task {
	return task.Task{ID: TaskID, Steps: commands, StepsTimeoutSeconds: taskTimeout.Seconds()}
}
