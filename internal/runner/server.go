package runner

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/cephtune/cephtune/internal/task"
)

// The limits of requests.
const (
	// maxWait is the longest time that a snapshot waits for a change.
	maxWait = 30 * time.Second
	// maxBodyBytes is the maximum size of a request's body, such as a task.
	maxBodyBytes = 1 << 20
)

// server answers the manager.
type server struct {
	*execution
	token string
}

// started is the answer to a start signal.
type started struct {
	// RunningNanoseconds is the time since the engine started.
	RunningNanoseconds int64 `json:"runningNanoseconds"`
}

// newHTTPServer returns the HTTPS server of an execution. It does not listen yet.
func newHTTPServer(s *execution, key []byte) (*http.Server, error) {
	secrets, err := deriveSecrets(key)
	if err != nil {
		return nil, err
	}
	config, err := secrets.serverTLS()
	if err != nil {
		return nil, err
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           (&server{execution: s, token: secrets.token}).handler(),
		TLSConfig:         config,
		Protocols:         protocols,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       20 * time.Second,
		WriteTimeout:      maxWait + 30*time.Second,
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(s.notes, "", 0),
	}, nil
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/snapshot", s.getSnapshot)
	mux.HandleFunc("PUT /v1/tasks/{id}", s.putTask)
	mux.HandleFunc("POST /v1/tasks/{id}/start", s.startTask)
	mux.HandleFunc("POST /v1/tasks/{id}/aim", s.aimTask)
	mux.HandleFunc("POST /v1/tasks/{id}/cancel", s.cancelTask)
	mux.HandleFunc("GET /v1/tasks/{id}/report", s.getReport)
	mux.HandleFunc("GET /v1/tasks/{id}/course", s.getCourse)
	mux.HandleFunc("POST /v1/finish", s.finishRunner)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answerError(w, refuse(NotFound, "there is no %s %s", r.Method, r.URL.Path))
	})
	return s.authorized(mux)
}

// authorized passes only requests with the token. Requests without the token do not show that the manager is
// alive, so they do not delay the idle timeout.
func (s *server) authorized(next http.Handler) http.Handler {
	want := []byte("Bearer " + s.token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			answerError(w, refuse(Unauthorized, "the request does not carry the token of this execution"))
			return
		}
		defer s.request()()
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		next.ServeHTTP(w, r)
	})
}

func (s *server) getSnapshot(w http.ResponseWriter, r *http.Request) {
	after, wait := int64(-1), time.Duration(0)
	var errs [2]error
	if text := r.FormValue("after"); text != "" {
		after, errs[0] = strconv.ParseInt(text, 10, 64)
	}
	if text := r.FormValue("wait"); text != "" {
		wait, errs[1] = time.ParseDuration(text)
	}
	if err := errors.Join(errs[:]...); err != nil {
		answerError(w, refuse(Invalid, "want after=VERSION and wait=DURATION: %v", err))
		return
	}
	answer(w, s.snapshot(r.Context(), after, min(max(wait, 0), maxWait)))
}

func (s *server) putTask(w http.ResponseWriter, r *http.Request) {
	var t task.Task
	// Unknown fields are refused, because ignoring one could change the task's meaning.
	if err := jsonv2.UnmarshalRead(r.Body, &t, jsonv2.RejectUnknownMembers(true)); err != nil {
		answerError(w, refuse(Invalid, "the task cannot be read: %v", err))
		return
	}
	if id := r.PathValue("id"); t.ID != id {
		answerError(w, refuse(Invalid, "task %q was sent to the path of task %q", t.ID, id))
		return
	}
	status, err := s.put(t) //nolint:contextcheck // A task outlives its request.
	answerEither(w, status, err)
}

func (s *server) startTask(w http.ResponseWriter, r *http.Request) {
	running, err := s.begin(r.Context(), r.PathValue("id"))
	answerEither(w, started{RunningNanoseconds: int64(running)}, err)
}

func (s *server) cancelTask(w http.ResponseWriter, r *http.Request) {
	answerEither(w, struct{}{}, s.stop(r.PathValue("id")))
}

func (s *server) getReport(w http.ResponseWriter, r *http.Request) {
	encoded, err := s.report(r.PathValue("id"))
	if err != nil {
		answerError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/gzip")
	w.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
	_, _ = w.Write(encoded) //nolint:gosec // The body is not HTML, and the client is not a browser. If it gets lost, the manager asks again.
}

func (s *server) getCourse(w http.ResponseWriter, r *http.Request) {
	first, err := strconv.Atoi(r.FormValue("from"))
	received, receivedErr := strconv.Atoi(r.FormValue("received"))
	if err := errors.Join(err, receivedErr); err != nil {
		answerError(w, refuse(Invalid, "want from=ROW and received=ROW: %v", err))
		return
	}
	rows, refused := s.course(r.PathValue("id"), received, first)
	answerEither(w, rows, refused)
}

func (s *server) finishRunner(w http.ResponseWriter, _ *http.Request) {
	s.finish()
	answer(w, struct{}{})
}

func answerEither(w http.ResponseWriter, value any, err *Error) {
	if err != nil {
		answerError(w, err)
		return
	}
	answer(w, value)
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // An error means that the sender of the request is gone.
}

func answerError(w http.ResponseWriter, err *Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(err.Code.status())
	_ = json.NewEncoder(w).Encode(err) // An error means that the sender of the request is gone.
}

// serve answers requests until the context is done or listening fails.
func serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	server.BaseContext = func(net.Listener) context.Context { return ctx } // When ctx is done, the waits of snapshots end too.
	failed := make(chan error, 1)
	go func() { failed <- server.ServeTLS(listener, "", "") }()
	select {
	case err := <-failed:
		return fmt.Errorf("answer requests: %w", err)
	case <-ctx.Done():
	}
	// Requests in progress, including Finish, still get their answers.
	limited, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	if err := server.Shutdown(limited); err != nil {
		_ = server.Close() // Close closes the connections that are still open after the timeout.
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer requests: %w", err)
	}
	return nil
}
