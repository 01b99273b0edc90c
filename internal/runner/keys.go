package runner

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"
)

// secrets holds the secrets that the manager and the runner each derive from the key of the execution.
type secrets struct {
	// token authenticates the manager's requests.
	token string
	// private is the private key of the runner's certificate.
	private ed25519.PrivateKey
}

// deriveSecrets derives both secrets by HKDF. Each has its own label, so that neither secret reveals the
// other.
func deriveSecrets(key []byte) (*secrets, error) {
	if len(key) != KeyBytes {
		return nil, fmt.Errorf("the key of the execution has %d bytes, want %d", len(key), KeyBytes)
	}
	token, err := hkdf.Key(sha256.New, key, nil, "cephtune runner token 1", 32)
	if err != nil {
		return nil, err
	}
	seed, err := hkdf.Key(sha256.New, key, nil, "cephtune runner certificate 1", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	return &secrets{token: hex.EncodeToString(token), private: ed25519.NewKeyFromSeed(seed)}, nil
}

// serverTLS returns a TLS configuration with a self-signed certificate. The manager recognises the
// certificate by its public key, because the manager derives the same key.
func (s *secrets) serverTLS() (*tls.Config, error) {
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "cephtune runner"},
		NotBefore:    now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), // The manager ignores both times, because clocks may differ.
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, s.private.Public(), s.private)
	if err != nil {
		return nil, fmt.Errorf("make the certificate: %w", err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: s.private}},
		NextProtos:   []string{"http/1.1"},
	}, nil
}

// errWrongKey says that the server does not have the key of the execution.
var errWrongKey = errors.New("the other end is not the runner of this execution: its certificate has another key")

// clientTLS returns a TLS configuration that accepts only a certificate with the key derived from the
// execution's key. Issuer, name and expiry do not matter.
func (s *secrets) clientTLS() *tls.Config {
	want, _ := s.private.Public().(ed25519.PublicKey)
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		NextProtos:         []string{"http/1.1"},
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection is stricter than what this skips.
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errWrongKey
			}
			got, ok := state.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
			if !ok || !want.Equal(got) {
				return errWrongKey
			}
			return nil
		},
	}
}

// FilesDigest returns the SHA-256 digest of named files, in hexadecimal. The manager names it in the Job of a
// client, because users may replace the Secret with the client's files, but not the template of a Job's pods. The key
// of the execution or of Ceph, which is among the files, keeps others from guessing the contents.
func FilesDigest(files map[string][]byte) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(sum, "%d:%s,%d:", len(name), name, len(files[name]))
		_, _ = sum.Write(files[name])
	}
	return hex.EncodeToString(sum.Sum(nil))
}
