package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/cli/kube"
	cli "github.com/cephtune/cephtune/internal/cli/object"
)

// pace has the intervals and limits of following an object.
type pace struct {
	// backoff gives the wait before each retry.
	backoff wait.Backoff
	// deadline is how long the API server may fail to answer.
	deadline time.Duration
	// each is how long one watch lasts. This limits how long a dead connection stays unnoticed.
	each time.Duration
	// unseen is how long the operator may ignore an object before the method ask reports that.
	unseen time.Duration
}

func defaultPace() pace {
	return pace{
		backoff:  wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 5, Cap: 15 * time.Second},
		deadline: 2 * time.Minute,
		each:     5 * time.Minute,
		unseen:   15 * time.Second,
	}
}

type follower struct {
	client client.WithWatch
	kind   kind
	key    client.ObjectKey
	pace   pace

	uid      types.UID // the UID of the object; empty until it was read
	backoff  wait.Backoff
	answered time.Time // time of the last answer
	last     view
	asked    bool // whether the user was asked to check the operator
}

// follow calls the function show with each state of the object. When show returns true, follow returns the
// object.
func (f *follower) follow(ctx context.Context, show func(view) (bool, error)) (client.Object, error) {
	f.heard()
	for {
		object, err := f.get(ctx)
		if err == nil {
			f.answered = time.Now()
			var done bool
			if done, err = f.show(object, show); done || err != nil {
				return object, err
			}
			object, err = f.watch(ctx, object.GetResourceVersion(), show)
			if object != nil {
				return object, err
			}
		}
		if err := f.rest(ctx, err); err != nil {
			return nil, err
		}
	}
}

// heard records that the connection works.
func (f *follower) heard() { f.answered, f.backoff = time.Now(), f.pace.backoff }

func (f *follower) show(object client.Object, show func(view) (bool, error)) (bool, error) {
	v, err := f.kind.read(object)
	if err != nil {
		return false, err
	}
	f.last = v
	return show(v)
}

// ask asks the user, once, to check the operator if the operator ignores the object. With Helm, the
// operator sees only the benchmark namespaces, so it cannot refuse an object in another namespace.
func (f *follower) ask(ctx context.Context, show func(view) (bool, error)) (bool, error) {
	if !f.last.unseen || f.asked {
		return false, nil
	}
	if err := kube.CheckNamespace(ctx, f.client, f.key.Namespace); err != nil {
		return false, err
	}
	f.asked, f.last.asks = true, true
	f.last.message = fmt.Sprintf("The operator has not seen it for %v. Does it run, and is %[2]s a benchmark namespace? kubectl cephtune doctor -n %[2]s checks that.",
		f.pace.unseen, f.key.Namespace)
	return show(f.last)
}

// errFinal marks errors that a retry cannot fix.
var errFinal = errors.New("it cannot be followed")

// finalError is an error that a retry cannot fix. Its message does not contain that of errFinal.
type finalError struct{ message string }

// Error implements error.
func (e *finalError) Error() string { return e.message }

// Is makes errors.Is work with errFinal.
func (e *finalError) Is(target error) bool { return target == errFinal }

func finally(format string, args ...any) error { return &finalError{fmt.Sprintf(format, args...)} }

// find completes the kind, if the user wrote a name alone. Like the first read of an object, it tries only once.
func (f *follower) find(ctx context.Context) error {
	if f.kind.Name != "" {
		return nil
	}
	named, err := cli.KindNamed(ctx, f.client, f.key)
	if err != nil {
		return finally("%v", err)
	}
	f.kind = following(named)
	return nil
}

// get reads the object, and checks that its UID has not changed.
func (f *follower) get(ctx context.Context) (client.Object, error) {
	if err := f.find(ctx); err != nil {
		return nil, err
	}
	object := f.kind.New()
	err := f.client.Get(ctx, f.key, object)
	switch {
	case meta.IsNoMatchError(err):
		return nil, finally("the cluster does not know %ss: install cephtune, or choose another --context", f.kind.Name)
	case apierrors.IsNotFound(err) && f.uid == "":
		return nil, finally("%s", cli.Missing(f.kind.Kind, f.key))
	case apierrors.IsNotFound(err):
		return nil, f.deleted()
	case err != nil && (f.uid == "" || isRefusal(err)):
		return nil, finally("reading %s %s: %v", f.kind.Name, f.key, err)
	case err != nil:
		return nil, err
	case f.uid != "" && object.GetUID() != f.uid:
		return nil, f.deleted()
	}
	f.uid = object.GetUID()
	return object, nil
}

func (f *follower) deleted() error { return finally("%s %s was deleted", f.kind.Name, f.key) }

func isRefusal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsMethodNotSupported(err)
}

// watch calls the function show with each change of the object since a version. It returns the object once
// show returns true. Otherwise it returns the error of the watch; nil if the watch has only ended, for example
// at its time limit.
func (f *follower) watch(ctx context.Context, version string, show func(view) (bool, error)) (client.Object, error) {
	seconds := int64(f.pace.each.Seconds())
	events, err := f.client.Watch(ctx, f.kind.NewList(), client.InNamespace(f.key.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", f.key.Name)},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version, TimeoutSeconds: &seconds}})
	if err != nil {
		if isRefusal(err) {
			return nil, finally("watching %s %s: %v", f.kind.Name, f.key, err)
		}
		return nil, err
	}
	defer events.Stop()
	unseen := time.NewTimer(f.pace.unseen)
	defer unseen.Stop()
	for {
		select {
		case <-unseen.C:
			if _, err := f.ask(ctx, show); err != nil {
				return nil, finally("%v", err)
			}
		case <-ctx.Done():
			return nil, cli.Early(ctx)
		case event, open := <-events.ResultChan():
			if !open {
				return nil, nil //nolint:nilnil // The docstring documents nil.
			}
			object, done, err := f.event(event, show)
			if err != nil {
				return nil, err
			}
			if done {
				return object, nil
			}
		}
	}
}

// event calls the function show with one change. It returns the object, and whether show returned true.
func (f *follower) event(event apiwatch.Event, show func(view) (bool, error)) (client.Object, bool, error) {
	if event.Type == apiwatch.Error {
		return nil, false, apierrors.FromObject(event.Object) // For example, the resource version has expired.
	}
	object, ok := event.Object.(client.Object)
	if !ok || event.Type == apiwatch.Bookmark || object.GetName() != f.key.Name {
		return nil, false, nil
	}
	if event.Type == apiwatch.Deleted || object.GetUID() != f.uid {
		return nil, false, f.deleted()
	}
	f.heard()
	done, err := f.show(object, show)
	if err != nil {
		return nil, false, finally("%v", err)
	}
	return object, done, nil
}

// rest waits before the next try. It returns an error if another try is useless.
func (f *follower) rest(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return cli.Early(ctx)
	case errors.Is(err, errFinal):
		return err
	case err != nil && time.Since(f.answered) > f.pace.deadline:
		return fmt.Errorf("%s %s could not be followed for %v: %w", f.kind.Name, f.key, f.pace.deadline, err)
	}
	pause := time.NewTimer(f.backoff.Step())
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return cli.Early(ctx)
	case <-pause.C:
		return nil
	}
}
