// Package haproxy runs HAProxy as a local process before PostgreSQL servers. It asks each whether
// it takes writes, and sends clients to the one that does. It must not know how those servers are
// run.
package haproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"assay/cluster/server"
)

// Server is a server behind a proxy.
type Server struct {
	Name string
	At   *server.Node
	// REST is the port of Patroni's REST API, which is asked for /primary. 0 means asking the server
	// whether it is in recovery.
	REST int
}

// Options says how to run a proxy. Programs may be empty.
type Options struct {
	Programs string
	// Dir is its private folder, new or empty, which Close removes. Log is its log file.
	Dir, Log string
	Number   int
	Servers  []Server
	// User asks a server whether it is in recovery. The database postgres must admit it without a
	// password.
	User    string
	Clients int
}

// Proxy is HAProxy on 127.0.0.1. Its methods are safe for concurrent use.
type Proxy struct {
	*server.Node
	options Options
	program string
	version string
	// began is the size of its log at its last start.
	began atomic.Int64
}

// New finds the program and does not start it. The error may be a *server.MissingError.
func New(ctx context.Context, o Options) (*Proxy, error) {
	program, err := (&server.Program{Name: "haproxy", Folders: []string{"/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"},
		Get: "install HAProxy (apt-get install haproxy, or scripts/install-servers.sh haproxy)"}).Find(o.Programs)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	version, err := exec.CommandContext(ctx, program, "-v").Output()
	if err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", program, err)
	}
	n := &server.Node{Number: o.Number, Log: o.Log, Ports: new(server.Ports), IsError: func(line string) bool { return strings.Contains(line, "[ALERT]") }}
	if n.Host, n.Port, err = n.Ports.For(nil, 0); err != nil {
		return nil, err
	}
	n.Name = "HAProxy on " + n.Address()
	if n.User, err = server.Unprivileged("haproxy", "nobody"); err != nil {
		return nil, err
	}
	if n.Dir, err = server.PrivateDir(o.Dir, n.User); err != nil {
		return nil, err
	}
	p := &Proxy{Node: n, options: o, program: program, version: versionIn(string(version))}
	if err := n.User.WriteFile(p.file(), p.configuration()); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// versionIn reads the output of haproxy -v: "HAProxy version 2.6.12-1 2023/...".
func versionIn(text string) string {
	if words := strings.Fields(text); len(words) > 2 && words[1] == "version" {
		return words[0] + " " + words[2]
	}
	return "HAProxy"
}

func (p *Proxy) file() string { return filepath.Join(p.Dir, "haproxy.cfg") }

// Version is the program's name and version, such as "HAProxy 2.6.12".
func (p *Proxy) Version() string { return p.version }

// Check is the question to a server, in words.
func (p *Proxy) Check() string {
	if len(p.options.Servers) > 0 && p.options.Servers[0].REST > 0 {
		return "Patroni's /primary"
	}
	return "pg_is_in_recovery()"
}

// Start returns when the proxy takes connections. It may not know the primary yet: a server must
// say twice that it takes writes.
func (p *Proxy) Start(ctx context.Context) error {
	if err := p.start(ctx); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	return nil
}

func (p *Proxy) start(ctx context.Context, env ...string) error {
	if info, err := os.Stat(p.Log); err == nil {
		p.began.Store(info.Size())
	}
	if err := p.Spawn(server.ProcessOptions{Program: p.program, Args: []string{"-db", "-f", p.file()}, Env: env}); err != nil {
		return err
	}
	return p.Await(ctx, func(ctx context.Context) error { return p.Dial(ctx, time.Second) })
}

// Checked is nil once the proxy has asked each server since its start. Before, it takes each for
// the primary (manual 2.6, "rise"). "option log-health-checks" makes it log the answers.
func (p *Proxy) Checked() error {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err
	}
	text = text[min(p.began.Load(), int64(len(text))):]
	for _, s := range p.options.Servers {
		if !bytes.Contains(text, []byte("erver primary/"+s.Name+" ")) {
			return fmt.Errorf("it has not asked %s yet", s.Name)
		}
	}
	return nil
}

// Restart stops the proxy if it runs and starts it. env, as NAME=value, holds for this start alone.
func (p *Proxy) Restart(ctx context.Context, env ...string) error {
	return p.Node.Restart(ctx, func(ctx context.Context) error { return p.start(ctx, env...) })
}

// Close ends the proxy and removes its folder.
func (p *Proxy) Close() error { return server.Close([]*server.Node{p.Node}, p.Dir) }

// configuration has the times, the counts and the handling of a lost server's sessions from
// Patroni's example (its haproxy.cfg): a server is asked every three seconds, is down after three
// failures and up after two successes.
func (p *Proxy) configuration() string {
	var b strings.Builder
	fmt.Fprintf(&b, `global
    maxconn %d
    log stdout format raw local0 notice
defaults
    log global
    mode tcp
    retries 2
    timeout client 30m
    timeout connect 4s
    timeout server 30m
    timeout check 5s
    option log-health-checks
listen primary
    bind %s
`, p.options.Clients, p.Address())
	rest := len(p.options.Servers) > 0 && p.options.Servers[0].REST > 0
	if rest {
		b.WriteString("    option httpchk OPTIONS /primary\n    http-check expect status 200\n")
	} else {
		b.WriteString(recoveryCheck(p.options.User))
	}
	b.WriteString("    default-server inter 3s fall 3 rise 2 on-marked-down shutdown-sessions\n")
	for _, s := range p.options.Servers {
		fmt.Fprintf(&b, "    server %s %s check", s.Name, s.At.Address())
		if rest {
			fmt.Fprintf(&b, " port %d", s.REST)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// recoveryCheck makes HAProxy speak PostgreSQL's protocol (manual, "Message Formats"): it starts a
// session, asks, and accepts the row with "f". A server that wants a password, or does not get so
// far, fails the check.
func recoveryCheck(user string) string {
	startup := "\x00\x03\x00\x00user\x00" + user + "\x00database\x00postgres\x00\x00"
	query := "SELECT pg_is_in_recovery()\x00"
	const (
		authenticated = "R\x00\x00\x00\x08\x00\x00\x00\x00"
		row           = "D\x00\x00\x00\x0b\x00\x01\x00\x00\x00\x01f"
		terminate     = "X\x00\x00\x00\x04"
	)
	var b strings.Builder
	b.WriteString("    option tcp-check\n    tcp-check connect\n")
	for _, step := range [][2]string{{"send-binary", length(startup) + startup}, {"expect binary", authenticated},
		{"send-binary", "Q" + length(query) + query}, {"expect binary", row}, {"send-binary", terminate}} {
		fmt.Fprintf(&b, "    tcp-check %s %x\n", step[0], step[1])
	}
	return b.String()
}

func length(message string) string {
	n := len(message) + 4
	return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}
