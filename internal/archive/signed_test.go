package archive

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/signature"
)

func TestOnlyTheOperatorsResultsAreGenuine(t *testing.T) {
	master := make([]byte, 32)
	b := benchmark("nightly")
	signed, err := ConfigMap(b, example(t, v1alpha1.RunValid, sized{clients: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if err := Sign(master, b.UID, signed); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		edit          func(cm *corev1.ConfigMap, owner *types.UID, master *[]byte)
		signed, whole bool
	}{
		"as written":        {func(*corev1.ConfigMap, *types.UID, *[]byte) {}, true, true},
		"another document":  {func(cm *corev1.ConfigMap, _ *types.UID, _ *[]byte) { cm.BinaryData[Key] = []byte("x") }, true, false},
		"another digest":    {func(cm *corev1.ConfigMap, _ *types.UID, _ *[]byte) { cm.Annotations[AnnotationDigest] = "x" }, false, false},
		"another name":      {func(cm *corev1.ConfigMap, _ *types.UID, _ *[]byte) { cm.Name = "x" }, false, false},
		"another namespace": {func(cm *corev1.ConfigMap, _ *types.UID, _ *[]byte) { cm.Namespace = "x" }, false, false},
		"another execution": {func(cm *corev1.ConfigMap, _ *types.UID, _ *[]byte) { cm.Labels[LabelExecution] = "x" }, false, false},
		"another run":       {func(cm *corev1.ConfigMap, _ *types.UID, _ *[]byte) { cm.Labels[LabelRun] = "7" }, false, false},
		"another run ID":    {func(cm *corev1.ConfigMap, _ *types.UID, _ *[]byte) { cm.Labels[LabelRunID] = "7" }, false, false},
		"another start": {func(cm *corev1.ConfigMap, _ *types.UID, _ *[]byte) {
			cm.Annotations[AnnotationExecutionStart] = "2099-01-01T00:00:00Z"
		}, false, false},
		"without its start": {func(cm *corev1.ConfigMap, _ *types.UID, _ *[]byte) { delete(cm.Annotations, AnnotationExecutionStart) }, false, false},
		"signed by the version before, without a start": {func(cm *corev1.ConfigMap, owner *types.UID, key *[]byte) {
			delete(cm.Annotations, AnnotationExecutionStart)
			if err := Sign(*key, *owner, cm); err != nil {
				t.Fatal(err)
			}
		}, true, true},
		"unsigned":      {func(cm *corev1.ConfigMap, _ *types.UID, _ *[]byte) { delete(cm.Annotations, signature.Annotation) }, false, false},
		"another owner": {func(_ *corev1.ConfigMap, owner *types.UID, _ *[]byte) { *owner = "x" }, false, false},
		"another key":   {func(_ *corev1.ConfigMap, _ *types.UID, key *[]byte) { *key = append(make([]byte, 31), 1) }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			cm, owner, key := signed.DeepCopy(), b.UID, master
			c.edit(cm, &owner, &key)
			if got, err := Signed(key, owner, cm); err != nil || got != c.signed {
				t.Errorf("signed: %t, %v", got, err)
			}
			if got, err := Genuine(key, owner, cm); err != nil || got != c.whole {
				t.Errorf("genuine: %t, %v", got, err)
			}
		})
	}
}

func TestOtherNamesOfResultsAreStableAndUnknownToOthers(t *testing.T) {
	master := make([]byte, 32)
	names, err := Names(master, "u", Name(benchmark("nightly"), 1))
	if err != nil || len(names) != 4 {
		t.Fatalf("%v, %v", names, err)
	}
	again, _ := Names(master, "u", names[0])
	others, _ := Names(append(make([]byte, 31), 1), "u", names[0])
	for i, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 || again[i] != name || i > 0 && (others[i] == name || names[i-1] == name) {
			t.Errorf("name %d is %s, then %s, and with another key %s", i, name, again[i], others[i])
		}
	}
}
