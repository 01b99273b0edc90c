package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// The version is read once in a while, and a server that does not answer has none.
func TestServerVersion(t *testing.T) {
	answer, asked := `{"gitVersion":"v1.36.3"}`, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path != "/version" || answer == "" {
			http.Error(w, "none", http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	api, err := rest.UnversionedRESTClientFor(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{
		GroupVersion: &schema.GroupVersion{}, NegotiatedSerializer: scheme.Codecs,
	}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &serverVersion{api: api, now: func() time.Time { return now }}
	for _, step := range []struct {
		answer, want string
		pass         time.Duration
		asked        int
	}{
		{`{"gitVersion":"v1.36.3"}`, "v1.36.3", 0, 1},
		{`{"gitVersion":"v1.37.0"}`, "v1.36.3", versionEvery - time.Second, 1},
		{`{"gitVersion":"v1.37.0"}`, "v1.37.0", time.Second, 2},
		{`{"gitVersion":"` + strings.Repeat("v", maxVersion+1) + `"}`, "", versionEvery, 3},
		{"", "", versionEvery, 4},
		{"none", "", versionEvery, 5},
	} {
		answer, now = step.answer, now.Add(step.pass)
		if got := s.get(t.Context()); got != step.want || asked != step.asked {
			t.Errorf("with the answer %.40q: version %q after %d requests, want %q after %d", step.answer, got, asked, step.want, step.asked)
		}
	}
}
