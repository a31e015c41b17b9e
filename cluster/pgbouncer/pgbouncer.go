// Package pgbouncer runs PgBouncer, a connection pooler, as a local process before a PostgreSQL
// server or a proxy. It must not know how that is run.
package pgbouncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"assay/cluster/server"
)

// Options says how to run a pooler. Programs, Mode and numbers may be zero.
type Options struct {
	Programs string
	// Dir is its private folder, new or empty, which Close removes. Log is its log file.
	Dir, Log string
	Number   int
	// User and Password are for the server, the pooler's clients, and its console.
	User, Password string
	// Mode is pool_mode: "transaction" (or empty) or "session".
	Mode string
	// Size is the largest number of connections to the server (default_pool_size); 0 means 20,
	// PgBouncer's default. Clients is the largest number of clients.
	Size, Clients int
}

// silence is how long the server's machine may be silent until its connections are given up.
const silence = 3 * time.Second

const (
	DefaultMode = "transaction"
	DefaultSize = 20
)

// Pooler is PgBouncer before a server. It listens on 127.0.0.1 and demands the password (SCRAM).
// Its methods are safe for concurrent use.
type Pooler struct {
	*server.Node
	options Options
	program string
	version string
	behind  *server.Node // the server that clients are led to
}

// New finds the program and does not start it. The error may be a *server.MissingError.
func New(o Options) (*Pooler, error) {
	program, err := (&server.Program{Name: "pgbouncer", Folders: []string{"/usr/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"},
		Get: "install PgBouncer (apt-get install pgbouncer, or scripts/install-servers.sh pgbouncer)"}).Find(o.Programs)
	if err != nil {
		return nil, err
	}
	o.Mode, o.Size = cmp.Or(o.Mode, DefaultMode), cmp.Or(o.Size, DefaultSize)
	n := &server.Node{Number: o.Number, Log: o.Log, Ports: new(server.Ports)}
	if n.Host, n.Port, err = n.Ports.For(nil, 0); err != nil {
		return nil, err
	}
	n.Name = "PgBouncer on " + n.Address()
	n.IsError = func(line string) bool { return strings.Contains(line, " ERROR ") || strings.Contains(line, " FATAL ") }
	if n.User, err = server.Unprivileged("postgres", "nobody"); err != nil {
		return nil, err
	}
	if n.Dir, err = server.PrivateDir(o.Dir, n.User); err != nil {
		return nil, err
	}
	p := &Pooler{Node: n, options: o, program: program}
	if err := n.User.WriteFile(p.file("users"), quoted(o.User)+" "+quoted(o.Password)+"\n"); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Pooler) file(name string) string { return filepath.Join(p.Dir, name) }

func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// Version is such as "PgBouncer 1.18.0"; empty before the start or if unknown.
func (p *Pooler) Version() string { return p.version }

// Mode is the pool mode.
func (p *Pooler) Mode() string { return p.options.Mode }

// Size is the largest number of connections to the server.
func (p *Pooler) Size() int { return p.options.Size }

// Address is the URL of the database "postgres" for clients, with user, password and query.
func (p *Pooler) Address(query string) string { return p.url("postgres", query) }

func (p *Pooler) url(database, query string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(p.options.User, p.options.Password), Host: p.Node.Address(),
		Path: "/" + database, RawQuery: "sslmode=disable&connect_timeout=2" + query}
	return u.String()
}

// Start starts the pooler before a server, and returns when it takes clients.
func (p *Pooler) Start(ctx context.Context, behind *server.Node) error {
	p.behind = behind
	if err := p.start(ctx); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	version, err := p.ask(ctx, "SHOW VERSION")
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	if len(version) > 0 {
		p.version = version[0][0]
	}
	return nil
}

func (p *Pooler) start(ctx context.Context, env ...string) error {
	if err := p.User.WriteFile(p.file("pgbouncer.ini"), p.configuration()); err != nil {
		return err
	}
	if err := p.Spawn(server.ProcessOptions{Program: p.program, Args: []string{p.file("pgbouncer.ini")}, Env: env}); err != nil {
		return err
	}
	return p.Await(ctx, func(ctx context.Context) error {
		_, err := p.ask(ctx, "SHOW VERSION")
		return err
	})
}

// Restart starts the pooler again with env.
func (p *Pooler) Restart(ctx context.Context, env ...string) error {
	return p.Node.Restart(ctx, func(ctx context.Context) error { return p.start(ctx, env...) })
}

// Close ends the pooler and removes its folder.
func (p *Pooler) Close() error { return server.Close([]*server.Node{p.Node}, p.Dir) }

// configuration is pgbouncer.ini (its manual, "pgbouncer.ini"). Its defaults would keep clients on
// a lost server for long, so it has settings for failovers: silent connections are given up,
// connections to a former server end after the transaction instead of the session, and an
// unreachable server is tried again after 0.2 s instead of 15 s.
func (p *Pooler) configuration() string {
	o := p.options
	return fmt.Sprintf(`[databases]
postgres = host=%s port=%d
[pgbouncer]
listen_addr = %s
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
admin_users = %s
pool_mode = %s
default_pool_size = %d
max_client_conn = %d
server_fast_close = 1
server_login_retry = 0.2
server_connect_timeout = 2
tcp_user_timeout = %d
tcp_keepidle = 1
tcp_keepintvl = 1
tcp_keepcnt = %d
log_connections = 0
log_disconnections = 0
`, p.behind.Host, p.behind.Port, p.Host, p.Port, p.file("users"), o.User, o.Mode, o.Size, max(o.Clients, 100),
		silence.Milliseconds(), int(silence.Seconds()))
}
