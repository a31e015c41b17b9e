package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"assay/driver/encryption"
	"assay/driver/uri"
	"assay/store"
)

type settings struct {
	base           string // scheme, host and path, without a slash at its end
	hostPort       string
	host           string      // for the header and the certificate
	prefix         string      // the path before those of the service
	encryption     *tls.Config // nil for http
	connectTimeout time.Duration
}

// parse reads the target. Its error is a *store.OptionError without a password.
func parse(target store.Target) (*settings, error) {
	malformed := &store.OptionError{Option: "address", Value: store.Redact(target.Address),
		Want: "http://HOST:PORT or https://HOST:PORT, without user or password, which the service does not have"}
	u, err := url.Parse(target.Address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return nil, malformed
	}
	config, err := readEncryption(u)
	if err != nil {
		return nil, err
	}
	if target.Isolation != "" {
		return nil, &store.OptionError{Option: "isolation level", Value: target.Isolation, Want: "none here; it is chosen where the service is started"}
	}
	s := &settings{
		encryption: config, host: u.Host, prefix: strings.TrimRight(u.EscapedPath(), "/"),
		connectTimeout: target.FirstContact(),
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{false: "80", true: "443"}[s.encryption != nil]
	}
	s.hostPort = net.JoinHostPort(u.Hostname(), port)
	s.base = u.Scheme + "://" + s.host + s.prefix
	return s, nil
}

func readEncryption(u *url.URL) (*tls.Config, error) {
	options, err := uri.ReadOptions(u.RawQuery)
	if err != nil {
		return nil, err
	}
	files, given, err := encryption.Take(options)
	if err != nil {
		return nil, err
	}
	if err := options.None(encryption.ParameterNames); err != nil {
		return nil, err
	}
	if u.Scheme == "https" {
		return files.Config()
	}
	if given != "" {
		return nil, &store.OptionError{Option: "the address's option", Value: given, Want: "none with http; https encrypts"}
	}
	return nil, nil
}

// plain removes the address from an error of net/http and explains a failed handshake.
func plain(err error) error {
	if text, ok := encryption.Reason(err, encryption.TakenAdvice("http://")); ok {
		return errors.New(text)
	}
	return store.RootCause(err)
}

// dial opens a session's connection, with the TLS handshake if the address asks for TLS.
func (s *settings) dial(ctx context.Context) (net.Conn, error) {
	limit, cancel := context.WithTimeout(ctx, s.connectTimeout)
	defer cancel()
	if s.encryption == nil {
		return new(net.Dialer).DialContext(limit, "tcp", s.hostPort)
	}
	return (&tls.Dialer{Config: s.encryption}).DialContext(limit, "tcp", s.hostPort)
}
