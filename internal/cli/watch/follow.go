package watch

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/cli/kube"
	cli "github.com/cephtune/cephtune/internal/cli/object"
)

// pace says how an object is followed.
type pace struct {
	cli.Pace

	// unseen is how long the operator may ignore an object before the user is asked to check the operator.
	unseen time.Duration
}

func defaultPace() pace {
	return pace{Pace: cli.Pace{Every: time.Second, Deadline: 2 * time.Minute}, unseen: 15 * time.Second}
}

// follow calls the function show with the states of the object until show returns true. The kind may be empty, see
// [cli.Get]. It returns the last object that it has read; nil if the first try to read it fails. With Helm, the
// operator sees only the benchmark namespaces, so it cannot refuse an object in another namespace: follow asks the user
// to check the operator if that ignores the object.
func follow(ctx context.Context, c client.Reader, kind cli.Kind, key client.ObjectKey, p pace, show func(view) (bool, error)) (client.Object, error) {
	object, err := cli.Get(ctx, c, kind, key)
	switch {
	case ctx.Err() != nil:
		return nil, cli.Early(ctx)
	case err != nil:
		return nil, err
	}
	began, asks := time.Now(), false
	var failed error
	err = cli.Await(ctx, c, object, p.Pace, func(now client.Object) (done bool, _ error) {
		if now == nil {
			failed = fmt.Errorf("%s %s was deleted", cli.StateOf(object).Kind.Name, key)
			return true, nil
		}
		object = now
		v := viewOf(now)
		if v.unseen && !asks && time.Since(began) > p.unseen {
			asks, failed = true, kube.CheckNamespace(ctx, c, key.Namespace)
		}
		if v.asks = v.unseen && asks; v.asks {
			v.message = fmt.Sprintf("The operator has not seen it for %v. Does it run, and is %[2]s a benchmark namespace? kubectl cephtune doctor -n %[2]s checks that.", p.unseen, key.Namespace)
		}
		if failed == nil {
			done, failed = show(v)
		}
		return done || failed != nil, nil
	})
	return object, cmp.Or(err, failed)
}
