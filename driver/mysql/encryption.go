package mysql

import (
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"slices"
	"sync"

	library "github.com/go-sql-driver/mysql"

	"assay/driver/encryption"
	"assay/driver/uri"
	"assay/store"
)

// Values of ssl-mode (MySQL manual, "Command Options for Encrypted Connections").
const (
	sslDisabled       = "DISABLED"
	sslPreferred      = "PREFERRED"
	sslRequired       = "REQUIRED"
	sslVerifyCA       = "VERIFY_CA"
	sslVerifyIdentity = "VERIFY_IDENTITY"
)

type encryptionSettings struct {
	mode   string      // one of the values of ssl-mode
	config *tls.Config // nil without TLS
}

// readEncryption takes the encryption options out, named as in MySQL's clients. tls, with
// go-sql-driver's values, is the older name of the mode. Files without a mode mean VERIFY_IDENTITY;
// without either there is no encryption.
func readEncryption(options uri.Options) (e encryptionSettings, err error) {
	older := map[string]string{"true": sslVerifyIdentity, "skip-verify": sslRequired, "preferred": sslPreferred, "false": sslDisabled}
	mode, err := options.Choose("ssl-mode", sslDisabled, sslPreferred, sslRequired, sslVerifyCA, sslVerifyIdentity)
	if err != nil {
		return e, err
	}
	old, err := options.Choose("tls", "true", "false", "preferred", "skip-verify")
	if err != nil {
		return e, err
	}
	if mode != "" && old != "" {
		return e, &store.OptionError{Option: "tls", Value: old, Want: "ssl-mode alone, which says the same"}
	}
	if old != "" {
		mode = older[old]
	}
	take := func(name string) encryption.File {
		path, _ := options.Take(name)
		return encryption.File{Parameter: name, Path: path}
	}
	files := []encryption.File{take("ssl-ca"), take("ssl-cert"), take("ssl-key")}
	passphrase, locked := options.Take("ssl-passphrase")
	given := slices.IndexFunc(files, func(f encryption.File) bool { return f.Path != "" })
	switch {
	case given < 0 && locked:
		return e, &store.OptionError{Option: "ssl-passphrase", Value: "xxxxx", Want: "ssl-key=FILE beside it, the key that it opens"}
	case mode == "" && given < 0:
		return encryptionSettings{mode: sslDisabled}, nil
	case mode == "":
		mode = sslVerifyIdentity
	case mode == sslDisabled && given >= 0:
		return e, &store.OptionError{Option: files[given].Parameter, Value: files[given].Path, Want: "none with ssl-mode=" + sslDisabled}
	case mode == sslDisabled:
		return encryptionSettings{mode: mode}, nil
	case files[0].Path != "" && (mode == sslPreferred || mode == sslRequired):
		return e, &store.OptionError{Option: "ssl-mode", Value: mode,
			Want: sslVerifyCA + ", " + sslVerifyIdentity + ": with the others ssl-ca would verify nothing"}
	}
	verify := map[string]encryption.Verification{sslVerifyCA: encryption.ChainOnly, sslVerifyIdentity: encryption.ChainAndHost,
		sslRequired: encryption.Nothing, sslPreferred: encryption.Nothing}[mode]
	e.mode = mode
	e.config, err = encryption.Options{CA: files[0], Certificate: files[1], Key: files[2],
		Passphrase: encryption.Passphrase{Parameter: "ssl-passphrase", Value: passphrase}, Verify: verify}.Config()
	return e, err
}

type handshake struct {
	done bool

	mu sync.Mutex
	// reported is the first error in the library's log. For a broken connection the library
	// returns no more than that it broke.
	reported error
}

func (e encryptionSettings) apply(config *library.Config) *handshake {
	h := new(handshake)
	if e.config == nil {
		return h
	}
	config.TLS = e.config.Clone()
	config.AllowFallbackToPlaintext = e.mode == sslPreferred
	config.Logger = h
	verify := config.TLS.VerifyConnection
	config.TLS.VerifyConnection = func(state tls.ConnectionState) error {
		if verify != nil {
			if err := verify(state); err != nil {
				return err
			}
		}
		h.done = true
		return nil
	}
	return h
}

func (h *handshake) Print(values ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, value := range values {
		if err, ok := value.(error); ok && h.reported == nil {
			h.reported = err
		}
	}
}

// nothingWritten is the text of the library's error for a connection closed before a packet was
// written. The error itself is not exported.
const nothingWritten = "bad connection"

func (h *handshake) failure(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	advice := encryption.Advice{CA: "ssl-ca", Certificate: "ssl-cert=FILE&ssl-key=FILE", AnyHost: "ssl-mode=" + sslVerifyCA, Off: "ssl-mode=" + sslDisabled}
	for _, cause := range []error{err, h.reported} {
		if text, ok := encryption.Reason(cause, advice); ok {
			return errors.New(text)
		}
	}
	if h.done && (errors.Is(err, driver.ErrBadConn) || errors.Is(err, library.ErrInvalidConn) || err.Error() == nothingWritten || encryption.IsClosed(err)) {
		return errors.New(encryption.ClosedAfterHandshake(advice))
	}
	if errors.Is(err, library.ErrNoTLS) {
		return errors.New("it has no TLS, which the address asks for; " + advice.Off + " connects without")
	}
	return err
}

func (e encryptionSettings) describe(c *conn) string {
	if !c.encrypted {
		return encryption.State(nil)
	}
	return encryption.State(e.config)
}

// refusedUser adds advice to a server's refusal of a user. The server does not say that it wants
// encryption (MariaDB's require_secure_transport, GRANT ... REQUIRE SSL) or a client's certificate
// (REQUIRE X509).
func (e encryptionSettings) refusedUser(reason string) string {
	switch {
	case e.config == nil:
		return reason + "; where only encrypted connections are taken the answer is the same, and ssl-mode=" + sslVerifyIdentity + "&ssl-ca=FILE asks for one"
	case len(e.config.Certificates) == 0:
		return reason + "; a user who must show a certificate gets the same answer without ssl-cert=FILE&ssl-key=FILE"
	}
	return reason
}
