package main

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
)

const (
	// versionEvery is how often the version of the API server is read: it is the same for weeks.
	versionEvery = 10 * time.Minute
	// versionTimeout bounds the request.
	versionTimeout = 5 * time.Second
	// maxVersion is the maximum length of a version.
	maxVersion = 64
)

// serverVersion remembers the version of the API server. Kubernetes lets every ServiceAccount read it.
type serverVersion struct {
	api rest.Interface
	now func() time.Time

	mu      sync.Mutex
	asked   time.Time
	version string
}

// get returns the version, such as v1.36.3; "" if it cannot be read.
func (s *serverVersion) get(ctx context.Context) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.asked.IsZero() || now.Sub(s.asked) >= versionEvery {
		s.asked, s.version = now, s.read(ctx)
	}
	return s.version
}

func (s *serverVersion) read(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	var info apiversion.Info
	body, err := s.api.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil || json.Unmarshal(body, &info) != nil || len(info.GitVersion) > maxVersion {
		return "" // The environment is recorded without it.
	}
	return info.GitVersion
}
