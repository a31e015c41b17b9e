// Package pgbouncer runs PgBouncer, a connection pooler, as a local process in front of a
// PostgreSQL server, or of a proxy.
//
// It must not know how that is run.
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

// Options says how to run a pooler. Programs and Mode may be empty, numbers 0.
type Options struct {
	// Programs is a folder that is searched first for the program.
	Programs string
	// Dir is its private folder, new or empty; Close removes it. Log is the file of its log.
	Dir, Log string
	// Number is what it is among the servers of its cluster.
	Number int
	// User and Password are those of the server and of the pooler's clients, and of its
	// console.
	User, Password string
	// Mode is pool_mode: "transaction", if empty, or "session".
	Mode string
	// Size is how many connections to the server there are at most (default_pool_size);
	// 0 means 20, PgBouncer's default. Clients is how many clients there may be.
	Size, Clients int
}

// silence is for how long the server's machine may be silent until its connections are given up
// for lost.
const silence = 3 * time.Second

// Defaults of Options.
const (
	DefaultMode = "transaction"
	DefaultSize = 20
)

// Pooler is PgBouncer in front of a server. It listens on 127.0.0.1 and asks its clients for
// the password (SCRAM). Its methods are safe for concurrent use.
type Pooler struct {
	*server.Node
	options Options
	program string
	version string
	behind  *server.Node // the server that clients are led to
}

// New makes a pooler's folder and finds its program. It does not start it. A missing
// program is a *server.MissingError.
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

// quoted is a text as the file of users has it.
func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// Version is what the program calls itself, such as "PgBouncer 1.18.0"; empty if it does not
// say. It is known once it is started.
func (p *Pooler) Version() string { return p.version }

// Mode is how connections are shared, and Size how many to the server there are at most.
func (p *Pooler) Mode() string { return p.options.Mode }

// Size is how many connections to the server there are at most.
func (p *Pooler) Size() int { return p.options.Size }

// Address is the URL by which clients reach the server's database "postgres", with user and
// password. query is added to it.
func (p *Pooler) Address(query string) string { return p.url("postgres", query) }

func (p *Pooler) url(database, query string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(p.options.User, p.options.Password), Host: p.Node.Address(),
		Path: "/" + database, RawQuery: "sslmode=disable&connect_timeout=2" + query}
	return u.String()
}

// Start starts it in front of a server, and returns when it takes clients.
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

// Restart stops it if it runs and starts it again. env is added to its environment this once, as
// NAME=value.
func (p *Pooler) Restart(ctx context.Context, env ...string) error {
	return p.Node.Restart(ctx, func(ctx context.Context) error { return p.start(ctx, env...) })
}

// Close ends it and removes its folder.
func (p *Pooler) Close() error { return server.Close([]*server.Node{p.Node}, p.Dir) }

// configuration is PgBouncer's (its manual, "pgbouncer.ini"). Where its defaults would leave
// clients with a lost server for long, it has what those who fail over set: connections on
// which the other machine is silent are given up, those to a server that is no longer the
// one are closed after the transaction and not the session, and a server that could not be
// reached is tried again after a fifth of a second and not after 15.
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
