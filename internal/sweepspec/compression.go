package sweepspec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// compressionNote returns a warning if a sweep varies settings of compression and the data of a phase is one
// repeated byte; otherwise "".
func compressionNote(spec *Spec) string {
	if !variesCompression(spec) {
		return ""
	}
	var phases []string
	for _, p := range spec.Template.Measured() {
		if repeatsOneByte(p) {
			phases = append(phases, string(p.Name))
		}
	}
	if len(phases) == 0 {
		return ""
	}
	return fmt.Sprintf("Compression: the data of phase %s is one byte over and over, which compression removes almost entirely. "+
		"Use fio with compressiblePercent to measure data like yours.", strings.Join(phases, ", "))
}

// variesCompression reports whether a sweep varies an option of a pool or of OSDs that controls compression.
func variesCompression(spec *Spec) bool {
	return slices.ContainsFunc(AllChanges(spec, nil), func(c Change) bool {
		prefix := "compression_"
		if c.ofOSDs() {
			prefix = "bluestore_" + prefix
		}
		return strings.HasPrefix(c.Setting.Option, prefix)
	})
}

// repeatsOneByte reports whether the data of a phase is one repeated byte. This includes reads of rados bench,
// because rados bench itself writes the data that it reads. Source: ObjBencher in Ceph's
// src/common/obj_bencher.cc, which fills its buffer with "z".
func repeatsOneByte(p v1alpha1.Phase) bool {
	return p.RadosBench != nil || p.RBDBench != nil && p.RBDBench.DataPattern == v1alpha1.RBDBenchRepeatedByte
}
