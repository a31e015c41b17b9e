package redis

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"assay/internal/resp"
	"assay/store"
)

// link is one connection, which never reconnects. The end of a context closes it during a wait. One
// goroutine at a time uses it.
type link struct {
	conn    net.Conn
	in      *bufio.Reader
	out     []byte // what is sent
	address string
	// role is the server's own at connecting: "master", "slave" or "sentinel" (manual, "ROLE").
	role string
	// sent: a byte of the last do may have reached the server.
	sent bool
	// broken: the connection cannot be used any more.
	broken bool
	// watching: it still watches keys of an abandoned transaction.
	watching bool
}

const roleOfPrimary = "master"

// dial connects within the connect timeout. Servers answer ROLE even while they load data or lack
// their primary.
func (s *settings) dial(ctx context.Context, address string) (*link, error) {
	return s.dialAs(ctx, address, s.user, s.password, s.number)
}

func (s *settings) dialAs(ctx context.Context, address, user, password string, number int) (*link, error) {
	outer := ctx
	ctx, cancel := context.WithTimeout(outer, s.timeout)
	defer cancel()
	l := &link{address: address}
	var err error
	if l.conn, err = s.connect(ctx, address); err == nil {
		l.in = bufio.NewReader(l.conn)
		if err = l.greet(ctx, user, password, number); err != nil {
			l.close()
		}
	}
	if err != nil && ctx.Err() != nil && outer.Err() == nil {
		err = fmt.Errorf("no answer within %s", s.timeout)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (s *settings) connect(ctx context.Context, address string) (net.Conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil || s.encryption == nil {
		return raw, err
	}
	config := s.encryption.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address) // it was dialled
	}
	encrypted := tls.Client(raw, config)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	return encrypted, nil
}

func (l *link) greet(ctx context.Context, user, password string, number int) error {
	if password != "" {
		if err := l.one(ctx, newCommand("auth", user, password)); err != nil {
			return err
		}
	}
	if number > 0 {
		if err := l.one(ctx, newCommand("select", strconv.Itoa(number))); err != nil {
			return err
		}
	}
	role := newCommand("role")
	if err := l.one(ctx, role); err != nil {
		return err
	}
	parts, err := answerOf[[]any](role)
	if len(parts) > 0 {
		l.role, _ = parts[0].(string)
	}
	return err
}

// do sends commands together and waits for all answers. Its error is the connection's; commands may
// then have been done. Servers' errors are in the commands.
func (l *link) do(ctx context.Context, commands ...*command) error {
	l.sent = false
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.broken {
		return net.ErrClosed
	}
	stop := context.AfterFunc(ctx, func() { _ = l.conn.Close() })
	err := l.exchange(commands)
	l.broken = !stop() || err != nil
	if over := ctx.Err(); err != nil && over != nil {
		return fmt.Errorf("%w (%v)", over, err)
	}
	return err
}

func (l *link) exchange(commands []*command) error {
	l.out = l.out[:0]
	for _, c := range commands {
		l.out = resp.Append(l.out, c.words...)
	}
	l.sent = true
	if _, err := l.conn.Write(l.out); err != nil {
		return err
	}
	for _, c := range commands {
		if err := c.read(l.in); err != nil {
			return err
		}
	}
	return nil
}

// one sends a command and returns any error except errNone.
func (l *link) one(ctx context.Context, c *command) error {
	if err := l.do(ctx, c); err != nil {
		return err
	}
	if c.err != nil && c.err != errNone {
		return c.err
	}
	return nil
}

// all sends commands together and returns the first error.
func (l *link) all(ctx context.Context, commands []*command) error {
	if err := l.do(ctx, commands...); err != nil {
		return err
	}
	for _, c := range commands {
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

// close abandons what is in flight.
func (l *link) close() { _ = l.conn.Close() } // nothing of it is needed any more

// notPrimaryError means that a server does not take writes.
type notPrimaryError struct {
	address, role string
	// by names who called it the primary; empty for the address.
	by string
}

func (e *notPrimaryError) Error() string {
	if e.by != "" {
		return fmt.Sprintf("the %s name %s, which says that it is a %s: a failover is under way, or they do not know of it yet", e.by, e.address, e.role)
	}
	return fmt.Sprintf("%s says that it is a %s; name the primary, or the Sentinels that know it (%s://)", e.address, e.role, schemeSentinel)
}

func (d *database) open(ctx context.Context) (*link, error) {
	address, err := d.primary(ctx)
	if err != nil {
		return nil, err
	}
	return d.openAt(ctx, address)
}

// openAt connects to a server that should be a primary.
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

// leaders are those who name the primary; empty if the address does.
func (d *database) leaders() string {
	switch {
	case d.sharded:
		return "servers of the cluster"
	case d.service != "":
		return "Sentinels"
	}
	return ""
}

// Change implements ownership.Place over a connection to the primary.
func (d *database) Change(ctx context.Context, doing string, work func(*link) error) error {
	l, err := d.open(ctx)
	if err != nil {
		return d.unreached(ctx, doing, err)
	}
	defer l.close()
	return withDoing(doing, work(l))
}

func (d *database) Look(ctx context.Context, doing string, work func(*link) error) error {
	return d.Change(ctx, doing, work)
}

// unreached is the error of a failed connection: *store.UnreachableError, *store.AuthError or the
// context's.
func (d *database) unreached(ctx context.Context, doing string, err error) error {
	var option *store.OptionError
	switch code := codeOf(err); {
	case ctx.Err() != nil:
		return failed(doing, ctx.Err())
	case errors.As(err, &option):
		return err
	case code == codeNoPerm:
		return withDoing(doing, err)
	case strings.HasPrefix(messageOf(err), noClients):
		return fmt.Errorf("%s has no connection left; raise maxclients, or run fewer clients: %w", d.printable, err)
	case code == codeNoAuth || code == codeWrongPass:
		return &store.AuthError{Address: d.printable, User: d.user, Reason: messageOf(err)}
	}
	return &store.UnreachableError{Address: d.printable, Err: d.explained(err)}
}
