package sweepspec

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/engine"
)

// imageObjectSize varies the size of the RADOS objects of RBD images. Each trial creates images of its own.
type imageObjectSize struct{ anyKind }

// wanted accepts the same texts as the schema of the field objectSize of an image.
func (imageObjectSize) wanted(spec *Spec, value cephvalue.Value) string {
	onImages := slices.ContainsFunc(spec.Template.Measured(), func(p v1alpha1.Phase) bool { return engine.TraitsOf(&p).OnImages })
	size, err := resource.ParseQuantity(value.Text)
	bytes := size.Value()
	switch {
	case !onImages || imageOf(&spec.Template) == nil:
		return "left out, since no phase works on RBD images in a pool"
	case err != nil, bytes < 4<<10, bytes > 32<<20, bytes&(bytes-1) != 0, resource.NewQuantity(bytes, resource.BinarySI).String() != value.Text:
		return "a power of two between 4Ki and 32Mi, such as 4Mi"
	}
	return ""
}

// imageOf returns the description of a template's images; nil if the target is a claim.
func imageOf(t *v1alpha1.BenchmarkTemplate) *v1alpha1.Image {
	switch {
	case t.Target.ScratchPool != nil:
		return &t.Target.ScratchPool.Image
	case t.Target.ExistingPool != nil:
		return &t.Target.ExistingPool.Image
	}
	return nil
}

func (k imageObjectSize) inTemplate(spec *Spec) (cephvalue.Value, error) {
	image := imageOf(&spec.Template)
	if image == nil {
		return cephvalue.Value{}, refuse("parameter %s needs RBD images, which a claim does not have: use a scratchPool or an existingPool", k.Name)
	}
	return cephvalue.Of(image.ObjectSize.String()), nil
}

func (imageObjectSize) set(t *v1alpha1.BenchmarkTemplate, value cephvalue.Value) error {
	if image := imageOf(t); image != nil {
		image.ObjectSize = resource.MustParse(value.Text) // The method wanted has accepted this text.
	}
	return nil
}

// aims: images of all sizes are in one scratch pool.
func (imageObjectSize) aims(spec *Spec) bool { return spec.Template.Target.ScratchPool != nil }

func (k imageObjectSize) notAimed(spec *Spec, facts Facts) string { return k.notStanding(spec, facts) }

func (imageObjectSize) traits() traits {
	return traits{
		data:    "decides how images are stored",
		noPatch: "There is no patch for the size of objects: an image keeps it. Create new images with it, and move the data.",
	}
}
