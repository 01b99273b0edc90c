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
	"github.com/cephtune/cephtune/internal/session"
	"github.com/cephtune/cephtune/internal/switchback"
)

// SessionKey is the member of a ConfigMap's binaryData that is a [SwitchedSession].
const SessionKey = "session.json.gz"

// LabelSwitchedSession is on the ConfigMaps of sessions: the number of the session.
const LabelSwitchedSession = "cephtune.dev/switched-session"

// SwitchedSession is one session of a sweep in which settings were switched under a load: all that
// its entries in the ledger follow from, given the sweep's spec and plan.
type SwitchedSession struct {
	// SchemaVersion is always [SchemaVersion] in a document.
	SchemaVersion int `json:"schemaVersion"`
	// Sweep and RunID say whose session it is. [SessionMap] fills them in.
	Sweep Benchmark      `json:"sweep"`
	RunID v1alpha1.RunID `json:"runID"`
	// Configurations are their names, by the numbers that settings have in the evidence.
	Configurations []string `json:"configurations"`
	// Objective is the figure that windows are compared by.
	Objective session.Figure `json:"objective"`
	// Evidence is what was done, and what clients got.
	Evidence session.Evidence `json:"evidence"`
	// Counted are the windows that the verdict rests on, by the objective, up to the last look. They are
	// kept even where the seconds of clients have no room; nil if there was no look.
	Counted *switchback.Session `json:"counted,omitempty"`
	// Dropped lists what had no room, in the order in which it was dropped.
	Dropped []SessionPart `json:"dropped,omitempty"`
}

// SessionPart is a part of a session that is dropped where it has no room.
type SessionPart string

// The parts, in the order in which they are dropped.
const (
	DropWindowHistograms SessionPart = "histograms" // of latencies, by window
	DropSeconds          SessionPart = "seconds"    // of clients
)

// errSession is wrapped by errors about documents of sessions.
var errSession = errors.New("archive: a session")

// MarshalSession writes a session as compressed JSON of at most [MaxBytes]. What does not fit is
// dropped. The session is not changed.
func MarshalSession(s *SwitchedSession) ([]byte, error) { return marshalSession(s, MaxBytes) }

func marshalSession(s *SwitchedSession, limit int) ([]byte, error) {
	document := *s
	document.SchemaVersion = SchemaVersion
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
	return nil, fmt.Errorf("%w takes more than %d bytes without its seconds", errSession, limit)
}

// UnmarshalSession reads the output of MarshalSession. Its memory is bounded for any input.
func UnmarshalSession(data []byte) (*SwitchedSession, error) {
	s := &SwitchedSession{}
	if err := decode(data, s); err != nil {
		return nil, err
	}
	switch {
	case s.SchemaVersion != SchemaVersion:
		return nil, &VersionError{Found: s.SchemaVersion}
	case s.Number() < 1:
		return nil, fmt.Errorf("%w has number %d", errSession, s.Evidence.Plan.Number)
	case s.Counted != nil && len(s.Counted.Faults) != len(s.Counted.Windows):
		return nil, fmt.Errorf("%w has %d windows and %d faults", errSession, len(s.Counted.Windows), len(s.Counted.Faults))
	case len(s.Configurations) != s.Evidence.Plan.Candidates+1:
		return nil, fmt.Errorf("%w of %d candidates has %d configurations", errSession, s.Evidence.Plan.Candidates, len(s.Configurations))
	}
	return s, s.checkEvidence()
}

// checkEvidence refuses settings that the session does not have, and rows that have no length.
func (s *SwitchedSession) checkEvidence() error {
	for i, w := range s.Evidence.Record.Switches {
		if w.Setting < 0 || w.Setting >= len(s.Configurations) {
			return fmt.Errorf("%w has setting %d in window %d, and %d configurations", errSession, w.Setting, i+1, len(s.Configurations))
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

// Summarize sums the session up again: from the seconds of its clients, or from its windows where
// those had no room. It is false where there was no look.
func (s *SwitchedSession) Summarize(q session.Question) (summary session.Summary, has bool, err error) {
	if len(s.Dropped) == 0 || s.Evidence.Record.Void != "" {
		return s.Evidence.Summarize(q)
	}
	if s.Counted == nil {
		return summary, false, nil
	}
	if len(q.Constraints) > 0 {
		return summary, false, fmt.Errorf("%w was kept without the figures of its constraints: they had no room", errSession)
	}
	summary.Objective, err = s.Counted.Entries()
	return summary, err == nil, err
}

// SessionMap makes the immutable ConfigMap that keeps a session under a name, with labels that say whose it
// is. Both follow from the sweep, its run ID and the session, so that writing it once more after a crash fails
// with AlreadyExists.
func SessionMap(sweep *v1alpha1.CephTuningSweep, s *SwitchedSession, name string, labels map[string]string) (*corev1.ConfigMap, error) {
	document := *s
	document.Sweep = Benchmark{Namespace: sweep.Namespace, Name: sweep.Name, UID: sweep.UID}
	document.RunID = sweep.Status.ObservedRunID
	data, err := MarshalSession(&document)
	if err != nil {
		return nil, err
	}
	immutable := true
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: sweep.Namespace, Name: name,
			Labels: map[string]string{
				"app.kubernetes.io/managed-by": "cephtune", LabelSwitchedSession: strconv.Itoa(s.Number()),
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(sweep, v1alpha1.GroupVersion.WithKind("CephTuningSweep"))},
		},
		Immutable:  &immutable,
		BinaryData: map[string][]byte{SessionKey: data},
	}
	maps.Copy(cm.Labels, labels)
	return cm, nil
}

// SessionsIn reads the sessions among the ConfigMaps of a sweep, in their order. Names are predictable,
// so that ConfigMaps of other owners are passed over.
func SessionsIn(sweep *v1alpha1.CephTuningSweep, kept []corev1.ConfigMap) ([]*SwitchedSession, error) {
	var all []*SwitchedSession
	for i := range kept {
		cm := &kept[i]
		data, is := cm.BinaryData[SessionKey]
		if !is || !metav1.IsControlledBy(cm, sweep) {
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
