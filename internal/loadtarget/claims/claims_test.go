package claims

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/settings"
)

func claim(name string, mode corev1.PersistentVolumeMode, mark string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name}}
	c.Spec.VolumeMode = &mode
	if mark != "" {
		c.Annotations = map[string]string{AnnotationOverwrite: mark}
	}
	return c
}

func class(name, clusterID string) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "rook-ceph.rbd.csi.ceph.com", Parameters: map[string]string{"clusterID": clusterID},
	}
}

func TestRefusal(t *testing.T) {
	existing := func(name string) Use { return Use{Existing: types.NamespacedName{Namespace: "bench", Name: name}} }
	created := func(class string) Use { return Use{Volumes: []settings.Volumes{{Class: class, Bytes: 1 << 30}}} }
	cluster := settings.Cluster{Namespace: "rook-ceph", Name: "c"}
	reader := fake.NewClientBuilder().WithObjects(
		claim("files", corev1.PersistentVolumeFilesystem, ""), claim("device", corev1.PersistentVolumeBlock, ""),
		claim("doubt", corev1.PersistentVolumeBlock, "true"), claim("marked", corev1.PersistentVolumeBlock, Overwrite),
		class("block", "rook-ceph"), class("other", "rook-two"),
	).Build()
	for name, tc := range map[string]struct {
		use  Use
		want string // a part of it; "" if it is allowed
	}{
		"no claim":                    {Use{}, ""},
		"files are only added":        {existing("files"), ""},
		"a device":                    {existing("device"), "kubectl annotate pvc device -n bench cephtune.dev/overwrite=yes"},
		"a mark that is another word": {existing("doubt"), "kubectl annotate pvc doubt"},
		"a marked device":             {existing("marked"), ""},
		"a claim that may still come": {existing("nowhere"), ""},
		"a class of the cluster":      {created("block"), ""},
		"a class of another cluster":  {created("other"), "StorageClass other does not belong to this CephCluster"},
		"a class that does not exist": {created("nowhere"), "there is no StorageClass nowhere"},
	} {
		got, err := tc.use.Refusal(t.Context(), reader, cluster)
		if err != nil || (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, %v, want %q in it", name, got, err, tc.want)
		}
	}
}

func TestAListedClassIsNotRead(t *testing.T) {
	failing := func(err error) client.Client {
		return interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return err
			},
		})
	}
	use := Use{Volumes: []settings.Volumes{{Class: "block", Bytes: 1}}}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "storageclasses"}, "block", errors.New("no"))
	if got, err := use.Refusal(t.Context(), failing(forbidden), settings.Cluster{}); !strings.Contains(got, "may not read StorageClass block") || err != nil {
		t.Errorf("without the right to read classes: %q, %v", got, err)
	}
	if got, err := use.Refusal(t.Context(), failing(errors.New("the API server is away")), settings.Cluster{}); got != "" || err == nil {
		t.Errorf("without an answer: %q, %v, want an error", got, err)
	}
	listed := settings.Cluster{StorageClasses: []settings.StorageClass{{Name: "block"}}}
	if got, err := use.Refusal(t.Context(), failing(forbidden), listed); got != "" || err != nil {
		t.Errorf("a listed class: %q, %v", got, err)
	}
}

// The volumes of all targets exist at the same time, so the limit of a class counts all of them.
func TestVolumesOfSeveralTargetsAddUp(t *testing.T) {
	of := func(class string) v1alpha1.Target {
		return v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{
			Template: &v1alpha1.PersistentVolumeClaimTemplate{StorageClassName: class, Size: resource.MustParse("10Gi")},
		}}
	}
	template := v1alpha1.BenchmarkTemplate{Target: of("a"), Clients: v1alpha1.Clients{Count: 2}}
	got := map[string]int64{}
	for _, v := range UseOf("ns", template, of("b"), of("b"), of("a")).Volumes {
		got[v.Class] += v.Bytes
		if got[v.Class] != v.Bytes {
			t.Errorf("class %s is listed twice", v.Class)
		}
	}
	if want := int64(40 << 30); got["a"] != want || got["b"] != want {
		t.Errorf("%v, want %d each", got, want)
	}
}
