// Package pages reads lists from the API server page by page. Users of a namespace can create any number of objects
// with any labels, each of about a MiB. So a list without pages could take all memory of the manager.
package pages

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// size is the number of objects in a page. Metadata alone may take a MiB, and several lists are read concurrently.
	size = 10
	// most is the number of pages that are read of a list.
	most = 1000
)

// TooManyError says that a list has more objects than are read.
type TooManyError struct {
	Kind string
	// Namespace and Labels are "" if the list is not restricted to some.
	Namespace, Labels string
	// Read is the number of objects that were read.
	Read int
}

// Error implements error.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("there are more than %d objects of the kind %s (namespace %q, labels %q): delete those that nobody needs, and limit their number with a ResourceQuota",
		e.Read, e.Kind, e.Namespace, e.Labels)
}

// Of returns the pages of a list. The option client.Limit sets another size of the pages. An error ends the pages. It is
// a [*TooManyError] if there are too many.
func Of[T any, L interface {
	*T
	client.ObjectList
}](ctx context.Context, reader client.Reader, options ...client.ListOption) iter.Seq2[L, error] {
	return read(ctx, reader, reflect.TypeFor[T]().Name(), func() L { return new(T) }, options)
}

// Metadata returns the pages of a list of objects without their content.
func Metadata(ctx context.Context, reader client.Reader, kind schema.GroupVersionKind, options ...client.ListOption) iter.Seq2[*metav1.PartialObjectMetadataList, error] {
	return read(ctx, reader, kind.Kind, func() *metav1.PartialObjectMetadataList {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		return page
	}, options)
}

// read returns the pages of a list. Each page is a new list, so that the caller may keep its items, and the memory of
// the others can be reused.
func read[L client.ObjectList](ctx context.Context, reader client.Reader, kind string, empty func() L, options []client.ListOption) iter.Seq2[L, error] {
	asked := (&client.ListOptions{Limit: size}).ApplyOptions(options)
	return func(yield func(L, error) bool) {
		count, next := 0, ""
		for range most {
			page := empty()
			if err := reader.List(ctx, page, asked, client.Continue(next)); err != nil {
				yield(page, err)
				return
			}
			count += meta.LenList(page)
			if next = page.GetContinue(); !yield(page, nil) || next == "" {
				return
			}
		}
		labels := ""
		if asked.LabelSelector != nil {
			labels = asked.LabelSelector.String()
		}
		yield(empty(), &TooManyError{Kind: strings.TrimSuffix(kind, "List"), Namespace: asked.Namespace, Labels: labels, Read: count})
	}
}
