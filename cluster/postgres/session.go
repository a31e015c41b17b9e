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
)

// askBound is how long a node that serves may take for a small question.
const askBound = time.Second

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

// connectionTo is how a standby of this name reaches its primary (primary_conninfo).
func (p *Server) connectionTo(primary *Server, name string) string {
	quote := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	var b strings.Builder
	for _, item := range [][2]string{
		{"host", primary.Host}, {"port", strconv.Itoa(primary.Port)}, {"user", primary.options.User},
		{"passfile", p.passwordFile()}, {"application_name", name},
		{"sslmode", "disable"}, {"connect_timeout", "2"},
	} {
		fmt.Fprintf(&b, "%s='%s' ", item[0], quote.Replace(item[1]))
	}
	return strings.TrimSpace(b.String())
}

func (p *Server) writeData(name, text string) error {
	return p.User.WriteFile(filepath.Join(p.data(), name), text)
}
