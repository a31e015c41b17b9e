package postgres

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/server"
)

// Settings by which a set is led. They are changed with ALTER SYSTEM while a
// server runs.
const (
	primaryConninfo = "primary_conninfo"
	standbyNames    = "synchronous_standby_names"
)

// lsn is a position in the log (log sequence number).
type lsn uint64

// parseLSN reads a position as the server writes it, two hexadecimal halves.
func parseLSN(text string) (lsn, error) {
	high, low, found := strings.Cut(text, "/")
	h, err1 := strconv.ParseUint(high, 16, 32)
	l, err2 := strconv.ParseUint(low, 16, 32)
	if !found || err1 != nil || err2 != nil {
		return 0, fmt.Errorf("%q is no position in a log", text)
	}
	return lsn(h<<32 | l), nil
}

func (l lsn) String() string { return fmt.Sprintf("%X/%X", uint64(l)>>32, uint64(l)&0xffffffff) }

// errNoSession means that no session could be opened. The library's own error
// tells too much: it may quote the address.
var errNoSession = errors.New("no session could be opened")

// connect opens a session, for which the server may take askBound. The error is
// errNoSession.
func (p *Server) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.Address())
	if err != nil {
		return nil, fmt.Errorf("connect to %s as user %s: %w", p.Name, p.options.User, errNoSession)
	}
	return conn, nil
}

// closeSession ends a session, also with a server that does not answer.
func closeSession(conn *pgx.Conn) {
	const bound = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	_ = conn.Close(ctx) // nothing depends on how it ends
}

// inSession runs f in a session of its own. The whole of it may take bound.
func (p *Server) inSession(ctx context.Context, bound time.Duration, f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	conn, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer closeSession(conn)
	return f(ctx, conn)
}

// alter changes a setting of the running server for good. The server's
// processes take it over a little later, each in its own time.
func alter(ctx context.Context, conn *pgx.Conn, name, value string) error {
	quoted := "'" + strings.ReplaceAll(value, "'", "''") + "'"
	if _, err := conn.Exec(ctx, "ALTER SYSTEM SET "+name+" = "+quoted); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "SELECT pg_reload_conf()")
	return err
}

// awaitSetting returns when new sessions see the value. Sessions are forked off
// the first process: when one has the value, so has whatever is forked later.
func (p *Server) awaitSetting(ctx context.Context, name, value string) error {
	return server.Until(ctx, 10*time.Millisecond, name+" of "+p.Name, func(ctx context.Context) error {
		got, err := p.Parameter(ctx, name)
		if err == nil && got != value {
			err = fmt.Errorf("it is still %q", got)
		}
		return err
	})
}

// Parameter asks the server for the value of a parameter that new sessions work with.
func (p *Server) Parameter(ctx context.Context, name string) (value string, err error) {
	err = p.inSession(ctx, askBound, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value)
	})
	return value, err
}

func (p *Server) passwordFile() string { return filepath.Join(p.Dir, "passwords") }

// writePasswordFile leaves the password where the node's own log receiver finds
// it (manual, libpq, "The Password File"), so that it need not be in a setting.
func (p *Server) writePasswordFile() error {
	escape := strings.NewReplacer(`\`, `\\`, ":", `\:`)
	line := "*:*:*:" + escape.Replace(p.options.User) + ":" + escape.Replace(p.options.Password) + "\n"
	return p.User.WriteFile(p.passwordFile(), line)
}

// connectionTo is how a standby reaches another node (primary_conninfo).
func (p *Server) connectionTo(primary *Server) string {
	quote := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	var b strings.Builder
	for _, item := range [][2]string{
		{"host", primary.Host}, {"port", strconv.Itoa(primary.Port)}, {"user", primary.options.User},
		{"passfile", p.passwordFile()}, {"application_name", p.label},
		{"sslmode", "disable"}, {"connect_timeout", "2"},
	} {
		fmt.Fprintf(&b, "%s='%s' ", item[0], quote.Replace(item[1]))
	}
	return strings.TrimSpace(b.String())
}

// walKeepSize is how much log a node keeps for one that was away, and for pg_rewind,
// which needs its own log back to where it went another way. It is not on the
// command line, since pg_rewind has a killed server recover without that, and
// recovery throws away what need not be kept. A node that misses more is copied
// anew.
const walKeepSize = "1GB"

// writeSettings replaces what ALTER SYSTEM ever set, in a server that does not
// run.
func (p *Server) writeSettings(conninfo, standbys string) error {
	text := fmt.Sprintf("wal_keep_size = '%s'\n%s = %s\n%s = %s\n", walKeepSize,
		primaryConninfo, Quote(conninfo), standbyNames, Quote(standbys))
	return p.writeData("postgresql.auto.conf", text)
}

// makeStandby has the server start as a standby, and never take writes before
// it is promoted.
func (p *Server) makeStandby() error { return p.writeData("standby.signal", "") }

func (p *Server) writeData(name, text string) error {
	return p.User.WriteFile(filepath.Join(p.data(), name), text)
}

// closeAsStandby is Close for a node of a set: a server that must be started
// once more to be cleared away takes no writes then.
func (p *Server) closeAsStandby() error {
	if server.Exists(p.data()) && p.Process() != nil {
		if err := p.makeStandby(); err != nil {
			return err
		}
	}
	return p.Close()
}
