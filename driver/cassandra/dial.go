package cassandra

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/driver/encryption"
)

// dialer makes connections that end when they are silent, with TLS if configured.
type dialer struct {
	timeout, silence time.Duration
	encryption       *tls.Config
	seen             *refusals

	hosts []string

	mu sync.Mutex
	// names are the hosts' names by IP address.
	names map[string]string
}

func (d *dialer) DialHost(ctx context.Context, host *gocql.HostInfo) (*gocql.DialedHost, error) {
	address := host.ConnectAddressAndPort()
	raw, err := (&net.Dialer{Timeout: d.timeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	conn := &watched{Conn: raw, silence: d.silence}
	if d.encryption == nil {
		return &gocql.DialedHost{Conn: conn}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout) // gocql's own has no end
	defer cancel()
	config := d.encryption.Clone()
	config.ServerName = d.nameOf(ctx, host.ConnectAddress().String())
	dialed, err := gocql.WrapTLS(ctx, conn, address, config)
	if err != nil {
		return nil, err
	}
	dialed.Conn = &explained{Conn: dialed.Conn, seen: d.seen}
	return dialed, nil
}

// explained remembers the first error of an encrypted connection. With TLS 1.3 a node refuses a
// client's certificate after the client's handshake, and gocql may report only the lost connection.
// The alert itself is lost if the node closes with unread bytes, which resets the connection.
type explained struct {
	net.Conn
	seen     *refusals
	answered atomic.Bool // a byte has come from the node
}

func (e *explained) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	if n > 0 {
		e.answered.Store(true)
	}
	e.note(err)
	return n, err
}

func (e *explained) Write(p []byte) (int, error) {
	n, err := e.Conn.Write(p)
	e.note(err)
	return n, err
}

func (e *explained) note(err error) {
	if err == nil {
		return
	}
	text := e.seen.handshakeOf(err)
	if text == "" && isClosed(err) && !e.answered.Load() {
		e.seen.noteClosed()
		return
	}
	e.seen.note("", text)
}

// nameOf is the name for the certificate of the node with this IP address: the address's name for
// it, or the IP address. gocql resolves names and forgets them.
func (d *dialer) nameOf(ctx context.Context, ip string) string {
	d.mu.Lock()
	known := d.names[ip]
	d.mu.Unlock()
	if known != "" {
		return known
	}
	found := map[string]string{}
	for _, hostPort := range d.hosts {
		host, _, _ := net.SplitHostPort(hostPort) // the address was parsed
		if host == ip {
			return ip
		}
		if net.ParseIP(host) != nil {
			continue
		}
		addresses, err := net.DefaultResolver.LookupIPAddr(ctx, host)
		if err != nil {
			continue // then the node's own address must do
		}
		for _, address := range addresses {
			found[address.IP.String()] = host
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(d.names, found)
	return cmp.Or(d.names[ip], ip)
}

// refusals remembers why nodes refused; gocql's own error is only a text.
type refusals struct {
	encrypted bool

	mu        sync.Mutex
	user      string
	handshake string
}

func (r *refusals) ObserveConnect(o gocql.ObservedConnect) {
	var answer gocql.RequestError
	reason, handshake := "", ""
	switch {
	case o.Err == nil:
		return
	case errors.Is(o.Err, errNoUser):
		reason = errNoUser.Error()
	case errors.As(o.Err, &answer) && (answer.Code() == gocql.ErrCodeCredentials || answer.Code() == gocql.ErrCodeUnauthorized):
		reason = answer.Message()
	default:
		handshake = r.handshakeOf(o.Err)
	}
	r.note(reason, handshake)
}

func (r *refusals) note(user, handshake string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if user != "" {
		r.user = user
	}
	if handshake != "" {
		r.handshake = handshake
	}
}

// handshakeOf explains a failed handshake, or a node that wants TLS; "" for other errors.
func (r *refusals) handshakeOf(err error) string {
	if text, ok := encryption.Reason(err, encryption.TakenAdvice("tls=false")); ok {
		return text
	}
	if isClosed(err) && !r.encrypted {
		return "it closes the connection, as a node does that takes encrypted connections only: tls=true&tlsCAFile=FILE asks for one"
	}
	return ""
}

func isClosed(err error) bool {
	return encryption.IsClosed(err) || strings.HasSuffix(err.Error(), io.EOF.Error())
}

// noteClosed notes that a node closed an encrypted connection before any answer, unless a better
// reason is known.
func (r *refusals) noteClosed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handshake == "" {
		r.handshake = encryption.ClosedAfterHandshake(encryption.TakenAdvice(""))
	}
}

func (r *refusals) reasons() (user, handshake string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.user, r.handshake
}
