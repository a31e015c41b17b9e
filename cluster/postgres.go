package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"assay/cluster/machine"
)

// PostgresOptions says how to run a single PostgreSQL node. The zero value
// gives a node with PostgreSQL's own defaults (durable: fsync on) on a free
// port, in a temporary folder, with a random password.
type PostgresOptions struct {
	// Programs is the folder that holds the server's programs; empty means
	// wherever Program.Find finds them.
	Programs string
	// Dir is the node's private folder, new or empty; empty means a temporary
	// one. Close removes it.
	Dir string
	// Log is the file of the server's log; empty means postgres.log in Dir.
	Log string
	// Machine is where the node lives; nil means here. On a machine with an
	// address of its own the server listens there, on port 5432 unless Port says
	// otherwise, and lets in whoever is in the machine's network and knows the
	// password. Anywhere else it listens on 127.0.0.1.
	Machine *machine.Machine
	// Port is the port on 127.0.0.1; 0 means a free one out of Ports.
	Port int
	// Ports gives out the port; nil means a new set.
	Ports *Ports
	// User is the superuser's name; empty means "assay".
	User string
	// Password is that user's; empty means a random one.
	Password string
	// Checksums has every page of data carry a checksum, which pg_rewind needs.
	Checksums bool
	// Settings are server settings as name=value, after ours and so stronger
	// than these. They are visible in the machine's process list.
	Settings []string
}

// Postgres is one PostgreSQL node. Its methods are safe for concurrent use.
type Postgres struct {
	options  PostgresOptions
	programs string
	user     *User
	label    string // what its primary calls it, if not by its port

	life   sync.Mutex // one Restart or Close at a time
	closed bool       // guarded by life

	mu        sync.Mutex // short: a server can be killed while it recovers
	process   *Process
	waitedFor []string // names of the standbys that commits wait for
}

func postgresProgram() Program {
	return Program{
		Name: "postgres",
		Folders: []string{
			"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
			"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
		},
		Get: "install PostgreSQL (apt-get install postgresql, or scripts/install-servers.sh postgres)",
	}
}

// StartPostgres makes a new database folder and starts a server on it, which
// accepts connections when StartPostgres returns. It listens on its machine's
// address only, without a Unix socket, and asks for the password (SCRAM). As root the server
// runs as user postgres, or nobody. A missing program is a *MissingError.
func StartPostgres(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	server, err := postgresProgram().Find(o.Programs)
	if err != nil {
		return nil, err
	}
	p := &Postgres{options: o, programs: filepath.Dir(server)}
	if err := p.fillIn(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err := p.initialize(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("initialize PostgreSQL: %w", err), os.RemoveAll(p.options.Dir))
	}
	if err := p.start(ctx, postgresReady); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// fillIn replaces empty options and makes the folder.
func (p *Postgres) fillIn() (err error) {
	o := &p.options
	if o.User == "" {
		o.User = "assay"
	}
	if o.Password == "" {
		o.Password = rand.Text()
	}
	if o.Ports == nil {
		o.Ports = new(Ports)
	}
	if o.Port == 0 && p.hasOwnAddress() {
		o.Port = postgresPort
	}
	if o.Port == 0 {
		if o.Port, err = o.Ports.Next(); err != nil {
			return err
		}
	}
	if p.user, err = Unprivileged("postgres", "nobody"); err != nil {
		return err
	}
	if o.Dir, err = PrivateDir(o.Dir, p.user); err != nil {
		return err
	}
	if o.Log == "" {
		o.Log = filepath.Join(o.Dir, "postgres.log")
	}
	return nil
}

// postgresPort is PostgreSQL's usual port.
const postgresPort = 5432

func (p *Postgres) hasOwnAddress() bool {
	m := p.options.Machine
	return m != nil && !m.Address().IsLoopback()
}

// host is the address that the server listens on.
func (p *Postgres) host() string {
	if p.hasOwnAddress() {
		return p.options.Machine.Address().String()
	}
	return "127.0.0.1"
}

func (p *Postgres) data() string { return filepath.Join(p.options.Dir, "data") }

// initialize runs initdb. The password goes through a file, which is removed,
// since arguments are visible in the process list. The files are not synced one
// by one: the server's first checkpoint does that.
func (p *Postgres) initialize(ctx context.Context) error {
	secret := filepath.Join(p.options.Dir, "initial-password")
	if err := os.WriteFile(secret, []byte(p.options.Password+"\n"), 0o600); err != nil {
		return err
	}
	defer os.Remove(secret)
	if err := p.user.chown(secret); err != nil {
		return err
	}
	args := []string{"--pgdata=" + p.data(), "--username=" + p.options.User, "--pwfile=" + secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"}
	if p.options.Checksums {
		args = append(args, "--data-checksums")
	}
	if err := p.runTool(ctx, "initdb", args); err != nil {
		return err
	}
	return p.letNetworkIn()
}

// letNetworkIn has the server take connections from the networks that it is
// itself in, if it listens on one (pg_hba.conf, "samenet").
func (p *Postgres) letNetworkIn() error {
	if !p.hasOwnAddress() {
		return nil
	}
	file, err := os.OpenFile(filepath.Join(p.data(), "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString("\nhost all all samenet scram-sha-256\nhost replication all samenet scram-sha-256\n")
	return errors.Join(err, file.Close())
}

// runTool runs one of PostgreSQL's programs on the node's machine to its end,
// as the server's user. It goes by its name in errors.
func (p *Postgres) runTool(ctx context.Context, name string, args []string, env ...string) error {
	process, err := StartProcess(ProcessOptions{
		Name: name, Program: filepath.Join(p.programs, name), Args: args, Env: env,
		Dir: p.options.Dir, Log: p.options.Log, User: p.user, Machine: p.options.Machine,
	})
	if err != nil {
		return err
	}
	if err := process.Wait(ctx); err != nil {
		return errors.Join(err, process.Kill())
	}
	return nil
}

// start starts the server on its folder and waits until it has come so far.
func (p *Postgres) start(ctx context.Context, want postgresState, env ...string) error {
	args := []string{"-D", p.data(), "-p", strconv.Itoa(p.options.Port)}
	settings := []string{"listen_addresses=" + p.host(), "unix_socket_directories=", "wal_level=replica", "fsync=on"}
	for _, setting := range append(settings, p.options.Settings...) {
		args = append(args, "-c", setting)
	}
	process, err := StartProcess(ProcessOptions{
		Name:    p.name(),
		Program: filepath.Join(p.programs, "postgres"),
		Args:    args, Env: env, Dir: p.options.Dir, Log: p.options.Log, User: p.user, Machine: p.options.Machine,
		StopSignal: syscall.SIGINT, // fast shutdown; SIGTERM would wait for every client to leave
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.process = process
	p.mu.Unlock()
	return p.await(ctx, process, want)
}

func (p *Postgres) name() string {
	if p.hasOwnAddress() {
		return "PostgreSQL on " + p.hostPort()
	}
	return fmt.Sprintf("PostgreSQL on port %d", p.options.Port)
}

// await asks the server for its state until it is at least this far. It asks
// often: the answer takes a fraction of a millisecond.
func (p *Postgres) await(ctx context.Context, process *Process, want postgresState) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		asking, cancel := context.WithTimeout(ctx, 2*time.Second)
		state, err := askPostgres(asking, p.hostPort(), p.options.User)
		cancel()
		if state >= want {
			return nil
		}
		select {
		case <-process.Exited():
			return process.Ended()
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w (%v); its log ends with:\n%s", p.name(), ctx.Err(), err, process.Tail(10))
		case <-ticker.C:
		}
	}
}

func (p *Postgres) hostPort() string {
	return net.JoinHostPort(p.host(), strconv.Itoa(p.options.Port))
}

// Address is the URL of the server's database "postgres", with the user and
// the password.
func (p *Postgres) Address() string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(p.options.User, p.options.Password),
		Host: p.hostPort(), Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String()
}

// Log is the path of the server's log.
func (p *Postgres) Log() string { return p.options.Log }

// PID is the id of the server's first process.
func (p *Postgres) PID() int { return p.current().PID() }

// Kill ends the server and its sessions as a power cut would; see
// Process.Kill.
func (p *Postgres) Kill() error { return p.current().Kill() }

// Stop shuts the server down: sessions are ended, a checkpoint is written; see
// Process.Stop.
func (p *Postgres) Stop(ctx context.Context) error { return p.current().Stop(ctx) }

// Pause stops the server and its sessions where they are; see Process.Pause.
func (p *Postgres) Pause() error { return p.current().Pause() }

// Resume lets a paused server go on.
func (p *Postgres) Resume() error { return p.current().Resume() }

func (p *Postgres) current() *Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

// Restart stops the server if it runs, starts it again with the same data and
// port, and returns when it accepts connections. After Kill that takes as long
// as recovery. env is added to the server's environment this once, as
// NAME=value.
func (p *Postgres) Restart(ctx context.Context, env ...string) error {
	p.life.Lock()
	defer p.life.Unlock()
	if p.closed {
		return fmt.Errorf("restart %s: %w", p.name(), os.ErrClosed)
	}
	if err := p.halt(ctx); err != nil {
		return err
	}
	return p.start(ctx, postgresReady, env...)
}

// halt stops the server if it runs. One that had to be killed is no error: its
// next start recovers.
func (p *Postgres) halt(ctx context.Context) error {
	process := p.current()
	if process == nil {
		return nil
	}
	if err := process.Stop(ctx); err != nil && process.Running() {
		return err
	}
	return nil
}

// Close stops the server, without a checkpoint, and removes its folder.
func (p *Postgres) Close() error {
	p.life.Lock()
	defer p.life.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	return errors.Join(p.discard(), os.RemoveAll(p.options.Dir))
}

// discard ends the server so that the system keeps nothing of it. A killed
// server leaves shared memory behind (shmctl(2) segments, files in /dev/shm)
// that only the next start on the same data clears away; so it is started once
// more, which need not wait for recovery.
func (p *Postgres) discard() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if p.current() == nil {
		return nil // it never started
	}
	if err := p.clearAway(ctx); err != nil {
		return err
	}
	return p.current().stop(ctx, syscall.SIGQUIT) // immediate shutdown
}

// clearAway starts a server that was killed once more, so that it finds what it
// left.
func (p *Postgres) clearAway(ctx context.Context) error {
	if !p.current().Running() && exists(filepath.Join(p.data(), "postmaster.pid")) {
		if err := p.start(ctx, postgresAnswers); err != nil {
			return fmt.Errorf("clear away what the killed %s left: %w", p.name(), err)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
