package encryption

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"assay/store"
)

// Advice names an address's parameters to the user.
type Advice struct {
	// CA takes the authorities' file.
	CA string
	// Certificate takes a client's certificate and key.
	Certificate string
	// AnyHost gives up the verification of the host name.
	AnyHost string
	// Off asks for a connection without TLS.
	Off string
}

// Reason explains a failed handshake and says what to do; ok is false if err is not TLS's.
func Reason(err error, advice Advice) (text string, ok bool) {
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var notTLS tls.RecordHeaderError
	var remote *net.OpError
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return fmt.Sprintf("its certificate is signed by an authority that is not trusted here: give the file with the CA's certificate as %s=FILE, or check that this is the server that you mean", advice.CA), true
	case errors.As(err, &host):
		return fmt.Sprintf("its certificate is for %s and not for %s: give the host by a name that is in its certificate, or %s to accept any", namesOf(host.Certificate), host.Host, advice.AnyHost), true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("its certificate is valid from %s to %s, and not now: renew it, or set the clock",
			invalid.Cert.NotBefore.UTC().Format("2006-01-02 15:04"), invalid.Cert.NotAfter.UTC().Format("2006-01-02 15:04")), true
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, &invalid):
		return "its certificate is not accepted: " + store.RootCause(err).Error(), true
	case errors.As(err, &notTLS):
		return fmt.Sprintf("it does not speak TLS, which the address asks for; %s connects without", advice.Off), true
	case errors.As(err, &remote) && remote.Op == "remote error":
		return alert(remote.Err.Error(), advice), true
	}
	return "", false
}

// IsClosed reports whether the other side has closed the connection.
func IsClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// ClosedAfterHandshake explains why a server closes the connection before its first answer. With
// TLS 1.3 a server refuses a client's certificate only after the client's handshake. The alert is
// lost if unread bytes of the client make the close a reset.
func ClosedAfterHandshake(advice Advice) string {
	return "it closes the connection right after the TLS handshake, as a server does that does not trust the client's certificate: " +
		"give one that it trusts as " + advice.Certificate
}

func namesOf(c *x509.Certificate) string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no host by name or address"
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}

// alert explains a server's alert (RFC 8446, "Alert Protocol", as crypto/tls words it).
func alert(text string, advice Advice) string {
	text = strings.TrimPrefix(text, "tls: ")
	switch {
	case strings.Contains(text, "protocol version"):
		return fmt.Sprintf("it ends the TLS handshake (%s); assay speaks TLS 1.2 and 1.3", text)
	case strings.Contains(text, "certificate"), text == "handshake failure":
		return fmt.Sprintf("it ends the TLS handshake (%s): it wants a client's certificate that it trusts; give one as %s", text, advice.Certificate)
	}
	return fmt.Sprintf("it ends the TLS handshake (%s)", text)
}
