// Package mysql drives MariaDB and MySQL, alone, as a Galera cluster, as a group or with replicas,
// through go-sql-driver/mysql.
//
// It must not know how load is made, checked or reported.
package mysql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	library "github.com/go-sql-driver/mysql"

	"assay/driver/sqldb"
	"assay/internal/eventloop"
	"assay/store"
	"assay/workload"
)

type host struct {
	name     string // host:port, or the path of a socket
	settings *settings
	pool     *sqldb.Pool[*conn]
}

func newHost(name string, s *settings) *host {
	h := &host{name: name, settings: s}
	h.pool = sqldb.NewPool(s.connectTimeout, func(ctx context.Context) (*conn, error) {
		return h.connect(ctx, h.settings.database, slices.Concat(pins(), unlimited()))
	})
	return h
}

// look is a server's own account at the beginning of a connection.
type look struct {
	id       int64 // the connection's, as the server counts them
	readOnly bool
	galera   bool
	// prepared is false if a Galera node has no quorum, or still copies its data (wsrep_ready).
	prepared bool
	// grouped is true if Group Replication is configured. outside then says why the server is no
	// member that can commit, or is nil.
	grouped bool
	outside error
}

// takesWrites returns nil or the reason why the server takes no writes.
func (l look) takesWrites() error {
	switch {
	case l.galera && !l.prepared:
		return errors.New("this Galera node is not prepared for use: it has no quorum, or is still joining (wsrep_ready)")
	case l.outside != nil:
		return l.outside
	case l.readOnly:
		return errors.New("it is read only (read_only)")
	}
	return nil
}

// askLook is a text for readLook. A server without Galera answers "OFF" or has no such variable;
// one without Group Replication has no group name. read_only is a number, and from MariaDB 12.0 on
// a word.
const askLook = `SELECT CONNECTION_ID(), @@global.read_only; SHOW GLOBAL VARIABLES LIKE 'wsrep_on'; SHOW GLOBAL STATUS LIKE 'wsrep_ready'; ` +
	`SHOW GLOBAL VARIABLES LIKE 'group_replication_group_name'`

// lookAround also finds out whether the connection still lives.
func (c *conn) lookAround(ctx context.Context) (look, error) {
	rows, err := c.raw.QueryContext(ctx, askLook, nil)
	if err != nil {
		return look{}, err
	}
	l, err := readLook(rows)
	if closed := rows.Close(); err == nil {
		err = closed
	}
	if err == nil && l.grouped {
		var g group
		g, err = c.askGroup(ctx)
		l.outside = g.outside()
	}
	return l, err
}

func readLook(rows driver.Rows) (l look, err error) {
	var refuses string // 0 or 1; OFF, ON, NO_LOCK or NO_LOCK_NO_ADMIN
	err = eachRow(rows, func(row []driver.Value) error {
		return sqldb.ScanRow(format(), row, []any{&l.id, &refuses})
	})
	l.readOnly = refuses != "0" && !strings.EqualFold(refuses, "OFF")
	var galera, prepared, name string
	for _, into := range []*string{&galera, &prepared, &name} {
		if err == nil {
			err = rows.(driver.RowsNextResultSet).NextResultSet()
		}
		if err == nil {
			err = eachRow(rows, func(row []driver.Value) error {
				if len(row) == 2 {
					*into = sqldb.TextOf(row[1])
				}
				return nil
			})
		}
	}
	l.galera, l.prepared, l.grouped = galera == "ON", prepared == "ON", name != ""
	return l, err
}

// connect opens a connection to a database ("": none) with these variables set, within the target's
// ConnectTimeout.
func (h *host) connect(ctx context.Context, database string, set []pin) (*conn, error) {
	s := h.settings
	config := baseConfig()
	config.User, config.Passwd, config.DBName = s.user, s.password, database
	config.Net, config.Addr = NetworkOf(h.name), h.name
	handshake := s.encryption.apply(config)
	var socket net.Conn
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		socket = eventloop.Wrap(dialled)
		return socket, nil
	}
	connector, err := library.NewConnector(config)
	if err != nil {
		// The error may quote the configuration.
		return nil, &store.OptionError{Option: "address", Value: s.printable, Want: wantAddress}
	}
	bounded, cancel := context.WithTimeout(ctx, s.connectTimeout)
	defer cancel()
	opened, err := connector.Connect(bounded)
	if err != nil {
		return nil, h.connectError(ctx, handshake.failure(err))
	}
	c := &conn{raw: newExchange(opened.(raw), socket), format: format(), host: h, encrypted: handshake.done}
	if _, err = c.Change(bounded, s.prologue()); err == nil {
		err = c.pin(bounded, set)
	}
	if err == nil {
		c.look, err = c.lookAround(bounded)
	}
	if err != nil {
		c.HangUp()
		return nil, h.connectError(ctx, err)
	}
	return c, nil
}

// connectError explains a failed connection. The end of ctx, the caller's, is passed on.
func (h *host) connectError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("connect to %s: %w", h.name, ctx.Err())
	}
	var answer *library.MySQLError
	if !errors.As(err, &answer) {
		return &store.UnreachableError{Address: h.name, Err: err}
	}
	switch answer.Number {
	case codeSecureTransport:
		return &store.OptionError{Option: "ssl-mode", Value: h.settings.encryption.mode,
			Want: "VERIFY_IDENTITY with ssl-ca=FILE, VERIFY_CA, REQUIRED: " + h.name + " takes encrypted connections only"}
	case codeAccessDenied, codeAccessDeniedNoReason, codeDatabaseDenied, codeHostDenied, codeHostBlocked, codeMustSetPassword, codePasswordExpired:
		return &store.AuthError{Address: h.name, User: h.settings.user, Reason: h.settings.encryption.refusedUser(answer.Message)}
	case codeTooManyConnections, codeUserConnections, codeUserLimit:
		return fmt.Errorf("%s has no connection left; raise max_connections (or the user's limit), or run fewer clients: %w", h.name, answer)
	case codeServerShutdown, codeOfflineMode:
		return &store.UnreachableError{Address: h.name, Err: answer}
	case codeNoSuchLevel:
		return &store.OptionError{Option: "isolation level", Value: strings.ToLower(h.settings.isolation), Want: "read committed, repeatable read; TiDB has no other"}
	case codeUnknownVariable, codeWrongVariableValue, codeWrongVariableType, codeReadOnlyVariable, codeGlobalVariable, codePrivilege:
		return &store.OptionError{Option: "the address's option", Value: answer.Message,
			Want: ownOptions + ", or a variable of the server that this user may set for a session"}
	default:
		return fmt.Errorf("connect to %s: %w", h.name, answer)
	}
}

// order is the order in which hosts are tried. If random, the run's seed and the count of drawings
// decide the first.
func (p *schema) order(random bool) []*host {
	if !random {
		return p.hosts
	}
	first := workload.Mix(p.seed+p.drawn.Add(1)) % uint64(len(p.hosts))
	return slices.Concat(p.hosts[first:], p.hosts[:first])
}

// firstThatWrites connects to the first host that answers and takes writes. open makes a
// connection, close takes an unwanted one back. An error that every host would give ends the
// search.
func (p *schema) firstThatWrites(ctx context.Context, hosts []*host, open func(*host) (*conn, error), close func(*conn)) (*conn, error) {
	var refusals []error
	for _, h := range hosts {
		c, err := open(h)
		if err == nil {
			why := c.look.takesWrites()
			if why == nil {
				return c, nil
			}
			close(c)
			err = &store.UnreachableError{Address: h.name, Err: why}
		}
		if ctx.Err() != nil || !errors.As(err, new(*store.UnreachableError)) && !hasCode(err, codeTooManyConnections) {
			return nil, err
		}
		refusals = append(refusals, err)
	}
	if len(refusals) == 1 {
		return nil, refusals[0]
	}
	var reasons []string
	for i, err := range refusals {
		var unreachable *store.UnreachableError
		if errors.As(err, &unreachable) {
			err = unreachable.Err
		}
		reasons = append(reasons, fmt.Sprintf("%s: %v", hosts[i].name, err))
	}
	return nil, &store.UnreachableError{Address: cmp.Or(p.settings.printable, "the server"), Err: errors.New(strings.Join(reasons, "; "))}
}
