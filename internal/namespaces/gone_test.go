package namespaces

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// refusing is an API server behind a proxy. It refuses everything except requests for namespaces,
// which the handler answers.
func refusing(t *testing.T, namespaces http.HandlerFunc) *rest.Config {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/proxied/", func(w http.ResponseWriter, r *http.Request) {
		refusal := `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "no right to %s %s"}`
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, refusal, r.Method, r.URL.Path)
	})
	mux.HandleFunc("GET /proxied/api/v1/namespaces/{name}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("name") != "bench" || r.Header.Get("Authorization") != "Bearer t" || r.URL.RawQuery != "" {
			t.Errorf("it asks %s as %q", r.URL, r.Header.Get("Authorization"))
		}
		namespaces(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return ForBenchmarks(&rest.Config{Host: server.URL + "/proxied", BearerToken: "t", QPS: -1})
}

func says(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
	}
}

const (
	// there is a namespace that is not being deleted, and going is one that is.
	there = `{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "bench"}}`
	going = `{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "bench", "deletionTimestamp": "2026-11-22T08:00:00Z"}}`
)

func clientFor(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A refusal counts as "gone" only if the namespace is being deleted.
func TestWhatIsRefusedIsGoneWithItsNamespace(t *testing.T) {
	for name, tc := range map[string]struct {
		namespaces http.HandlerFunc
		wantGone   bool
	}{
		"it is there":               {says(http.StatusOK, there), false},
		"it is being deleted":       {says(http.StatusOK, going), true},
		"it is gone":                {says(http.StatusNotFound, `{}`), true},
		"nobody may say":            {says(http.StatusForbidden, `{}`), false},
		"the API server is at work": {says(http.StatusServiceUnavailable, `{}`), false},
		"nobody understands it":     {says(http.StatusOK, `<html>`), false},
	} {
		t.Run(name, func(t *testing.T) {
			c := clientFor(t, refusing(t, tc.namespaces))
			_, err := c.BatchV1().Jobs("bench").Get(t.Context(), "j", metav1.GetOptions{})
			if apierrors.IsNotFound(err) != tc.wantGone || apierrors.IsForbidden(err) == tc.wantGone {
				t.Errorf("error %v, want it to be gone: %t", err, tc.wantGone)
			}
			want := "no right to GET /proxied/apis/batch/v1/namespaces/bench/jobs/j"
			if tc.wantGone {
				want = "namespace bench is deleted or being deleted"
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q in it", err, want)
			}
		})
	}
}

// In a namespace that is being deleted, a refusal counts as "gone" for objects in the namespace,
// whatever the request, and for nothing else.
func TestWhatGoesWithItsNamespace(t *testing.T) {
	c := clientFor(t, refusing(t, says(http.StatusOK, going)))
	core, ctx := c.CoreV1(), t.Context()
	for name, tc := range map[string]struct {
		do       func() error
		wantGone bool
	}{
		"a list": {func() error {
			_, err := core.ConfigMaps("bench").List(ctx, metav1.ListOptions{LabelSelector: "a=b"})
			return err
		}, true},
		"a watch": {func() error { _, err := core.Pods("bench").Watch(ctx, metav1.ListOptions{}); return err }, true},
		"a log": {func() error {
			_, err := core.Pods("bench").GetLogs("p", &corev1.PodLogOptions{}).Stream(ctx)
			return err
		}, true},
		"to patch": {func() error {
			_, err := core.Pods("bench").Patch(ctx, "p", "application/merge-patch+json", []byte(`{}`), metav1.PatchOptions{})
			return err
		}, true},
		"to delete": {func() error { return core.Secrets("bench").Delete(ctx, "s", metav1.DeleteOptions{}) }, true},
		"to make": {func() error {
			_, err := core.Pods("bench").Create(ctx, &corev1.Pod{}, metav1.CreateOptions{})
			return err
		}, false},
		"of a CR": {func() error {
			return c.RESTClient().Get().AbsPath("/apis/cephtune.dev/v1alpha1/namespaces/bench/cephbenchmarks/b").Do(ctx).Error()
		}, false},
		"everywhere": {func() error { _, err := core.Pods("").List(ctx, metav1.ListOptions{}); return err }, false},
		"in none":    {func() error { _, err := core.Nodes().List(ctx, metav1.ListOptions{}); return err }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.do(); apierrors.IsNotFound(err) != tc.wantGone || apierrors.IsForbidden(err) == tc.wantGone {
				t.Errorf("error %v, want it to be gone: %t", err, tc.wantGone)
			}
		})
	}
}

// A manager must start even if it may not list anything any more.
func TestInformersOfANamespaceThatIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace  string
		wantSynced bool
	}{
		"it is being deleted": {going, true},
		"it is there":         {there, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := clientFor(t, refusing(t, says(http.StatusOK, tc.namespace)))
			from := toolscache.NewListWatchFromClient(c.CoreV1().RESTClient(), "pods", "bench", fields.Everything())
			informer := NewInformer(from, &corev1.Pod{}, 0, toolscache.Indexers{})
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				informer.RunWithContext(ctx)
			}()
			if synced := toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced); synced != tc.wantSynced {
				t.Errorf("it is filled: %t, want %t", synced, tc.wantSynced)
			}
			if pods := informer.GetStore().List(); len(pods) > 0 {
				t.Errorf("it has %v", pods)
			}
			stop()
			<-ended
		})
	}
}

func TestHandles(t *testing.T) {
	for name, tc := range map[string]struct {
		handled []string
		want    bool
	}{
		"all namespaces": {nil, true},
		"this one":       {[]string{"a", "bench"}, true},
		"others":         {[]string{"a", "b"}, false},
	} {
		if got := New(nil, tc.handled...).Handles("bench"); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
