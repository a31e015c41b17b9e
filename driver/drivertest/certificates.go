package drivertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/youmark/pkcs8"

	"assay/internal/expect"
)

// Authority is a certificate authority of one test. Everybody can read its files, because
// servers run as users of their own. The files go with the test.
type Authority struct {
	File string

	t           *testing.T
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

// Pair names the files of a certificate and its key; Both holds both.
type Pair struct{ Certificate, Key, Both string }

// NewAuthority makes an authority in a temporary folder.
func NewAuthority(t *testing.T, name string) *Authority {
	t.Helper()
	dir, err := os.MkdirTemp("", "assay-certificates-") // t.TempDir is its owner's alone
	expect.NoError(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	expect.NoError(t, os.Chmod(dir, 0o755))
	a := &Authority{t: t, dir: dir, key: newKey(t), serial: 1}
	template := a.template(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	a.certificate = template // signs itself
	a.certificate, err = x509.ParseCertificate(a.sign(template, a.key))
	expect.NoError(t, err)
	a.File = a.write("ca.pem", block("CERTIFICATE", a.certificate.Raw))
	return a
}

// Server issues a server certificate for names and addresses.
func (a *Authority) Server(hosts ...string) Pair {
	a.t.Helper()
	template := a.template("server")
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} // members of a cluster are both
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.issue("server", template)
}

// Client issues a client certificate for a user.
func (a *Authority) Client(user string) Pair {
	a.t.Helper()
	template := a.template(user)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue("client", template)
}

// Locked encrypts a pair's key as openssl does: PKCS#8 with PBES2.
func Locked(t *testing.T, p Pair, passphrase string) Pair {
	t.Helper()
	text, err := os.ReadFile(p.Key)
	expect.NoError(t, err)
	open, _ := pem.Decode(text)
	key, err := x509.ParsePKCS8PrivateKey(open.Bytes)
	expect.NoError(t, err)
	secret, err := pkcs8.ConvertPrivateKeyToPKCS8(key, []byte(passphrase))
	expect.NoError(t, err)
	certificate, err := os.ReadFile(p.Certificate)
	expect.NoError(t, err)
	p.Key, p.Both = p.Key+".locked", p.Both+".locked"
	locked := block("ENCRYPTED PRIVATE KEY", secret)
	for path, text := range map[string][]byte{p.Key: locked, p.Both: append(certificate, locked...)} {
		expect.NoError(t, os.WriteFile(path, text, 0o600))
	}
	return p
}

func (a *Authority) template(name string) *x509.Certificate {
	a.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

func (a *Authority) issue(file string, template *x509.Certificate) Pair {
	a.t.Helper()
	key := newKey(a.t)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	expect.NoError(a.t, err)
	certificate, keyText := block("CERTIFICATE", a.sign(template, key)), block("PRIVATE KEY", secret)
	return Pair{
		Certificate: a.write(file+"-cert.pem", certificate), Key: a.write(file+"-key.pem", keyText),
		Both: a.write(file+"-both.pem", append(certificate, keyText...)),
	}
}

func (a *Authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	expect.NoError(a.t, err)
	return der
}

func (a *Authority) write(name string, text []byte) string {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	expect.NoError(a.t, os.WriteFile(path, text, 0o644))
	return path
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.NoError(t, err)
	return key
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
