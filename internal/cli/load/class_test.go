package load

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/internal/cli/clitest"
)

func class(name, provisioner string) client.Object {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner}
}

func volume(name, subject, size string, mode corev1.PersistentVolumeMode, phase corev1.PersistentVolumePhase) client.Object {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: subject, VolumeMode: &mode, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
		},
		Status: corev1.PersistentVolumeStatus{Phase: phase},
	}
}

func TestVolumesAreAsLargeAsTheClassHasThem(t *testing.T) {
	const file, block = corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock
	c := clitest.Holding(t, class("ceph", "rook-ceph.rbd.csi.ceph.com"), class("local", noProvisioner), class("other", noProvisioner),
		volume("a", "local", "2Gi", file, corev1.VolumeAvailable), volume("b", "local", "4Gi", file, corev1.VolumeAvailable),
		volume("c", "local", "8Gi", file, corev1.VolumeReleased), volume("d", "local", "16Gi", block, corev1.VolumeAvailable),
		volume("e", "other", "32Gi", file, corev1.VolumeAvailable))
	forbidden := interceptor.NewClient(c, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "storageclasses"}, key.Name, nil)
		},
	})
	for name, tc := range map[string]struct {
		line, size, fails string
		from              client.Client
	}{
		"volumes on demand":                {"--storage-class ceph", "10Gi", "", c},
		"the largest that is available":    {"--storage-class local", "4Gi", "", c},
		"one for each client":              {"--storage-class local --clients 2", "2Gi", "", c},
		"as a block":                       {"--storage-class local --volume-mode block", "16Gi", "", c},
		"a size of one's own":              {"--storage-class local --volume-size 1Gi", "1Gi", "", c},
		"more clients than volumes":        {"--storage-class local --clients 3", "", "has 2 available filesystem volumes but needs 3", c},
		"none as large":                    {"--storage-class local --volume-size 5Gi", "", "0 available filesystem volumes of 5Gi or more", c},
		"the smaller of two classes":       {"--storage-class other,local", "4Gi", "", c},
		"one of them on demand":            {"--storage-class local,ceph", "4Gi", "", c},
		"one of them is not there":         {"--storage-class local,nosuch", "", "there is no StorageClass nosuch", c},
		"no such class":                    {"--storage-class nosuch", "", "there is no StorageClass nosuch: choose one of ceph, local, other", c},
		"no class at all":                  {"", "", "", c},
		"without the right to look around": {"--storage-class nosuch", "10Gi", "", forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			l, cmd := &Flags{}, &cobra.Command{}
			l.Add(cmd, time.Minute)
			if err := cmd.ParseFlags(strings.Fields(tc.line)); err != nil {
				t.Fatal(err)
			}
			if err := l.Check(false); err != nil {
				t.Fatal(err)
			}
			err := l.Fit(t.Context(), tc.from)
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Fatalf("error %v, want %q", err, tc.fails)
			}
			if err == nil && l.volume != nil && l.volume.String() != tc.size {
				t.Errorf("%v, want %s", l.volume, tc.size)
			}
		})
	}
}

func TestLoadWithoutClientsIsRefused(t *testing.T) {
	for _, line := range []string{"--clients 0", "--storage-class local --clients -1"} {
		l, cmd := &Flags{}, &cobra.Command{}
		l.Add(cmd, time.Minute)
		if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		if err := l.Check(false); err == nil || !strings.Contains(err.Error(), "want at least 1") {
			t.Errorf("%s: error %v, want one that says what to write", line, err)
		}
	}
}
