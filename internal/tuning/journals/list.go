package journals

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/tuning"
)

// Found is a ConfigMap with a journal. If the journal cannot be read, Err says why, and Journal is nil.
type Found struct {
	Name    string
	Journal *tuning.Journal
	Err     error
}

// In returns the journals of sweeps and outages in a namespace, done or not. It returns the reader's errors
// unchanged.
func In(ctx context.Context, reader client.Reader, namespace string) ([]Found, error) {
	list := &corev1.ConfigMapList{}
	if err := reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var all []Found
	for i := range list.Items {
		cm := &list.Items[i]
		// The search goes by name, because a person may have removed the label that fill sets.
		if !strings.HasPrefix(cm.Name, sweepPrefix) && !strings.HasPrefix(cm.Name, outagePrefix) {
			continue
		}
		found := Found{Name: cm.Name}
		if found.Journal, found.Err = tuning.Decode([]byte(cm.Data[Key])); found.Err != nil {
			found.Err = fmt.Errorf("ConfigMap %s/%s: %w", cm.Namespace, cm.Name, found.Err)
		}
		all = append(all, found)
	}
	return all, nil
}

// List returns the store's journals of all Ceph clusters, done or not. If it cannot read some journals, it
// returns the readable ones together with an error that names the unreadable ones. Treat an unreadable
// journal as open.
func (s *ConfigMaps) List(ctx context.Context) ([]*tuning.Journal, error) {
	list := &corev1.ConfigMapList{}
	if err := s.reader.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
		return nil, fmt.Errorf("list the journals in namespace %s: %w", s.namespace, err)
	}
	var all []*tuning.Journal
	var unreadable []error
	for i := range list.Items {
		// The search goes by name, because a person may have removed the label that fill sets.
		fsid, ok := strings.CutPrefix(list.Items[i].Name, s.prefix)
		if !ok {
			continue
		}
		j, err := journalIn(&list.Items[i], fsid)
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		all = append(all, j)
	}
	return all, errors.Join(unreadable...)
}
