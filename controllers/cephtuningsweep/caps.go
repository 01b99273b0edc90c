package cephtuningsweep

import (
	"context"
	"fmt"
	"strings"

	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
)

// missingCaps returns the mon caps that the tuner's key needs for the varied settings, but that its
// CephClient does not list. If the CephClient cannot be read, the result is empty, and Ceph may deny a change
// later.
func (r *Reconciler) missingCaps(ctx context.Context, seen pass, varied []tuning.Setting) []string {
	if len(varied) == 0 || seen.cluster.Identities.Tuner == "" {
		return nil
	}
	caps, err := r.Rook.Caps(ctx, seen.cluster, seen.cluster.Identities.Tuner)
	if err != nil {
		return nil
	}
	return tuning.MissingCaps(caps.Mon, varied)
}

// notNamed says that the caps of the clients' key name the usual scratch pool, but not those of further targets: they come
// from an earlier version. It returns "" if the caps name them, or cannot be read.
func (r *Reconciler) notNamed(ctx context.Context, seen pass) string {
	identity, next := seen.cluster.Identities.IO, "pool="+settings.ScratchNamesOf(1).Pool
	caps, err := r.Rook.Caps(ctx, seen.cluster, identity)
	if err != nil || !strings.Contains(caps.OSD, "pool="+settings.ScratchPool) || strings.Contains(caps.OSD, next) {
		return ""
	}
	return fmt.Sprintf("The osd caps of CephClient %s lack %s: apply config/ceph again.", identity, next)
}

// lacking says which caps the key of an identity lacks, and what to do; "" if caps is empty.
func lacking(identity string, caps []string) string {
	if len(caps) == 0 {
		return ""
	}
	return fmt.Sprintf("The mon caps of CephClient %s lack `%s`: add them (with Helm, the values `options` and `powers` add them); docs/cephx-caps.md lists the caps of each change.",
		identity, strings.Join(caps, ", "))
}
