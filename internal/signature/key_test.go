package signature_test

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/internal/signature"
)

func TestTheKeyIsMadeOnce(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	first, err := signature.LoadOrCreate(t.Context(), c, "system")
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != 32 || bytes.Equal(first, make([]byte, 32)) {
		t.Errorf("the key is %x", first)
	}
	again, err := signature.LoadOrCreate(t.Context(), c, "system")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, again) {
		t.Error("the second start has another key: it could not reach the runners of the first")
	}
}

func TestADamagedKeyIsRefused(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: signature.SecretName},
		Data:       map[string][]byte{"master": []byte("short")},
	}).Build()
	if _, err := signature.LoadOrCreate(t.Context(), c, "system"); err == nil || !strings.Contains(err.Error(), "delete the Secret") {
		t.Errorf("got %v, want an error that says what to do", err)
	}
}

func TestDerivedKeysDiffer(t *testing.T) {
	master := make([]byte, 32)
	known := map[string]string{}
	for name, derive := range map[string]func() ([]byte, error){
		"a session":         func() ([]byte, error) { return signature.Derive(master, "session", "uid", "1") },
		"another run":       func() ([]byte, error) { return signature.Derive(master, "session", "uid", "2") },
		"another UID":       func() ([]byte, error) { return signature.Derive(master, "session", "uie", "1") },
		"divided otherwise": func() ([]byte, error) { return signature.Derive(master, "session", "ui", "d1") },
		"one word":          func() ([]byte, error) { return signature.Derive(master, "session", "uid,1:1") },
		"another role":      func() ([]byte, error) { return signature.Derive(master, "seal", "uid", "1") },
		"another master": func() ([]byte, error) {
			return signature.Derive(append(make([]byte, 31), 1), "session", "uid", "1")
		},
	} {
		key, err := derive()
		if err != nil || len(key) != 32 {
			t.Fatalf("%s: %d bytes, %v", name, len(key), err)
		}
		if other, ok := known[string(key)]; ok {
			t.Errorf("%s has the key of %s", name, other)
		}
		known[string(key)] = name
	}
}
