package pages_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/reconcile/pages"
)

// crowded is an API server with any number of large objects in a namespace.
type crowded struct {
	client.Reader // panics: the tests call only List

	objects int
	bytes   int // of an annotation of each object
	heap    uint64
}

// List implements client.Reader. Like an API server, it returns everything if the limit is 0. It notes how much memory
// is in use while it has no page.
func (c *crowded) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	from, err := strconv.Atoi("0" + asked.Continue)
	if err != nil {
		return err
	}
	if from%500 == 0 {
		runtime.GC()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		c.heap = max(c.heap, memory.HeapAlloc)
	}
	to := c.objects
	if asked.Limit > 0 {
		to = min(to, from+int(asked.Limit))
	}
	if to < c.objects {
		list.SetContinue(strconv.Itoa(to))
	}
	for i := from; i < to; i++ {
		metadata := metav1.ObjectMeta{Namespace: asked.Namespace, Name: fmt.Sprint("o-", i), Annotations: map[string]string{"a": strings.Repeat("x", c.bytes)}}
		switch list := list.(type) {
		case *metav1.PartialObjectMetadataList:
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metadata})
		case *corev1.PodList:
			list.Items = append(list.Items, corev1.Pod{ObjectMeta: metadata})
		}
	}
	return nil
}

// Two thousand objects with the largest annotations take no more memory than a few pages.
func TestMemoryIsThatOfAPage(t *testing.T) {
	server := &crowded{objects: 2000, bytes: 256 << 10}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var names []string
	for page, err := range pages.Metadata(t.Context(), server, corev1.SchemeGroupVersion.WithKind("ConfigMap"), client.InNamespace("bench")) {
		if err != nil {
			t.Fatal(err)
		}
		if page.Kind != "ConfigMapList" || len(page.Items) > 20 {
			t.Fatalf("a page of %d objects of a %s", len(page.Items), page.Kind)
		}
		for _, item := range page.Items {
			names = append(names, item.Name)
		}
	}
	if len(names) != server.objects || names[len(names)-1] != "o-1999" {
		t.Errorf("%d objects were read", len(names))
	}
	if held := int64(server.heap) - int64(before.HeapAlloc); held > 16<<20 {
		t.Errorf("%d MiB are held", held>>20)
	}
}

func TestTooManyObjects(t *testing.T) {
	server := &crowded{objects: 10_001}
	read := 0
	var last error
	for page, err := range pages.Of[corev1.PodList](t.Context(), server, client.InNamespace("bench"), client.MatchingLabels{"a": "b"}) {
		read, last = read+len(page.Items), err
	}
	tooMany, ok := errors.AsType[*pages.TooManyError](last)
	if !ok || read != 10_000 || tooMany.Read != read {
		t.Fatalf("%d objects, %v", read, last)
	}
	if want := `there are more than 10000 objects of the kind Pod (namespace "bench", labels "a=b"): delete those that nobody needs, and limit their number with a ResourceQuota`; last.Error() != want {
		t.Errorf("%q, want %q", last, want)
	}
}

func TestTheCallerEndsTheListAndSetsTheSizeOfPages(t *testing.T) {
	server := &crowded{objects: 100}
	read := 0
	for page, err := range pages.Of[corev1.PodList](t.Context(), server, client.Limit(30)) {
		if err != nil {
			t.Fatal(err)
		}
		if read += len(page.Items); read >= 50 {
			break
		}
	}
	if read != 60 {
		t.Errorf("%d objects were read, want two pages of 30", read)
	}
}
