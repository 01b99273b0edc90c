package signature_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cephtune/cephtune/internal/signature"
)

func TestASignatureCoversEveryField(t *testing.T) {
	master := make([]byte, 32)
	signed := signature.Statement{Purpose: "job", Owner: "uid", Namespace: "bench", Name: "a", Nonce: "n", Content: []string{"1", "2"}}
	text, err := signed.Sign(master)
	if err != nil || len(text) > 80 {
		t.Fatalf("got %q, %v", text, err)
	}
	if genuine, err := signed.Verify(master, text); err != nil || !genuine {
		t.Fatalf("its own signature is refused: %v", err)
	}
	for name, edit := range map[string]func(*signature.Statement){
		"purpose":           func(s *signature.Statement) { s.Purpose = "results" },
		"owner":             func(s *signature.Statement) { s.Owner = "uie" },
		"namespace":         func(s *signature.Statement) { s.Namespace = "benc" },
		"name":              func(s *signature.Statement) { s.Name = "b" },
		"nonce":             func(s *signature.Statement) { s.Nonce = "m" },
		"content":           func(s *signature.Statement) { s.Content = []string{"1", "3"} },
		"divided otherwise": func(s *signature.Statement) { s.Content = []string{"12"} },
		"one more":          func(s *signature.Statement) { s.Content = []string{"1", "2", ""} },
	} {
		t.Run(name, func(t *testing.T) {
			other := signed
			edit(&other)
			if genuine, err := other.Verify(master, text); err != nil || genuine {
				t.Errorf("the signature is accepted (%v) although the %s differs", err, name)
			}
		})
	}
	if genuine, _ := signed.Verify(append(make([]byte, 31), 1), text); genuine {
		t.Error("the signature is accepted with another master key")
	}
}

func TestANonceIsFreshAndFitsAName(t *testing.T) {
	first, second := signature.NewNonce(), signature.NewNonce()
	if first == second || len(first) != 26 || len(validation.IsDNS1123Label("a-"+first)) > 0 {
		t.Errorf("got %q and %q", first, second)
	}
}

func TestADigestDependsOnTheValue(t *testing.T) {
	one, err := signature.Digest(map[string]int{"a": 1})
	if err != nil {
		t.Fatal(err)
	}
	if other, _ := signature.Digest(map[string]int{"a": 2}); one == other || len(one) != 64 {
		t.Errorf("got %q and %q", one, other)
	}
	if _, err := signature.Digest(func() {}); err == nil {
		t.Error("a value without JSON has a digest")
	}
}
