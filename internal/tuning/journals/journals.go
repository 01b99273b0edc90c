// Package journals keeps journals of changed Ceph settings in ConfigMaps, in the manager's namespace. Ceph
// stores another copy of each journal. Programs and people can read the ConfigMaps while Ceph is unreachable.
package journals

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
)

const (
	// Key is the key of the journal in a ConfigMap's data.
	Key = "journal.json"
	// AnnotationSweep names the sweep that changed settings, or the benchmark that stopped OSDs. It is for
	// people.
	AnnotationSweep = "cephtune.dev/sweep"
	// AnnotationState says how many settings are still to be restored. It is for people.
	AnnotationState = "cephtune.dev/state"

	// The name of a ConfigMap is one of these prefixes, followed by the FSID.
	sweepPrefix  = "cephtune-journal-"
	outagePrefix = "cephtune-disruption-"
)

// ConfigMaps is a store of journals. It has no state, and is safe for concurrent use.
type ConfigMaps struct {
	reader    client.Reader
	writer    client.Writer
	namespace string
	prefix    string
}

var _ tuning.Store = (*ConfigMaps)(nil)

// New returns the store of sweeps' journals in the manager's namespace. The reader must not have a cache,
// because an outdated journal may have wrong original values: use the manager's API reader.
func New(reader client.Reader, writer client.Writer, namespace string) *ConfigMaps {
	return &ConfigMaps{reader: reader, writer: writer, namespace: namespace, prefix: sweepPrefix}
}

// ForOutages returns the store of outages' journals in the same namespace.
func (s *ConfigMaps) ForOutages() *ConfigMaps {
	return &ConfigMaps{reader: s.reader, writer: s.writer, namespace: s.namespace, prefix: outagePrefix}
}

// Load implements [tuning.Store].
func (s *ConfigMaps) Load(ctx context.Context, fsid string) (*tuning.Journal, error) {
	kept, err := s.read(ctx, fsid)
	if err != nil || !exists(kept) {
		return nil, err
	}
	return journalIn(kept, fsid)
}

// Save implements [tuning.Store]. It refuses a journal that does not follow the stored one, and overwrites
// only the version of the ConfigMap that it has read. If two managers continue from the same journal, one of
// them gets tuning.ErrOvertaken, even if both write simultaneously.
//
// Save keeps nothing in memory, so this protection also covers a manager that was restarted. Save cannot
// distinguish a removed journal from one that never existed, so it creates a removed journal again. Only the
// lock keeps other processes from removing a journal that is in use.
func (s *ConfigMaps) Save(ctx context.Context, j *tuning.Journal) error {
	text, err := tuning.Encode(j)
	if err != nil {
		return err
	}
	o, err := s.read(ctx, j.FSID)
	if err != nil {
		return err
	}
	if exists(o) {
		if o.Data[Key] == string(text) {
			return nil // An earlier Save succeeded, but its answer was lost.
		}
		kept, err := journalIn(o, j.FSID)
		if err != nil {
			return err
		}
		if err := tuning.Follows(j, kept); err != nil {
			return s.failed("write", j.FSID, err)
		}
	}
	fill(o, j, text)
	if exists(o) {
		err = s.writer.Update(ctx, o)
	} else {
		err = s.writer.Create(ctx, o)
	}
	return s.failed("write", j.FSID, err)
}

// Remove implements [tuning.Store]. If the ConfigMap is updated or created anew after Remove has read it,
// Remove returns tuning.ErrOvertaken and deletes nothing.
func (s *ConfigMaps) Remove(ctx context.Context, last *tuning.Journal) error {
	fsid := last.FSID
	o, err := s.read(ctx, fsid)
	if err != nil || !exists(o) {
		return err
	}
	kept, err := journalIn(o, fsid)
	if err != nil {
		return err
	}
	if err := tuning.Outlives(last, kept); err != nil {
		return s.failed("remove", fsid, err)
	}
	uid, version := o.UID, o.ResourceVersion
	err = s.writer.Delete(ctx, o, client.Preconditions{UID: &uid, ResourceVersion: &version})
	return s.failed("remove", fsid, client.IgnoreNotFound(err))
}

// read returns the ConfigMap. If the ConfigMap does not exist, read returns one with only a namespace and a
// name.
func (s *ConfigMaps) read(ctx context.Context, fsid string) (*corev1.ConfigMap, error) {
	o := &corev1.ConfigMap{}
	err := s.reader.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.prefix + fsid}, o)
	if apierrors.IsNotFound(err) {
		o = &corev1.ConfigMap{}
		o.Namespace, o.Name = s.namespace, s.prefix+fsid
		return o, nil
	}
	return o, s.failed("read", fsid, err)
}

// exists reports whether the ConfigMap from read exists in Kubernetes.
func exists(o *corev1.ConfigMap) bool { return o.ResourceVersion != "" }

// journalIn returns the journal in a ConfigMap.
func journalIn(o *corev1.ConfigMap, fsid string) (*tuning.Journal, error) {
	text, ok := o.Data[Key]
	if !ok {
		return nil, fmt.Errorf("ConfigMap %s/%s lacks %s, the settings to restore in Ceph: recover it from a backup, or check Ceph's settings yourself and delete the ConfigMap", o.Namespace, o.Name, Key)
	}
	j, err := tuning.Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s: %w", o.Namespace, o.Name, err)
	}
	if j.FSID != fsid {
		return nil, fmt.Errorf("ConfigMap %s/%s is for cluster %s, but its name is for %s: if it was copied, delete it", o.Namespace, o.Name, j.FSID, fsid)
	}
	return j, nil
}

// fill puts a journal into a ConfigMap. It keeps other labels, annotations and data.
func fill(o *corev1.ConfigMap, j *tuning.Journal, text []byte) {
	o.Labels = with(o.Labels, settings.LabelManagedBy, settings.ManagedBy)
	o.Annotations = with(o.Annotations, AnnotationSweep, j.Sweep.String())
	o.Annotations = with(o.Annotations, AnnotationState, state(j))
	o.Data = with(o.Data, Key, string(text))
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// state says how many settings are still to be restored, for people who find the ConfigMap.
func state(j *tuning.Journal) string {
	if j.Done() {
		return "No setting of Ceph is left to restore. cephtune will remove this ConfigMap."
	}
	open := 0
	for _, entry := range j.Entries {
		if entry.State == tuning.Open {
			open++
		}
	}
	return fmt.Sprintf("Settings to restore in Ceph: %d of %d. Do not delete this ConfigMap: it has the original values.", open, len(j.Entries))
}

// failed adds to an error the attempted operation and, for known causes, advice. It returns nil for a nil
// error.
func (s *ConfigMaps) failed(action, fsid string, err error) error {
	if err == nil {
		return nil
	}
	doing := fmt.Sprintf("%s the journal in ConfigMap %s/%s%s", action, s.namespace, s.prefix, fsid)
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), action == "write" && apierrors.IsNotFound(err):
		return fmt.Errorf("%s: %w; if that repeats, check for a second manager: %w", doing, tuning.ErrOvertaken, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: create the Role cephtune-cluster-locks in namespace %s, with the chart (rbac.create) or config/rbac: %w", doing, s.namespace, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
