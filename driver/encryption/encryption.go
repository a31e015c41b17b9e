// Package encryption is TLS as a database's address asks for it: the files, the verification of
// the server's certificate, and explanations of failed handshakes.
//
// It must not know any database.
package encryption

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/youmark/pkcs8"

	"assay/store"
)

// Verification says how far a server's certificate is verified.
type Verification int

const (
	// ChainAndHost wants a trusted authority and the name or address that was dialed.
	ChainAndHost Verification = iota
	// ChainOnly wants a trusted authority.
	ChainOnly
	// Nothing accepts any certificate.
	Nothing
)

// Options are an address's wishes.
type Options struct {
	// CA has the trusted certificates; without it the system's are trusted.
	CA File
	// Certificate and Key are the client's, both or none.
	Certificate, Key File
	// Passphrase opens a key encrypted as PKCS#8 (RFC 8018).
	Passphrase Passphrase
	Verify     Verification
}

// Passphrase is an address's parameter. No error may show its value.
type Passphrase struct{ Parameter, Value string }

// File is an address's parameter that names a PEM file.
type File struct{ Parameter, Path string }

// maxFile bounds a file in bytes; all authorities of an operating system take 250 kB.
const maxFile = 4 << 20

// Config reads the files. For an unusable file it returns *store.OptionError with the parameter,
// the path and the reason, without any of the content.
func (o Options) Config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA.Path != "" {
		if o.Verify == Nothing {
			return nil, refuse(o.CA, "", "none where certificates are not verified")
		}
		text, err := o.CA.read()
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, refuse(o.CA, "it has no certificate", "a PEM file with the certificate of an authority")
		}
	}
	if err := o.addCertificate(config); err != nil {
		return nil, err
	}
	switch o.Verify {
	case ChainOnly:
		config.InsecureSkipVerify = true // of the library's own verification, which wants a host name
		config.VerifyConnection = verifyChain(config.RootCAs)
	case Nothing:
		config.InsecureSkipVerify = true
	}
	return config, nil
}

// Check returns Config's error to a driver whose library reads the files itself. Such a library
// opens older encrypted keys too, so Check does not try these.
func (o Options) Check() error {
	if o.Passphrase.Value != "" && !o.Key.Encrypted() {
		o.Certificate, o.Key, o.Passphrase.Value = File{}, File{}, ""
	}
	_, err := o.Config()
	return err
}

func (o Options) addCertificate(config *tls.Config) error {
	if o.Certificate.Path == "" && o.Key.Path == "" {
		if o.Passphrase.Value != "" {
			return refuse(File{o.Passphrase.Parameter, "xxxxx"}, "", o.Key.Parameter+"=FILE beside it, the key that it opens")
		}
		return nil
	}
	pair, err := o.ClientCertificate()
	if err == nil {
		config.Certificates = []tls.Certificate{pair}
	}
	return err
}

// ClientCertificate reads the client's certificate and key.
func (o Options) ClientCertificate() (tls.Certificate, error) {
	none := tls.Certificate{}
	switch {
	case o.Key.Path == "":
		return none, refuse(o.Certificate, "", o.Key.Parameter+"=FILE beside it, the key of this certificate")
	case o.Certificate.Path == "":
		return none, refuse(o.Key, "", o.Certificate.Parameter+"=FILE beside it, the certificate of this key")
	}
	certificate, err := o.Certificate.read()
	if err != nil {
		return none, err
	}
	if blockOf(certificate, "CERTIFICATE") == nil {
		return none, refuse(o.Certificate, "it has no certificate", "a PEM file with the client's certificate")
	}
	key, err := o.Key.read()
	if err != nil {
		return none, err
	}
	if blockOf(key, "PRIVATE KEY") == nil {
		return none, refuse(o.Key, "it has no key", "a PEM file with a private key")
	}
	if key, err = o.opened(key); err != nil {
		return none, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return none, refuse(o.Key, strings.TrimPrefix(err.Error(), "tls: "), "the key of the certificate in "+o.Certificate.Path)
	}
	return pair, nil
}

func (o Options) opened(key []byte) ([]byte, error) {
	locked := blockOf(key, encryptedKey)
	switch {
	case locked == nil && bytes.Contains(key, []byte("ENCRYPTED")):
		return nil, refuse(o.Key, "it is encrypted in a form older than PKCS#8", "a key in PKCS#8; openssl pkcs8 -topk8 -in KEY -out FILE makes one")
	case locked == nil:
		return key, nil
	case o.Passphrase.Value == "":
		return nil, refuse(o.Key, "it is encrypted", o.Passphrase.Parameter+"=PASSPHRASE beside it")
	}
	plain, err := decrypted(locked.Bytes, o.Passphrase.Value)
	if err != nil {
		return nil, refuse(o.Key, "the passphrase does not open it", "the passphrase with which it was encrypted")
	}
	return plain, nil
}

// encryptedKey is the PEM type of a PKCS#8 key with a passphrase.
const encryptedKey = "ENCRYPTED PRIVATE KEY"

// Encrypted reports whether the file has an encrypted PKCS#8 key.
func (f File) Encrypted() bool {
	text, err := f.read()
	return err == nil && blockOf(text, encryptedKey) != nil
}

func decrypted(key []byte, passphrase string) ([]byte, error) {
	private, err := pkcs8.ParsePKCS8PrivateKey(key, []byte(passphrase))
	if err != nil {
		return nil, err
	}
	plain, err := x509.MarshalPKCS8PrivateKey(private)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: plain}), err
}

// blockOf is the first PEM block whose type has the suffix, or nil.
func blockOf(text []byte, suffix string) *pem.Block {
	for {
		block, rest := pem.Decode(text)
		if block == nil || strings.HasSuffix(block.Type, suffix) {
			return block
		}
		text = rest
	}
}

func (f File) read() ([]byte, error) {
	text, err := readBounded(f.Path)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err // the rest is said already
	}
	if err != nil {
		return nil, refuse(f, err.Error(), "a PEM file that can be read")
	}
	return text, nil
}

// readBounded refuses devices and pipes, which might never end.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no ordinary file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = errors.New("it is too large for certificates")
	}
	return text, err
}

func refuse(f File, reason, want string) error {
	return &store.OptionError{Option: f.Parameter, Value: f.Path, Reason: reason, Want: want}
}

func verifyChain(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, certificate := range state.PeerCertificates[1:] { // a server shows one at least
			options.Intermediates.AddCert(certificate)
		}
		_, err := state.PeerCertificates[0].Verify(options)
		return err
	}
}

const (
	off         = "off"
	verified    = "verified"
	chainOnly   = "encrypted, host name not verified"
	notVerified = "encrypted, not verified"
)

// Setting is the name of State's text in Describe.
const Setting = "tls"

// State says how a connection with this configuration is protected; nil means no TLS. It also
// understands the configurations of pgx and of MongoDB's library.
func State(config *tls.Config) string {
	switch {
	case config == nil:
		return off
	case !config.InsecureSkipVerify:
		return verified
	case config.VerifyConnection != nil || config.VerifyPeerCertificate != nil:
		return chainOnly
	default:
		return notVerified
	}
}
