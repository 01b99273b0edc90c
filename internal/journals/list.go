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

// List returns the journals of all clusters, whether something is left to put back or
// not. The error names those that cannot be read, beside the ones that could: what they
// have to put back is not known, so they count as open.
func (s *ConfigMaps) List(ctx context.Context) ([]*tuning.Journal, error) {
	list := &corev1.ConfigMapList{}
	if err := s.reader.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
		return nil, fmt.Errorf("list the journals in namespace %s: %w", s.namespace, err)
	}
	var all []*tuning.Journal
	var unreadable []error
	for i := range list.Items {
		// By name and not by label: somebody may have taken that off.
		fsid, is := strings.CutPrefix(list.Items[i].Name, s.prefix)
		if !is {
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
