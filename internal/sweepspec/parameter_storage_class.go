package sweepspec

import (
	"regexp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// storageClass varies the StorageClass of the volumes that are created for a trial.
type storageClass struct{ anyKind }

// storageClassName matches the valid names of a StorageClass. The schema has the same pattern, but limits the
// length separately.
var storageClassName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

func (storageClass) wanted(_ *Spec, value cephvalue.Value) string {
	if !value.Set || !storageClassName.MatchString(value.Text) {
		return "the name of a StorageClass"
	}
	return ""
}

func (storageClass) inTemplate(spec *Spec) (cephvalue.Value, error) {
	return cephvalue.Of(spec.Template.Target.PersistentVolumeClaim.Template.StorageClassName), nil
}

func (storageClass) set(t *v1alpha1.BenchmarkTemplate, value cephvalue.Value) error {
	if claim := t.Target.PersistentVolumeClaim; claim != nil && claim.Template != nil {
		claim.Template.StorageClassName = value.Text
	}
	return nil
}

func (storageClass) aims(*Spec) bool { return true }

// notAimed: a client's pod has a volume of each class.
func (storageClass) notAimed(spec *Spec, _ Facts) string { return notInTurn(spec) }

func (storageClass) traits() traits {
	return traits{noPatch: "There is no patch for the StorageClass: a claim keeps its class. Create claims of the other class, and move the data."}
}
