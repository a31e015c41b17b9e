package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// App is an application's connection. It is encrypted from when the application asks for that.
type App struct {
	net.Conn // as it was accepted

	config *tls.Config
	secure atomic.Pointer[tls.Conn]
}

// Encrypted reports whether it is.
func (a *App) Encrypted() bool { return a.secure.Load() != nil }

func (a *App) now() net.Conn {
	if s := a.secure.Load(); s != nil {
		return s
	}
	return a.Conn
}

// Read, Write and Close implement net.Conn.
func (a *App) Read(b []byte) (int, error)  { return a.now().Read(b) }
func (a *App) Write(b []byte) (int, error) { return a.now().Write(b) }
func (a *App) Close() error                { return a.now().Close() }

// First reads the first n bytes, or those behind the handshake of an application that is
// encrypted from the first byte on. names are those of the protocol within TLS.
func (a *App) First(n int, names ...string) ([]byte, error) {
	head := make([]byte, n)
	read, err := io.ReadFull(a, head)
	if err == nil && !a.Encrypted() && head[0] == handshake && head[1] == 3 && head[2] != 0 {
		if err := a.Encrypt(head, names...); err != nil {
			return nil, err
		}
		read, err = io.ReadFull(a, head)
	}
	return head[:read], err
}

// handshake begins a record of a TLS handshake; its version follows (RFC 8446, "Record Layer").
const handshake = 0x16

// Encrypt answers the application's handshake, of which some bytes may have been read.
func (a *App) Encrypt(read []byte, names ...string) error {
	config := a.config.Clone()
	config.NextProtos = names
	secure := tls.Server(&begun{a.Conn, read}, config)
	err := secure.Handshake()
	ended, is := errors.AsType[*net.OpError](err)
	switch {
	case err == nil:
		a.secure.Store(secure)
		return nil
	case is && (ended.Op == "remote error" || ended.Op == "local error"): // OpenSSL's clients say why without the keys that were agreed on
		return fmt.Errorf("the application refuses assay's certificate (%w): have it trust the authority in the file that it gets as {ca} and in ASSAY_CA", ended.Err)
	case is || left(err):
		return io.EOF
	}
	return fmt.Errorf("the application's TLS: %w", err)
}

// begun is a connection of which something was read already.
type begun struct {
	net.Conn
	read []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.read) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.read)
	b.read = b.read[n:]
	return n, nil
}

// left reports whether an error says no more than that the application has gone.
func left(err error) bool {
	_, broken := err.(net.Error)
	_, reset := err.(*fs.PathError) // of a socket that was in an event loop
	return broken || reset || err == io.EOF || err == io.ErrUnexpectedEOF
}

// certificateLife is how long the certificate is valid, which ends with the proxy.
const certificateLife = 365 * 24 * time.Hour

// certify makes the certificate of a server on this machine, and that of the authority that has
// signed it, as PEM: some clients take none that signs itself. The keys are in memory alone.
func certify(listens net.Addr) (config *tls.Config, authority []byte, err error) {
	var keys [2]*ecdsa.PrivateKey // of the authority, and of the server
	for i := range keys {
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return nil, nil, err
		}
	}
	now := time.Now()
	valid := x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife), BasicConstraintsValid: true}
	root, own := valid, valid
	root.Subject, root.IsCA, root.KeyUsage = pkix.Name{CommonName: "assay app"}, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, &root, &root, keys[0].Public(), keys[0])
	if err != nil {
		return nil, nil, err
	}
	signs, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	own.SerialNumber = big.NewInt(now.UnixNano() + 1)
	own.Subject, own.KeyUsage, own.ExtKeyUsage = pkix.Name{CommonName: "localhost"}, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	own.DNSNames, own.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	if host, err := os.Hostname(); err == nil {
		own.DNSNames = append(own.DNSNames, host)
	}
	if tcp, is := listens.(*net.TCPAddr); is && !tcp.IP.IsUnspecified() {
		own.IPAddresses = append(own.IPAddresses, tcp.IP)
	}
	shown, err := x509.CreateCertificate(rand.Reader, &own, signs, keys[1].Public(), keys[0])
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{shown}, PrivateKey: keys[1]}}},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}
