package journals_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

func TestListFindsEveryJournal(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cephtune-config"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "cephtune-journal-x"}},
	).Build()
	done := journal("done", 1, 1, tuning.Restored)
	done.FSID = "22222222"
	mustSave(t, storeOf(c), journal("open", 1, 1, tuning.Open), done)

	got, err := storeOf(c).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{}
	for _, j := range got {
		open[j.Sweep.Name] = !j.Done()
	}
	if len(got) != 2 || !open["open"] || open["done"] {
		t.Errorf("journals, and whether they are open: %v", open)
	}
}

func TestListNamesWhatItCannotRead(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cephtune-journal-broken"},
		Data:       map[string]string{journals.Key: "{"},
	}).Build()
	mustSave(t, storeOf(c), journal("open", 1, 1, tuning.Open))

	got, err := storeOf(c).List(t.Context())
	if err == nil || !strings.Contains(err.Error(), "cephtune-journal-broken") {
		t.Errorf("error %v, want one that names the ConfigMap", err)
	}
	if len(got) != 1 {
		t.Errorf("%d journals beside the broken one, want 1", len(got))
	}
}

func TestListSaysThatItMayNot(t *testing.T) {
	refused := errors.New("refused")
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return refused },
	}).Build()
	if _, err := storeOf(c).List(t.Context()); !errors.Is(err, refused) || !strings.Contains(err.Error(), namespace) {
		t.Errorf("error %v, want %v and the namespace", err, refused)
	}
}
