package load

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// noProvisioner is the provisioner of classes whose volumes are created beforehand.
const noProvisioner = "kubernetes.io/no-provisioner"

// Fit chooses a volume size that the classes of --storage-class offer, unless --volume-size is set.
// Only classes that create no volumes limit the size. Fit returns an error if a class does not exist or
// has too few volumes. It skips a class if the user may not read the class or the volumes.
func (l *Flags) Fit(ctx context.Context, c client.Client) error {
	for _, name := range l.classes {
		if err := l.fit(ctx, c, name); err != nil {
			return err
		}
	}
	return nil
}

func (l *Flags) fit(ctx context.Context, c client.Client, name string) error {
	class := &storagev1.StorageClass{}
	switch err := c.Get(ctx, client.ObjectKey{Name: name}, class); {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no StorageClass %s%s", name, otherClasses(ctx, c))
	case apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading StorageClass %s: %w", name, err)
	case class.Provisioner != noProvisioner:
		return nil
	}
	volumes := &corev1.PersistentVolumeList{}
	switch err := c.List(ctx, volumes); {
	case apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return fmt.Errorf("listing the volumes of StorageClass %s: %w", name, err)
	}
	return l.fitVolumes(name, volumes.Items)
}

// fitVolumes chooses the largest size for which the class has a volume for each client. The size never
// exceeds the size for earlier classes, because all classes are measured with one size. With
// --volume-size, fitVolumes only checks that the class has enough volumes of at least this size.
func (l *Flags) fitVolumes(class string, all []corev1.PersistentVolume) error {
	mode := corev1.PersistentVolumeFilesystem
	if l.volumeMode == "block" {
		mode = corev1.PersistentVolumeBlock
	}
	var sizes []resource.Quantity
	for _, v := range all {
		volumeMode := corev1.PersistentVolumeFilesystem
		if v.Spec.VolumeMode != nil {
			volumeMode = *v.Spec.VolumeMode
		}
		size := v.Spec.Capacity[corev1.ResourceStorage]
		fits := l.volumeSize == "" || size.Cmp(*l.volume) >= 0
		if v.Spec.StorageClassName == class && v.Status.Phase == corev1.VolumeAvailable && volumeMode == mode && fits {
			sizes = append(sizes, size)
		}
	}
	if len(sizes) < int(l.clients) {
		volumes := l.volumeMode + " volumes"
		if l.volumeSize != "" {
			volumes += " of " + l.volumeSize + " or more"
		}
		return fmt.Errorf("StorageClass %s creates no volumes, and has %d available %s but needs %d: create more, release unused ones, or choose another size",
			class, len(sizes), volumes, l.clients)
	}
	if l.volumeSize == "" {
		slices.SortFunc(sizes, func(a, b resource.Quantity) int { return b.Cmp(a) })
		if largest := sizes[l.clients-1]; !l.fitted || largest.Cmp(*l.volume) < 0 {
			l.volume, l.fitted = &largest, true
		}
	}
	return nil
}

// otherClasses lists the existing classes, for an error message.
func otherClasses(ctx context.Context, c client.Client) string {
	list := &storagev1.StorageClassList{}
	if err := c.List(ctx, list); err != nil || len(list.Items) == 0 {
		return ""
	}
	names := make([]string, len(list.Items))
	for i, class := range list.Items {
		names[i] = class.Name
	}
	slices.Sort(names)
	return ": choose one of " + strings.Join(names, ", ")
}
