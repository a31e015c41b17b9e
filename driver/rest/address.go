package rest

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"strings"
	"time"

	"assay/workload"
)

const defaultConnectTimeout = 10 * time.Second

// settings is what an address and a target ask for.
type settings struct {
	base           string // scheme, host and path, without a slash at its end
	hostPort       string
	host           string // for the header and the certificate
	prefix         string // the path before those of the service
	secure         bool
	connectTimeout time.Duration
}

// parse reads the target. What cannot be used gives an *workload.OptionError
// that holds no password.
func parse(target workload.Target) (*settings, error) {
	malformed := &workload.OptionError{Option: "address", Value: workload.Redact(target.Address),
		Want: "http://HOST:PORT or https://HOST:PORT, without user, password or parameters, which the service does not have"}
	u, err := url.Parse(target.Address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "" {
		return nil, malformed
	}
	if target.Isolation != "" {
		return nil, &workload.OptionError{Option: "isolation level", Value: target.Isolation, Want: "none here; it is chosen where the service is started"}
	}
	s := &settings{
		secure: u.Scheme == "https", host: u.Host, prefix: strings.TrimRight(u.EscapedPath(), "/"),
		connectTimeout: target.ConnectTimeout,
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{false: "80", true: "443"}[s.secure]
	}
	s.hostPort = net.JoinHostPort(u.Hostname(), port)
	s.base = u.Scheme + "://" + s.host + s.prefix
	if s.connectTimeout <= 0 {
		s.connectTimeout = defaultConnectTimeout
	}
	return s, nil
}

// dial opens a connection to the service; network and address are net/http's
// and are not looked at.
func (s *settings) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: s.connectTimeout}
	return dialer.DialContext(ctx, "tcp", s.hostPort)
}

// dialSession is dial with the handshake of TLS where there is one.
func (s *settings) dialSession(ctx context.Context) (net.Conn, error) {
	conn, err := s.dial(ctx, "", "")
	if err != nil || !s.secure {
		return conn, err
	}
	limit, cancel := context.WithTimeout(ctx, s.connectTimeout)
	defer cancel()
	name, _, _ := net.SplitHostPort(s.hostPort)
	secured := tls.Client(conn, &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12})
	if err := secured.HandshakeContext(limit); err != nil {
		_ = conn.Close() // it was of no use
		return nil, err
	}
	return secured, nil
}
