package memmanager

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Request is a request to an API server.
type Request struct {
	// Verb and Subresource are those of the right that the request takes.
	Verb, Subresource string
	// Object is what is read or written; nil for a list.
	Object client.Object
	// List is what is listed; nil for an object.
	List client.ObjectList
	Name string
}

// IsWrite reports whether the request may change anything.
func (r Request) IsWrite() bool { return r.Verb != "get" && r.Verb != "list" }

// Around returns a client whose requests pass through a function, which carries each out by do.
func Around(inner client.WithWatch, carry func(r Request, do func() error) error) client.WithWatch {
	on := func(verb, subresource string, o client.Object, do func() error) error {
		return carry(Request{Verb: verb, Subresource: subresource, Object: o, Name: o.GetName()}, do)
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return carry(Request{Verb: "get", Object: o, Name: key.Name}, func() error { return c.Get(ctx, key, o, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return carry(Request{Verb: "list", List: list}, func() error { return c.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return on("create", "", o, func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return on("update", "", o, func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return on("patch", "", o, func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return on("delete", "", o, func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return on("patch", sub, o, func() error { return c.SubResource(sub).Patch(ctx, o, patch, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return on("update", sub, o, func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
}

func labelsOf(o client.Object) labels.Set { return o.GetLabels() }
