package archive

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/figure/fitness"
)

// SessionKey is the key of a [SwitchedSession] in the binaryData of a ConfigMap.
const SessionKey = "session.json.gz"

// LabelSwitchedSession labels a session's ConfigMap with the number of the session.
const LabelSwitchedSession = "cephtune.dev/switched-session"

// SwitchedSession is one session of a sweep: a long phase under whose load settings were switched. From it and
// the sweep's spec and plan, the session's entries in the ledger can be computed again. If the sweep has
// constraints, this needs a document without dropped parts.
type SwitchedSession struct {
	// SchemaVersion is always [SchemaVersion] in a document.
	SchemaVersion int `json:"schemaVersion"`
	// Sweep and RunID identify the sweep of the session, and the sweep's run ID. [SessionMap] sets
	// these fields.
	Sweep Benchmark      `json:"sweep"`
	RunID v1alpha1.RunID `json:"runID"`
	// Configurations holds the names of the configurations. Evidence refers to a configuration by its
	// index in this list.
	Configurations []string `json:"configurations"`
	// Objective is the figure by which windows are compared.
	Objective session.Figure `json:"objective"`
	// Evidence holds the switches of settings and the clients' figures.
	Evidence session.Evidence `json:"evidence"`
	// Counted holds the windows from which the verdict is computed, with their values of the objective.
	// If the session has looks (interim evaluations), these are the windows up to the latest look.
	// Counted is kept even if the clients' figures of each second do not fit. It is nil for an invalid
	// session, for a session that ended before its first look, and if the windows could not be computed.
	Counted *switchback.Session `json:"counted,omitempty"`
	// Mark qualifies the session. Like Counted, it is kept if the clients' figures do not fit.
	Mark fitness.Mark `json:"mark,omitempty"`
	// Dropped lists the parts that did not fit, in the order in which they were dropped.
	Dropped []SessionPart `json:"dropped,omitempty"`
}

// SessionPart is a part of a session that is dropped if it does not fit.
type SessionPart string

// These are the parts, in the order in which they are dropped.
const (
	DropWindowHistograms SessionPart = "histograms" // histograms of latencies, by window
	DropSeconds          SessionPart = "seconds"    // clients' figures of each second
)

// errSession is wrapped by errors about documents of sessions.
var errSession = errors.New("archive: a session")

// MarshalSession writes a session as compressed JSON of at most [MaxBytes]. It drops parts that
// do not fit. It does not change the session.
func MarshalSession(s *SwitchedSession) ([]byte, error) { return marshalSession(s, MaxBytes) }

func marshalSession(s *SwitchedSession, limit int) ([]byte, error) {
	document := *s
	document.SchemaVersion = SchemaVersion
	if err := document.check(); err != nil { // UnmarshalSession would refuse the document.
		return nil, err
	}
	for _, drop := range []func(){
		func() {},
		func() { document.Evidence.Latencies, document.Dropped = nil, []SessionPart{DropWindowHistograms} },
		func() {
			document.Evidence.Clients, document.Dropped = nil, []SessionPart{DropWindowHistograms, DropSeconds}
		},
	} {
		drop()
		data, fits, err := encode(&document, limit)
		if err != nil {
			return nil, fmt.Errorf("%w cannot be written: %w", errSession, err)
		}
		if fits {
			return data, nil
		}
	}
	return nil, fmt.Errorf("%w takes more than %d bytes, even without its figures by the second", errSession, limit)
}

// UnmarshalSession reads the output of MarshalSession. It uses a bounded amount of memory for any
// input.
func UnmarshalSession(data []byte) (*SwitchedSession, error) {
	s := &SwitchedSession{}
	if err := decode(data, s); err != nil {
		return nil, err
	}
	if s.SchemaVersion != SchemaVersion {
		return nil, &VersionError{Found: s.SchemaVersion}
	}
	return s, s.check()
}

// check returns an error for a session that contradicts itself or has impossible figures.
func (s *SwitchedSession) check() error {
	switch {
	case s.Number() < 1:
		return fmt.Errorf("%w has number %d", errSession, s.Evidence.Plan.Number)
	case s.Counted != nil && len(s.Counted.Faults) != len(s.Counted.Windows):
		return fmt.Errorf("%w has %d windows and %d faults", errSession, len(s.Counted.Windows), len(s.Counted.Faults))
	case len(s.Configurations) != s.Evidence.Plan.Candidates+1:
		return fmt.Errorf("%w of %d candidates has %d configurations", errSession, s.Evidence.Plan.Candidates, len(s.Configurations))
	}
	return s.checkEvidence()
}

// checkEvidence returns an error for a switch to a configuration that the session does not have, and
// for invalid figures of a second.
func (s *SwitchedSession) checkEvidence() error {
	for i, w := range s.Evidence.Record.Switches {
		if w.Treatment < 0 || w.Treatment >= len(s.Configurations) {
			return fmt.Errorf("%w has configuration %d in window %d, and %d configurations", errSession, w.Treatment, i+1, len(s.Configurations))
		}
	}
	for i, client := range s.Evidence.Clients {
		for j := range client.Seconds {
			if err := client.Seconds[j].Validate(); err != nil {
				return fmt.Errorf("%w: client %d: %w", errSession, i, err)
			}
		}
	}
	return nil
}

// Number counts the sessions of a sweep, from 1.
func (s *SwitchedSession) Number() int { return s.Evidence.Plan.Number }

// Summarize computes the summary of the session again: from the clients' figures, or from Counted if a part
// was dropped. Its second result is false before the first look of a sweep with looks, and with an error. The
// error wraps [session.ErrInvalid] for an invalid session, and [session.ErrNotKept] if a part was dropped and the
// question has constraints.
func (s *SwitchedSession) Summarize(q session.Question) (summary session.Summary, ok bool, err error) {
	if len(s.Dropped) == 0 || s.Evidence.Record.Invalid != "" {
		return s.Evidence.Summarize(q)
	}
	if s.Counted == nil {
		return summary, false, nil
	}
	if len(q.Constraints) > 0 {
		return summary, false, fmt.Errorf("%w: %w: figures of its constraints were left out for lack of space", errSession, session.ErrNotKept)
	}
	if summary.Objective, err = s.Counted.Entries(q.Criteria); err == nil {
		summary.Typical, err = session.Typical(*s.Counted, q.Objective.Metric)
	}
	return summary, err == nil, err
}

// Marked returns the mark of the session: from the clients' figures, or from Mark if these were dropped.
func (s *SwitchedSession) Marked(q session.Question) fitness.Mark {
	if len(s.Dropped) > 0 {
		return s.Mark
	}
	return s.Evidence.Mark(q)
}

// Long returns the candidate of a session of long windows; 0 for a session of short windows.
func (s *SwitchedSession) Long() int { return s.Evidence.Plan.Long }

// SessionMap returns an immutable ConfigMap for a session. The ConfigMap has the given labels in addition to
// its own labels. The name should depend only on the sweep, its run ID and the session's number. Then a second
// write after a crash fails with AlreadyExists.
func SessionMap(sweep *v1alpha1.CephTuningSweep, s *SwitchedSession, name string, labels map[string]string) (*corev1.ConfigMap, error) {
	document := *s
	document.Sweep = Benchmark{Namespace: sweep.Namespace, Name: sweep.Name, UID: sweep.UID}
	document.RunID = sweep.Status.ObservedRunID
	data, err := MarshalSession(&document)
	if err != nil {
		return nil, err
	}
	cm := Document(sweep, v1alpha1.KindCephTuningSweep, SessionKey, data)
	cm.Name = name
	cm.Labels = map[string]string{"app.kubernetes.io/managed-by": "cephtune", LabelSwitchedSession: strconv.Itoa(s.Number())}
	maps.Copy(cm.Labels, labels)
	return cm, nil
}

// SessionsIn reads the sessions of a sweep's current run ID from ConfigMaps, and returns them in the
// order of their numbers. The names of these ConfigMaps are predictable, so SessionsIn skips ConfigMaps
// of other owners.
func SessionsIn(sweep *v1alpha1.CephTuningSweep, kept []corev1.ConfigMap) ([]*SwitchedSession, error) {
	var all []*SwitchedSession
	for i := range kept {
		cm := &kept[i]
		data, ok := cm.BinaryData[SessionKey]
		if !ok || !metav1.IsControlledBy(cm, sweep) {
			continue
		}
		s, err := UnmarshalSession(data)
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %s: %w", cm.Name, err)
		}
		if s.Sweep.UID == sweep.UID && s.RunID == sweep.Status.ObservedRunID {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *SwitchedSession) int { return a.Number() - b.Number() })
	return all, nil
}
