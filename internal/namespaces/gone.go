package namespaces

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// ForBenchmarks returns a configuration for what the manager does with objects in
// namespaces of benchmarks.
//
// Its rights to them are Roles in the namespace. When that is deleted, Kubernetes removes
// these with all the rest, in any order, while CRs wait for their finalizers. In a terminating
// namespace, "forbidden" counts as deleted: Kubernetes removes the object, so the request is
// answered as not found, and a teardown proceeds to the objects in Ceph. In every other
// namespace a refusal stays an error, and names the missing right.
//
// This does not apply to CRs, which finalizers keep and for which the manager has a
// cluster-wide right, nor to objects to create.
func ForBenchmarks(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return tolerant{next: next} })
	return config
}

// tolerant answers as not found what is refused in a namespace that is gone or going.
type tolerant struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t tolerant) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusForbidden {
		return answer, err
	}
	root, namespace, goes := placeOf(r)
	if !goes || !t.isGone(r, root, namespace) {
		return answer, nil
	}
	return notFound(answer, namespace)
}

// inNamespace finds in the path of a request what is before the API, such as a proxy's
// prefix, the API's group, and a namespace with something behind it.
var inNamespace = regexp.MustCompile(`^(.*?)/(?:api/v1|apis/([^/]+)/[^/]+)/namespaces/([^/]+)/.`)

// placeOf finds the namespace in which a request reads, changes or removes something that
// goes with it.
func placeOf(r *http.Request) (root, namespace string, goes bool) {
	found := inNamespace.FindStringSubmatch(r.URL.Path)
	if found == nil || found[2] == v1alpha1.GroupVersion.Group || r.Method == http.MethodPost {
		return "", "", false
	}
	return found[1], found[3], true
}

const (
	// askWithin is how long the API server may take to say what a namespace is at.
	askWithin = 10 * time.Second
	// maxAnswerBytes is more than it says.
	maxAnswerBytes = 2 << 20
)

// isGone asks, with the rights of the refused client, whether a namespace is gone or being
// deleted. Without an answer it assumes neither.
func (t tolerant) isGone(r *http.Request, root, namespace string) bool {
	ctx, cancel := context.WithTimeout(r.Context(), askWithin)
	defer cancel()
	ask := r.Clone(ctx) // With what says who asks.
	ask.Method, ask.Body, ask.GetBody, ask.ContentLength = http.MethodGet, nil, nil, 0
	ask.URL = &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: root + "/api/v1/namespaces/" + namespace}
	ask.Header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	ask.Header.Del("Content-Type")
	answer, err := t.next.RoundTrip(ask)
	if err != nil {
		return false
	}
	defer answer.Body.Close() //nolint:errcheck // It was only read.
	switch answer.StatusCode {
	case http.StatusNotFound:
		return true
	case http.StatusOK:
		var is metav1.PartialObjectMetadata
		err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswerBytes)).Decode(&is)
		return err == nil && !is.DeletionTimestamp.IsZero()
	}
	return false
}

// notFound is an answer in place of a refusal.
func notFound(refusal *http.Response, namespace string) (*http.Response, error) {
	message := fmt.Sprintf("namespace %s is deleted or being deleted, and the manager's rights there with it", namespace)
	text, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Message: message,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Message: message}}},
	})
	if err != nil {
		return refusal, nil //nolint:nilerr // It is still an answer, and a true one.
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(refusal.Body, maxAnswerBytes)) // So that the connection can be used again.
	_ = refusal.Body.Close()
	answer := *refusal
	answer.Status, answer.StatusCode = "404 Not Found", http.StatusNotFound
	answer.Header = refusal.Header.Clone()
	answer.Header.Set("Content-Type", runtime.ContentTypeJSON)
	answer.Header.Del("Content-Length")
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return &answer, nil
}

// NewInformer makes informers for which a namespace that is gone or going is empty. A
// manager that starts, or whose watch ends, lists what it watches: without this it would
// wait for ever for a list that it is refused, and do nothing anywhere.
func NewInformer(from toolscache.ListerWatcher, of runtime.Object, resync time.Duration, by toolscache.Indexers) toolscache.SharedIndexInformer {
	source := toolscache.ToListerWatcherWithContext(from)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := source.ListWithContext(ctx, options)
			if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
				return &metav1.PartialObjectMetadataList{}, nil
			}
			return list, err
		},
		WatchFuncWithContext: source.WatchWithContext,
	}, of, resync, by)
}
