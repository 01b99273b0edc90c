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

// ForBenchmarks returns a configuration for the manager's requests about objects in the
// namespaces of benchmarks.
//
// Roles in the namespace give the manager its rights to these objects. When the namespace is
// deleted, Kubernetes removes the Roles and everything else in any order, while CRs wait for
// their finalizers. In a terminating namespace, "forbidden" counts as deleted: Kubernetes
// removes the object anyway. The client then gets "not found", and a teardown proceeds to the
// objects in Ceph. In every other namespace a refusal stays an error that names the missing
// right.
//
// This applies neither to the creation of objects nor to CRs: finalizers keep CRs, and the
// manager has a cluster-wide right to them.
func ForBenchmarks(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return tolerant{next: next} })
	return config
}

// tolerant turns "forbidden" into "not found" if the namespace is deleted or being deleted.
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

// inNamespace matches the path of a request for something in a namespace. Its groups are the text
// before the API, such as a proxy's prefix; the API group; and the namespace.
var inNamespace = regexp.MustCompile(`^(.*?)/(?:api/v1|apis/([^/]+)/[^/]+)/namespaces/([^/]+)/.`)

// placeOf returns the namespace of a request. goes is false if the request creates an
// object, concerns cephtune's CRs, or is not about an object in a namespace.
func placeOf(r *http.Request) (root, namespace string, goes bool) {
	found := inNamespace.FindStringSubmatch(r.URL.Path)
	if found == nil || found[2] == v1alpha1.GroupVersion.Group || r.Method == http.MethodPost {
		return "", "", false
	}
	return found[1], found[3], true
}

const (
	// askWithin limits how long the API server may take to return the state of a namespace.
	askWithin = 10 * time.Second
	// maxAnswerBytes is larger than any such answer.
	maxAnswerBytes = 2 << 20
)

// isGone asks, with the rights of the refused client, whether a namespace is gone or being
// deleted. Without an answer it assumes neither.
func (t tolerant) isGone(r *http.Request, root, namespace string) bool {
	ctx, cancel := context.WithTimeout(r.Context(), askWithin)
	defer cancel()
	ask := r.Clone(ctx) // The clone has the credentials of the request.
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

// notFound returns an answer "not found" to replace a refusal.
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
	_, _ = io.Copy(io.Discard, io.LimitReader(refusal.Body, maxAnswerBytes)) // Otherwise the connection could not be used again.
	_ = refusal.Body.Close()
	answer := *refusal
	answer.Status, answer.StatusCode = "404 Not Found", http.StatusNotFound
	answer.Header = refusal.Header.Clone()
	answer.Header.Set("Content-Type", runtime.ContentTypeJSON)
	answer.Header.Del("Content-Length")
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return &answer, nil
}

// NewInformer makes an informer that sees a namespace as empty if it is deleted or being deleted.
// A manager lists all objects that it watches when it starts and when a watch ends. If the API
// server refused such a list, the manager would wait for it forever, and do nothing in any
// namespace.
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
