//go:build e2e

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writes counts the manager's writes by kind, at the API server. It is a webhook that the API
// server calls for each write of the manager's service account, and it always allows the write.
// Neither the API server's metrics nor the manager's show both who wrote and what.
type writes struct {
	mu     sync.Mutex
	counts map[string]int
}

// take returns the counts since the last call.
func (w *writes) take() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := w.counts
	w.counts = map[string]int{}
	return counts
}

// ServeHTTP implements http.Handler.
func (w *writes) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(http.MaxBytesReader(out, in.Body, 16<<20)).Decode(&review); err != nil || review.Request == nil {
		http.Error(out, "not an AdmissionReview", http.StatusBadRequest)
		return
	}
	kind := fmt.Sprintf("%s %s", review.Request.Operation, review.Request.Resource.Resource)
	if review.Request.SubResource != "" {
		kind += "/" + review.Request.SubResource
	}
	if review.Request.Resource.Resource == "leases" {
		kind += " " + review.Request.Name // The lock's writes belong to a run, the leader's do not.
	}
	w.mu.Lock()
	w.counts[kind]++
	w.mu.Unlock()
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	_ = json.NewEncoder(out).Encode(review) // Without an answer, the API server continues.
}

// countWrites counts until the end of the test. The API server must be able to connect to this
// machine, as the lab's can.
func (c *cluster) countWrites(t testing.TB) *writes {
	t.Helper()
	counter := &writes{counts: map[string]int{}}
	host := c.addressSeenByAPIServer(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(host.String(), "0"))
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	certificate, ca := selfSigned(t, host)
	server := &httptest.Server{
		Listener: listener,
		TLS:      &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
		Config:   &http.Server{Handler: counter, ReadHeaderTimeout: 10 * time.Second},
	}
	server.StartTLS()
	t.Cleanup(server.Close)

	endpoint := "https://" + listener.Addr().String()
	ignore, none, all, second := admissionregistrationv1.Ignore, admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.AllScopes, int32(1)
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "cephtune-e2e-writes"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:         "writes.e2e.cephtune.dev",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &endpoint, CABundle: ca},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}, Scope: &all},
			}},
			MatchConditions: []admissionregistrationv1.MatchCondition{{
				Name:       "manager",
				Expression: fmt.Sprintf("request.userInfo.username == 'system:serviceaccount:%s:cephtune-manager'", c.managerService.Namespace),
			}},
			FailurePolicy:           &ignore,
			SideEffects:             &none,
			TimeoutSeconds:          &second,
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	if err := c.Create(t.Context(), webhook); err != nil {
		t.Fatalf("ask to be told of writes: %v", err)
	}
	t.Cleanup(func() { c.deleteAndWait(t, webhook) })
	return counter
}

// addressSeenByAPIServer returns this machine's address in a connection to the API server.
func (c *cluster) addressSeenByAPIServer(t testing.TB) net.IP {
	t.Helper()
	server, err := url.Parse(c.config.Host)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(t.Context(), "tcp", server.Host)
	if err != nil {
		t.Fatalf("reach the API server: %v", err)
	}
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
	address, ok := connection.LocalAddr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("the connection to the API server is from %v", connection.LocalAddr())
	}
	return address.IP
}

// selfSigned creates a certificate for an address, and returns it also as PEM.
func selfSigned(t testing.TB, host net.IP) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
