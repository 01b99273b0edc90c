package tuning

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
)

// SchemaVersion is the version of the journals that this package writes. The package refuses
// journals of other versions, because the meaning of their entries is unknown.
const SchemaVersion = 1

// Journal lists the settings to restore in a Ceph cluster. A cluster has at most one journal for a
// sweep and one for an outage. A journal is removed only when all of its entries are closed, that
// is, in a state other than Open.
type Journal struct {
	SchemaVersion int    `json:"schemaVersion"`
	FSID          string `json:"fsid"`
	// Sweep is the sweep or benchmark for which the cluster is changed.
	Sweep Sweep `json:"sweep"`
	// Cluster is the UID of the Kubernetes cluster with that sweep; "" in journals of outages, and in journals
	// of cephtune versions that did not record it.
	Cluster string `json:"cluster,omitempty"`
	// Epoch is the lock's epoch at the last write, or a higher one if an earlier writer held another Lease
	// with a higher epoch. Epoch never decreases. Writer is the process whose Engine last wrote the journal;
	// GiveUp does not change it. Revision counts the writes.
	Epoch    int64  `json:"epoch"`
	Writer   string `json:"writer"`
	Revision int64  `json:"revision"`
	// Until is the deadline for restoring everything; zero for no deadline.
	Until time.Time `json:"until,omitzero"`
	// Entries lists the settings in the order of their first change since they were last restored.
	Entries []Entry `json:"entries"`
}

// IsOutage reports whether the journal belongs to an outage.
func (j *Journal) IsOutage() bool {
	return slices.ContainsFunc(j.Entries, func(e Entry) bool { return e.Setting.Kind == KindNoUp })
}

// Sweep identifies the sweep or benchmark for which settings are changed, in the form that journals use.
type Sweep struct {
	// Kind is the kind of the object; "" or CephTuningSweep for a sweep.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// SweepOf converts a reference to the form that journals use.
func SweepOf(r objectref.Ref) Sweep {
	return Sweep{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: string(r.UID)}
}

// Ref converts the Sweep to a reference.
func (s Sweep) Ref() objectref.Ref {
	return objectref.Ref{Kind: s.KindOrSweep(), Namespace: s.Namespace, Name: s.Name, UID: types.UID(s.UID)}
}

// KindOrSweep returns the kind of the object; CephTuningSweep if Kind is empty.
func (s Sweep) KindOrSweep() string { return cmp.Or(s.Kind, "CephTuningSweep") }

// String returns namespace/name.
func (s Sweep) String() string { return s.Namespace + "/" + s.Name }

// Entry is one setting that was changed or may have been changed.
type Entry struct {
	Setting Setting `json:"setting"`
	// PoolID is the ID of the setting's pool, because a pool may be renamed. It is 0 for a setting without a
	// pool, and in journals of cephtune versions that did not record it.
	PoolID int64  `json:"poolID,omitempty"`
	Type   string `json:"type"`
	// Original is the setting's value before the tuner's first change since the last restore. If reopen opens
	// an entry in the state LeftAlone, Original becomes the value that the other client had set, unless the
	// journal has only the start of that value.
	Original cephvalue.Value `json:"original"`
	// Applied lists the values that the tuner set or may have set.
	Applied []AppliedValue `json:"ours"`
	State   State          `json:"state"`
	// Found is the value that another client set, if State is LeftAlone. A value of more than maxFound bytes
	// is shortened.
	Found *cephvalue.Value `json:"found,omitempty"`
}

// AppliedValue is a value that the tuner set or may have set.
type AppliedValue struct {
	Intended cephvalue.Value `json:"intended"`
	// Stored is the value in Ceph's notation; nil until it was read back.
	Stored *cephvalue.Value `json:"stored,omitempty"`
}

// State says whether an entry is open, or how it was closed.
type State string

// The states of an entry. Restored and LeftAlone may become Open again; Gone, Kept and Abandoned
// are final.
const (
	// Open means that the setting may have a value that the tuner set.
	Open State = "Open"
	// Restored means that the setting has its original value again.
	Restored State = "Restored"
	// LeftAlone means that the setting has a value that another client set.
	LeftAlone State = "LeftAlone"
	// Gone means that the setting's pool or OSD no longer exists.
	Gone State = "Gone"
	// Kept means that the setting keeps a value of the tuner on purpose.
	Kept State = "Kept"
	// Abandoned means that a person gave up the restore. The setting may still have a value of the tuner.
	Abandoned State = "Abandoned"
)

// ForeignChangeError says that another client has changed a setting. Either the journal does not list the
// value that was found, or the tuner set another value last.
type ForeignChangeError struct {
	Setting Setting
	Found   cephvalue.Value
}

// Error implements error.
func (e *ForeignChangeError) Error() string {
	return fmt.Sprintf("something else changed %s to %s: cephtune leaves it as it is", e.Setting, e.Found)
}

// newJournal returns a journal without entries.
func newJournal(fsid string, sweep Sweep) *Journal {
	return &Journal{SchemaVersion: SchemaVersion, FSID: fsid, Sweep: sweep}
}

// clone returns a copy whose entries can change independently. The copies share the values that Found and
// Stored point to, which are never modified.
func (j *Journal) clone() *Journal {
	twin := *j
	twin.Entries = slices.Clone(j.Entries)
	for i := range twin.Entries {
		twin.Entries[i].Applied = slices.Clone(j.Entries[i].Applied)
	}
	return &twin
}

// Done reports whether no entry is open.
func (j *Journal) Done() bool {
	return !slices.ContainsFunc(j.Entries, func(e Entry) bool { return e.State == Open })
}

// Entry returns the entry of a setting.
func (j *Journal) Entry(setting Setting) (Entry, bool) {
	index := j.index(setting)
	if index < 0 {
		return Entry{}, false
	}
	return j.Entries[index], true
}

func (j *Journal) index(setting Setting) int {
	return slices.IndexFunc(j.Entries, func(e Entry) bool { return e.Setting == setting })
}

// intend records that a setting is about to change. If the setting has no entry or a restored one, the
// current value becomes the original. It is an error if the entry is closed in another state, or if another
// client has changed the setting.
func (j *Journal) intend(change Change, now cephvalue.Value) error {
	index := j.index(change.Setting)
	fresh := Entry{
		Setting: change.Setting, Type: change.Type, Original: now, State: Open,
		Applied: []AppliedValue{{Intended: change.To}},
	}
	if index < 0 {
		j.Entries = append(j.Entries, fresh)
		return nil
	}
	entry := &j.Entries[index]
	switch {
	case entry.State == Restored:
		// The sweep restored the setting, for example when it was suspended. Now it continues, with the
		// current value as the original.
		j.Entries = append(slices.Delete(j.Entries, index, index+1), fresh)
		return nil
	case entry.State != Open:
		return fmt.Errorf("%s is %s in the journal already: start a new run", change.Setting, entry.State)
	case entry.judge(now) == leaveAlone:
		return &ForeignChangeError{Setting: change.Setting, Found: now}
	}
	if !slices.ContainsFunc(entry.Applied, func(o AppliedValue) bool { return o.Intended == change.To }) {
		entry.Applied = append(entry.Applied, AppliedValue{Intended: change.To})
	}
	return nil
}

// identify records the ID of a setting's pool. If the journal has another ID for the pool, it returns
// ErrPoolGone, because a different pool with the same name must not be changed.
func (j *Journal) identify(setting Setting, id int64) error {
	entry := &j.Entries[j.index(setting)]
	if entry.PoolID != 0 && entry.PoolID != id {
		return fmt.Errorf("%s: pool %s was removed or renamed, and another has its name: %w", setting, setting.Pool, ErrPoolGone)
	}
	entry.PoolID = id
	return nil
}

// untouched maps the setting of each change to true if the journal has no entry for the setting, or a restored
// one. Call untouched before intend, because intend opens the entries.
func (j *Journal) untouched(changes []Change) map[Setting]bool {
	untouched := map[Setting]bool{}
	for _, change := range changes {
		entry, journalled := j.Entry(change.Setting)
		untouched[change.Setting] = !journalled || entry.State == Restored
	}
	return untouched
}

// confirm compares a setting's current value with the journal immediately before the change. If an untouched
// setting no longer has the recorded original, the current value becomes the original, and confirm reports
// that the journal has to be written again. If any other setting has a value that the journal does not list,
// the error is a *ForeignChangeError.
func (j *Journal) confirm(setting Setting, now cephvalue.Value, untouched bool) (changed bool, err error) {
	entry := &j.Entries[j.index(setting)]
	switch {
	case untouched:
		changed = !entry.same(now, entry.Original)
		if changed {
			entry.Original = now
		}
	case entry.judge(now) == leaveAlone:
		err = &ForeignChangeError{Setting: setting, Found: now}
	}
	return changed, err
}

// stored records a setting's current value as Ceph's notation of the value of a change, and returns true. If
// the two values differ in more than notation, stored records nothing and returns false, because another client
// may have set the current value.
func (j *Journal) stored(change Change, now cephvalue.Value) bool {
	entry := &j.Entries[j.index(change.Setting)]
	if !entry.same(now, change.To) {
		return false
	}
	for i := range entry.Applied {
		if entry.Applied[i].Intended == change.To {
			entry.Applied[i].Stored = &now
		}
	}
	return true
}

// closeEntry closes the entry of a setting, and shortens a long value that was found.
func (j *Journal) closeEntry(setting Setting, state State, found *cephvalue.Value) {
	entry := &j.Entries[j.index(setting)]
	entry.State, entry.Found = state, found
	if found != nil && len(found.Text) > maxFound {
		entry.Found = &cephvalue.Value{Set: found.Set, Text: strings.ToValidUTF8(found.Text[:maxFound], "") + cut}
	}
}

// comparable returns the settings whose entries are Restored or LeftAlone. These settings were compared with
// Ceph when their entries were closed. A command that Ceph executed after the comparison may have changed
// them.
func (j *Journal) comparable() []Setting {
	var settings []Setting
	for _, entry := range j.Entries {
		if entry.State == Restored || entry.State == LeftAlone {
			settings = append(settings, entry.Setting)
		}
	}
	return settings
}

// reopen opens a closed entry again if the setting has a value of the tuner after all, because Ceph executed
// a command late. If the setting was left alone, the other client's value becomes the original. If the
// journal has only the start of that value, the recorded original stays.
func (j *Journal) reopen(setting Setting, now cephvalue.Value) {
	entry := &j.Entries[j.index(setting)]
	if entry.State == LeftAlone && entry.Found != nil {
		if entry.same(now, *entry.Found) || entry.judge(now) != restoreOriginal {
			return
		}
		if !strings.HasSuffix(entry.Found.Text, cut) {
			entry.Original = *entry.Found
		}
	}
	if entry.judge(now) == restoreOriginal {
		entry.State, entry.Found = Open, nil
	}
}

func (e Entry) same(a, b cephvalue.Value) bool { return same(e.Setting, e.Type, a, b) }

// GiveUp abandons all open entries. It does not write the journal: to record the outcome, save each copy that
// can be reached.
func (j *Journal) GiveUp() {
	for i := range j.Entries {
		if j.Entries[i].State == Open {
			j.Entries[i].State = Abandoned
		}
	}
	j.Revision++
}

// action is the next action for an entry.
type action int

const (
	restoreOriginal action = iota
	alreadyBack
	leaveAlone
)

// judge compares a setting's current value with the original and with the values that the tuner set.
func (e Entry) judge(now cephvalue.Value) action {
	switch {
	case e.same(now, e.Original):
		return alreadyBack
	case slices.ContainsFunc(e.Applied, func(o AppliedValue) bool {
		return e.same(now, o.Intended) || o.Stored != nil && e.same(now, *o.Stored)
	}):
		return restoreOriginal
	default:
		return leaveAlone
	}
}

// ToRestore returns the open entries in the order of their restore: the reverse order of their changes, with
// two exceptions. Settings whose original value unlocks others in mClock come first. Autoscalers, the
// balancer, the scrub flags and noup come last, because an active autoscaler would change the number of PGs
// itself.
func (j *Journal) ToRestore() []Entry {
	var varied, held []Entry
	for _, entry := range slices.Backward(j.Entries) {
		switch {
		case entry.State != Open:
		case entry.Setting.Kind == KindPoolOption || entry.Setting.Kind == KindConfig:
			varied = append(varied, entry)
		default:
			held = append(held, entry)
		}
	}
	varied = unlockFirst(varied, func(e Entry) bool { return unlocks(e.Setting, e.Original) })
	return append(varied, held...)
}

// waitsFor returns an open setting that has to be restored before the given one. The number of PGs comes
// before the autoscaler, which would change it, and before the balancer, which would move PGs. A setting
// whose original value unlocks options in mClock comes before those options, because OSDs would remove locked
// options.
func (j *Journal) waitsFor(setting Setting) (Setting, bool) {
	for _, entry := range j.Entries {
		if entry.State == Open && entry.Setting.isPGNum() &&
			(setting.Kind == KindBalancer || setting.Kind == KindAutoscaler && setting.Pool == entry.Setting.Pool) {
			return entry.Setting, true
		}
		if entry.State == Open && unlocks(entry.Setting, entry.Original) && needs(setting, entry.Setting) {
			return entry.Setting, true
		}
	}
	return Setting{}, false
}

const (
	// maxStored is the maximum size of an encoded journal in bytes: Ceph's limit for a config-key value,
	// minus a margin.
	maxStored = 63 << 10
	// maxJournal is the maximum size in bytes of a journal whose entries are all closed. closable checks it
	// before settings are changed.
	maxJournal = 60 << 10
	// maxFound is the maximum number of bytes that the journal keeps of another client's value.
	maxFound = 128
	// cut ends a value if the journal keeps only its start.
	cut = "…"
)

// closable returns an error for a journal that might exceed maxJournal once all of its entries are closed. If
// the journal then exceeded even maxStored, it could not be written, so its entries could never be closed.
func (j *Journal) closable() error {
	largest := j.clone()
	largest.Epoch, largest.Revision = math.MaxInt64, math.MaxInt64
	largest.Until = time.Unix(0, 1).UTC()
	largest.Writer = strings.Repeat("w", max(len(j.Writer), 64))
	for i := range largest.Entries {
		entry := &largest.Entries[i]
		// No state has a longer name than LeftAlone, and JSON encodes each < with six bytes.
		entry.State, entry.Found = LeftAlone, &cephvalue.Value{Set: true, Text: strings.Repeat("<", maxFound+1)}
		for k := range entry.Applied {
			if ours := &entry.Applied[k]; ours.Stored == nil {
				ours.Stored = &cephvalue.Value{Set: true, Text: longestForm(entry.Type, ours.Intended.Text)}
			}
		}
	}
	text, err := json.Marshal(largest)
	if err == nil && len(text) > maxJournal {
		err = fmt.Errorf("the journal may grow to %d bytes, more than the limit of %d: vary fewer settings and values", len(text), maxJournal)
	}
	return err
}

// longestForm returns a value's text or its form in Ceph's notation, whichever is longer.
func longestForm(valueType, text string) string {
	if canonical, err := cephvalue.Canonical(valueType, text); err == nil && len(canonical) > len(text) {
		return canonical
	}
	return text
}

// Encode returns the journal as JSON. A journal of more than maxStored bytes is an error.
func Encode(j *Journal) ([]byte, error) {
	text, err := json.Marshal(j)
	if err == nil && len(text) > maxStored {
		err = fmt.Errorf("the journal has %d bytes, more than the limit of %d: vary fewer settings and values", len(text), maxStored)
	}
	return text, err
}

// equal reports whether two journals have the same JSON. A nil journal equals only nil.
func (j *Journal) equal(other *Journal) bool {
	first, err := json.Marshal(j)
	if err != nil {
		return false
	}
	second, err := json.Marshal(other)
	return err == nil && bytes.Equal(first, second)
}

// Decode parses a journal. It refuses a journal of another schema version, or without an FSID.
func Decode(text []byte) (*Journal, error) {
	var j Journal
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("the journal is damaged: %w", err)
	}
	if j.SchemaVersion != SchemaVersion {
		return nil, fmt.Errorf("the journal has version %d, but this cephtune reads %d: restore with the cephtune version that wrote it", j.SchemaVersion, SchemaVersion)
	}
	if j.FSID == "" {
		return nil, errors.New("the journal is damaged: it names no Ceph cluster")
	}
	return &j, nil
}
