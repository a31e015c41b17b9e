package agents

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"math/big"
	"time"
)

// pinSecret replaces the fingerprint of a key that follows from the address's password. Agents
// that start before the engine cannot know the fingerprint otherwise.
const pinSecret = "secret"

// leastSecret is the shortest user's secret, in characters. The engine's public key follows from
// it and is shown to everyone, who may try secrets against it.
const leastSecret = 16

// CertificateError means that another server than the engine answers at the address. Nothing
// was told to it.
type CertificateError struct{ Want, Found string }

func (e *CertificateError) Error() string {
	return fmt.Sprintf("the certificate there is another one: its key has the fingerprint %s, and the address asks for sha256=%s; "+
		"take the address that this run has printed, and if it is that, another program answers in the engine's place", e.Found, e.Want)
}

// keyOf derives the key of an embedded engine from its secret (HKDF, RFC 5869).
func keyOf(secret string) (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, []byte(secret), nil, "assay: key of the engine's certificate", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// fingerprint is the SHA-256 of a public key in hexadecimal, of the same bytes as RFC 7469's PIN.
func fingerprint(key any) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:]), nil
}

func fingerprintOf(secret string) (string, error) {
	key, err := keyOf(secret)
	if err != nil {
		return "", err
	}
	return fingerprint(key.Public())
}

// certificateLife is the validity of a certificate, which exists in memory as long as its engine.
const certificateLife = 30 * 24 * time.Hour

func certificate(secret string) (tls.Certificate, error) {
	key, err := keyOf(secret)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{"assay"},
	}, &x509.Certificate{}, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// pinned accepts only the server whose key has the fingerprint. It ignores the certificate's name
// and times, since an agent's clock may be wrong.
func pinned(want string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // the key is compared instead, of each connection
		VerifyConnection: func(s tls.ConnectionState) error {
			found, err := fingerprint(s.PeerCertificates[0].PublicKey)
			if err == nil && found != want {
				err = &CertificateError{Want: want, Found: found}
			}
			return err
		},
	}
}
