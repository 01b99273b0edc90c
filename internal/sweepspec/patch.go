package sweepspec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

const (
	kindCluster   = "CephCluster"
	kindBlockPool = "CephBlockPool"
	rookVersion   = "ceph.rook.io/v1"
)

const (
	maxPatch   = 640 // bytes
	maxPatches = 3
)

// Patches returns a configuration as merge patches of Rook's objects, for Git. Only options of Ceph and of
// pools become patches, for at most maxPatches objects. Each patch contains only the options that the
// configuration needs, and the notes for which status has room. Options of a scratch pool become a patch
// without an object's name, for the production pool that serves such a load.
//
// The argument named pools maps existing pools to the names of their CephBlockPools. A pool without an entry
// has a CephBlockPool of the same name. The note, which may be "", stands above each patch: what the verdict speaks for.
func Patches(spec *Spec, values map[string]cephvalue.Value, pools map[v1alpha1.PoolName]string, note string) ([]v1alpha1.WinnerPatch, error) {
	var drafts []*patchDraft
	draft := func(kind, name string) *patchDraft {
		index := slices.IndexFunc(drafts, func(d *patchDraft) bool { return d.kind == kind && d.name == name })
		if index < 0 {
			index, drafts = len(drafts), append(drafts, &patchDraft{kind: kind, namespace: spec.ClusterRef.Namespace, name: name, settings: map[string]any{}})
		}
		return drafts[index]
	}
	for _, change := range AllChanges(spec, values) {
		switch {
		case change.ofOSDs():
			draft(kindCluster, spec.ClusterRef.Name).setConfig(change)
		case !change.Own:
			draft(kindBlockPool, cmp.Or(pools[v1alpha1.PoolName(change.Setting.Pool)], change.Setting.Pool)).setPool(change)
		case change.Metadata:
			draft(kindBlockPool, metadataPool).setPool(change)
		default:
			draft(kindBlockPool, "").setPool(change)
		}
	}
	var all []v1alpha1.WinnerPatch
	for _, d := range drafts[:min(len(drafts), maxPatches)] {
		if note != "" {
			d.notes = append([]string{"Measured " + note + "."}, d.notes...)
		}
		patch, err := d.render(len(drafts))
		if err != nil {
			return nil, err
		}
		all = append(all, patch)
	}
	return all, nil
}

// metadataPool takes the place of a name in the draft for the unnamed metadata pool, until the patch is
// written. The draft for the unnamed data pool has the name "".
const metadataPool = "(metadata)"

type patchDraft struct {
	kind, namespace, name string
	// settings has the options of the pool, or the options of the cluster by section.
	settings map[string]any
	size     int64
	notes    []string
}

func (d *patchDraft) setConfig(c Change) {
	who := "osd"
	if c.Setting.Mask != "" {
		who += "/" + c.Setting.Mask
	}
	section, ok := d.settings[who].(map[string]any)
	if !ok {
		section = map[string]any{}
		d.settings[who] = section
	}
	section[c.Setting.Option] = settingOf(c.To)
	if !c.To.Set {
		d.notes = append(d.notes, fmt.Sprintf("Rook does not remove it from Ceph: run `ceph config rm %s %s` once.", who, c.Setting.Option))
	}
}

func (d *patchDraft) setPool(c Change) {
	switch {
	case c.Setting.Option == optionSize: // Rook has a separate field for the size.
		_, _ = fmt.Sscan(c.To.Text, &d.size)
		return
	case c.Setting.Option == optionPGNum:
		d.settings[paramAutoscaleMode] = "off"
	case !c.To.Set:
		d.notes = append(d.notes, fmt.Sprintf("Rook does not remove it from Ceph: unset %s of the pool once.", c.Setting.Option))
	}
	d.settings[c.Setting.Option] = settingOf(c.To)
}

// settingOf returns nil for an unset option, because null in a merge patch removes the option.
func settingOf(v cephvalue.Value) any {
	if !v.Set {
		return nil
	}
	return v.Text
}

func (d *patchDraft) render(objects int) (v1alpha1.WinnerPatch, error) {
	spec := map[string]any{}
	switch {
	case d.kind == kindCluster:
		spec["cephConfig"] = d.settings
	case len(d.settings) > 0:
		spec["parameters"] = d.settings
	}
	if d.size > 0 {
		spec["replicated"] = map[string]any{"size": d.size}
	}
	metadata, name := map[string]any{"namespace": d.namespace}, d.name
	switch d.name {
	case metadataPool:
		name = ""
		d.notes = append([]string{"For the pool of metadata."}, d.notes...)
	case "":
		d.notes = append([]string{"Apply this patch to the pool that serves such a load: the sweep measured scratch pools."}, d.notes...)
	default:
		metadata["name"] = name
	}
	if objects > maxPatches {
		d.notes = append(d.notes, fmt.Sprintf("There is room for %d of %d objects: see the winner's values.", maxPatches, objects))
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": rookVersion, "kind": d.kind, "metadata": metadata, "spec": spec})
	if err != nil {
		return v1alpha1.WinnerPatch{}, fmt.Errorf("write the patch of %s %s: %w", d.kind, d.name, err)
	}
	return v1alpha1.WinnerPatch{Kind: d.kind, Namespace: d.namespace, Name: name, Merge: d.commented(string(text))}, nil
}

// commented writes the notes before a patch, and omits notes that do not fit into status. If the patch itself
// is too long, commented returns only a comment, because a part of the patch would be another configuration.
func (d *patchDraft) commented(text string) string {
	if len(text) > maxPatch {
		return fmt.Sprintf("# The patch has %d bytes, and status has room for %d: see the winner's values.\n", len(text), maxPatch)
	}
	var b strings.Builder
	for _, note := range d.notes {
		if line := "# " + note + "\n"; b.Len()+len(line)+len(text) <= maxPatch {
			b.WriteString(line)
		}
	}
	return b.String() + text
}
