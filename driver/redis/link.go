package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"assay/store"
)

// wire is the connection below a link. It remembers whether anything was written, which may
// have reached the server then.
type wire struct {
	net.Conn
	written atomic.Bool
}

// Write implements net.Conn.
func (w *wire) Write(p []byte) (int, error) {
	w.written.Store(true)
	return w.Conn.Write(p)
}

// link is one connection to a server, made once and never again by itself. go-redis speaks
// over it and obeys the deadline of a context; a context that is cancelled closes the
// connection here. It is used by one goroutine at a time.
type link struct {
	client  *goredis.Client
	conn    *goredis.Conn
	wire    atomic.Pointer[wire]
	address string
	// role is what the server said it was when the link was made: "master", "slave" or
	// "sentinel" (manual, "ROLE").
	role string
	// broken is true once the connection carries nothing any more.
	broken bool
	// watching is whether it watches keys of a transaction that was left.
	watching bool
}

// roleOfPrimary is what ROLE calls a primary.
const roleOfPrimary = "master"

// dial connects to a server within the connect timeout. ROLE is answered also while a server
// loads its data or has lost its primary.
func (s *settings) dial(ctx context.Context, address string) (*link, error) {
	return s.dialAs(ctx, address, s.user, s.password, s.number)
}

func (s *settings) dialAs(ctx context.Context, address, user, password string, number int) (*link, error) {
	outer := ctx
	ctx, cancel := context.WithTimeout(outer, s.timeout)
	defer cancel()
	l := &link{address: address}
	l.client = goredis.NewClient(&goredis.Options{
		Addr: address, Username: user, Password: password, DB: number,
		// RESP2 has answers alone, and nothing that a server sends unasked.
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		MaxRetries:               -1, DialerRetries: 1, PipelinePoolSize: -1, ConnMaxIdleTime: -1,
		// Contexts alone bound how long an answer may take.
		DialTimeout: s.timeout, ReadTimeout: -1, WriteTimeout: -1, ContextTimeoutEnabled: true,
		Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			return s.connect(ctx, l, network, address)
		},
	})
	l.conn = l.client.Conn()
	role := goredis.NewCmd(ctx, "role")
	err := l.one(ctx, role)
	if err == nil {
		var parts []any
		if parts, err = role.Slice(); err == nil && len(parts) > 0 {
			l.role, _ = parts[0].(string)
		}
	}
	if err != nil {
		l.close()
		if ctx.Err() != nil && outer.Err() == nil {
			err = fmt.Errorf("no answer within %s", s.timeout)
		}
		return nil, err
	}
	return l, nil
}

// connect makes the connection below a link.
func (s *settings) connect(ctx context.Context, l *link, network, address string) (net.Conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if s.encryption != nil {
		config := s.encryption.Clone()
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(address) // it was dialled
		}
		encrypted := tls.Client(raw, config)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, raw.Close())
		}
		raw = encrypted
	}
	w := &wire{Conn: raw}
	l.wire.Store(w)
	return w, nil
}

// do sends commands together and waits for all answers. The error is of the connection: a
// server's are in the commands. What was sent before it came may have been done.
func (l *link) do(ctx context.Context, commands ...goredis.Cmder) error {
	if w := l.wire.Load(); w != nil {
		w.written.Store(false)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, l.cut)
	if len(commands) == 1 {
		_ = l.conn.Process(ctx, commands[0]) // the command has the error
	} else {
		pipe := l.conn.Pipeline()
		if err := pipe.BatchProcess(ctx, commands...); err != nil {
			stop()
			return err
		}
		_, _ = pipe.Exec(ctx)
	}
	if !stop() {
		l.broken = true
	}
	for _, c := range commands {
		if err := c.Err(); err != nil && !isAnswer(err) {
			l.broken = true
			if over := ctx.Err(); over != nil {
				return fmt.Errorf("%w (%v)", over, err)
			}
			return err
		}
	}
	return nil
}

// one sends a command and returns whatever went wrong, but no answer of nil.
func (l *link) one(ctx context.Context, command goredis.Cmder) error {
	if err := l.do(ctx, command); err != nil {
		return err
	}
	if err := command.Err(); err != nil && !errors.Is(err, goredis.Nil) {
		return err
	}
	return nil
}

// all sends commands together and returns the first thing that went wrong.
func (l *link) all(ctx context.Context, commands []goredis.Cmder) error {
	if err := l.do(ctx, commands...); err != nil {
		return err
	}
	for _, c := range commands {
		if err := c.Err(); err != nil {
			return err
		}
	}
	return nil
}

// sent reports whether something of the last do may have reached the server.
func (l *link) sent() bool {
	w := l.wire.Load()
	return w != nil && w.written.Load()
}

// cut ends the connection at once, whoever waits for it.
func (l *link) cut() {
	if w := l.wire.Load(); w != nil {
		_ = w.Close()
	}
}

// close gives the connection up, with what is under way on it.
func (l *link) close() {
	_ = l.conn.Close()
	_ = l.client.Close() // nothing of it is needed any more
}

// notPrimaryError means that a server does not take writes.
type notPrimaryError struct {
	address, role string
	// by are those who have named it; empty if it is the address.
	by string
}

func (e *notPrimaryError) Error() string {
	if e.by != "" {
		return fmt.Sprintf("the %s name %s, which says that it is a %s: a failover is under way, or they do not know of it yet", e.by, e.address, e.role)
	}
	return fmt.Sprintf("%s says that it is a %s; name the primary, or the Sentinels that know it (%s://)", e.address, e.role, schemeSentinel)
}

// open connects to the primary.
func (d *database) open(ctx context.Context) (*link, error) {
	address, err := d.primary(ctx)
	if err != nil {
		return nil, err
	}
	return d.openAt(ctx, address)
}

// openAt connects to a server that is to be a primary.
func (d *database) openAt(ctx context.Context, address string) (*link, error) {
	l, err := d.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	if l.role != roleOfPrimary {
		l.close()
		return nil, &notPrimaryError{address, l.role, d.leaders()}
	}
	return l, nil
}

// leaders are those who say which server is the primary; empty if nobody is asked.
func (d *database) leaders() string {
	switch {
	case d.sharded:
		return "servers of the cluster"
	case d.service != "":
		return "Sentinels"
	}
	return ""
}

// Change implements ownership.Place: it does work over a connection to the primary, and says what was being done.
func (d *database) Change(ctx context.Context, doing string, work func(*link) error) error {
	l, err := d.open(ctx)
	if err != nil {
		return d.unreached(ctx, doing, err)
	}
	defer l.close()
	return told(doing, work(l))
}

// Look implements ownership.Place.
func (d *database) Look(ctx context.Context, doing string, work func(*link) error) error {
	return d.Change(ctx, doing, work)
}

// unreached is the error of a connection that could not be made: *store.UnreachableError,
// *store.AuthError, or that of the context if that has ended.
func (d *database) unreached(ctx context.Context, doing string, err error) error {
	var option *store.OptionError
	switch code := codeOf(err); {
	case ctx.Err() != nil:
		return failed(doing, ctx.Err())
	case errors.As(err, &option):
		return err
	case code == codeNoAuth || code == codeWrongPass || code == codeNoPerm:
		return &store.AuthError{Address: d.printable, User: d.user, Reason: messageOf(err)}
	}
	return &store.UnreachableError{Address: d.printable, Err: d.explained(err)}
}
