// Package postgres runs servers of PostgreSQL as local processes: single ones, and standbys that
// follow one. It must not know any program that leads them.
package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// Options says how to run a single node. The zero value has PostgreSQL's own defaults (durable:
// fsync on), a free port, a temporary folder and a random password.
type Options struct {
	// Programs is the folder of the server's programs; empty means a search (server.Program).
	Programs string
	// Dir is the private folder, new or empty; empty means a temporary one. Close removes it.
	Dir string
	// Log is the server's log file; empty means postgres.log in Dir.
	Log string
	// Machine is where the node lives; nil means here. On a machine with an address of its own the
	// server listens there on port 5432 and admits every host of the machine's network that knows
	// the password. Otherwise it listens on 127.0.0.1.
	Machine *machine.Machine
	Ports   *server.Ports
	// User is the superuser's name; empty means "assay".
	User     string
	Password string
	// Checksums adds a checksum to every page of data, which pg_rewind needs.
	Checksums bool
	// Archive is the folder for each full segment of the log, which Close leaves; empty for none.
	Archive string
	// Settings are name=value and override ours. The process list shows them.
	Settings []string
}

// Server is one PostgreSQL node. Its methods are safe for concurrent use.
type Server struct {
	*server.Node
	options  Options
	programs string
}

func serverProgram() server.Program {
	return server.Program{
		Name: "postgres",
		Folders: []string{
			"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
			"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
		},
		Get: "install PostgreSQL (apt-get install postgresql, or scripts/install-servers.sh postgres)",
	}
}

// FindPrograms returns the folder of PostgreSQL's programs, as server.Program.Find finds it.
func FindPrograms(extra string) (string, error) {
	program, err := serverProgram().Find(extra)
	return filepath.Dir(program), err
}

// Start makes a new database and starts a server on it, which accepts connections when Start
// returns. It listens on its machine's address only, without a Unix socket, and demands the
// password (SCRAM). If we are root it runs as user postgres, or nobody. A missing program is a
// *server.MissingError.
func Start(ctx context.Context, o Options) (*Server, error) {
	programs, err := FindPrograms(o.Programs)
	if err != nil {
		return nil, err
	}
	p, err := newServer(programs, o)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err := p.Begin(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// On returns the server of an existing node, with the programs, user, password, checksums, archive
// and settings of o. It is for backups and restores of nodes that another program starts and leads.
func On(n *server.Node, o Options) *Server {
	return &Server{Node: n, options: o, programs: o.Programs}
}

// Begin makes the database and starts the server. After an error nothing is left.
func (p *Server) Begin(ctx context.Context) error {
	if err := p.initialize(ctx); err != nil {
		return errors.Join(fmt.Errorf("initialize PostgreSQL: %w", err), clearLocked(ctx, p.lockFile()), os.RemoveAll(p.Dir))
	}
	if err := p.start(ctx, stateReady); err != nil {
		return errors.Join(err, p.Close())
	}
	return nil
}

func newServer(programs string, o Options) (p *Server, err error) {
	n := &server.Node{Machine: o.Machine}
	o.User, o.Password = cmp.Or(o.User, "assay"), cmp.Or(o.Password, rand.Text())
	o.Ports = cmp.Or(o.Ports, new(server.Ports))
	p = &Server{Node: n, options: o, programs: programs}
	if n.Host, n.Port, err = o.Ports.For(o.Machine, usualPort); err != nil {
		return nil, err
	}
	n.Name = fmt.Sprintf("PostgreSQL on port %d", n.Port)
	if p.hasOwnAddress() {
		n.Name = "PostgreSQL on " + n.Address()
	}
	if n.User, err = server.Unprivileged("postgres", "nobody"); err != nil {
		return nil, err
	}
	if n.Dir, err = server.PrivateDir(server.FolderOn(o.Machine, o.Dir), n.User); err != nil {
		return nil, err
	}
	n.Log = cmp.Or(o.Log, filepath.Join(n.Dir, "postgres.log"))
	return p, MakeArchive(o.Archive, n.User)
}

const usualPort = 5432

func (p *Server) hasOwnAddress() bool { return p.Machine != nil && !p.Machine.Address().IsLoopback() }

func (p *Server) data() string { return filepath.Join(p.Dir, "data") }

func (p *Server) lockFile() string { return filepath.Join(p.data(), "postmaster.pid") }

func (p *Server) initialize(ctx context.Context) error {
	if err := p.Initdb(ctx, false); err != nil || !p.hasOwnAddress() {
		return err
	}
	// samenet is the networks of the server itself (pg_hba.conf).
	return p.Append("pg_hba.conf", "\nhost all all samenet scram-sha-256\nhost replication all samenet scram-sha-256\n")
}

// Initdb runs initdb. The password goes through a temporary file, since the process list shows
// arguments. The server's first checkpoint syncs the files. After a failure the result stays
// (--no-clean): the lock file names the shared memory that a killed initdb leaves.
func (p *Server) Initdb(ctx context.Context, apart bool) error {
	secret := filepath.Join(p.Dir, "initial-password")
	defer os.Remove(secret)
	if err := p.User.WriteFile(secret, p.options.Password+"\n"); err != nil {
		return err
	}
	args := []string{"--pgdata=" + p.data(), "--username=" + p.options.User, "--pwfile=" + secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-clean"}
	if p.options.Checksums {
		args = append(args, "--data-checksums")
	}
	_, err := p.Run(ctx, server.ProcessOptions{Name: "initdb", Program: filepath.Join(p.programs, "initdb"), Args: args, Apart: apart})
	return err
}

// Append appends text to one of the data's files.
func (p *Server) Append(name, text string) error {
	file, err := os.OpenFile(filepath.Join(p.data(), name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func (p *Server) runTool(ctx context.Context, name string, args []string, env ...string) error {
	_, err := p.Run(ctx, server.ProcessOptions{Name: name, Program: filepath.Join(p.programs, name), Args: args, Env: env})
	return err
}

func (p *Server) start(ctx context.Context, want serverState, env ...string) error {
	args := []string{"-D", p.data(), "-p", strconv.Itoa(p.Port)}
	settings := []string{"listen_addresses=" + p.Host, "unix_socket_directories=", "wal_level=replica", "fsync=on"}
	for _, setting := range slices.Concat(settings, Archiving(p.options.Archive), p.options.Settings, p.Settings(nil)) { // of two the later one counts
		args = append(args, "-c", setting)
	}
	err := p.Spawn(server.ProcessOptions{
		Program: filepath.Join(p.programs, "postgres"), Args: args, Env: env,
		StopSignal: syscall.SIGINT, // fast shutdown; SIGTERM would wait for every client to leave
	})
	if err != nil {
		return err
	}
	return p.await(ctx, want)
}

func (p *Server) await(ctx context.Context, want serverState) error {
	return p.Await(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		state, err := askState(ctx, p.Node.Address(), p.options.User)
		if state >= want {
			return nil
		}
		return err
	})
}

// Ready returns when the server accepts connections.
func (p *Server) Ready(ctx context.Context) error { return p.await(ctx, stateReady) }

// Address is the URL of the database "postgres", with user and password.
func (p *Server) Address() string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(p.options.User, p.options.Password), Host: p.Node.Address(),
		Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String()
}

// Restart starts the server again with env (NAME=value), and returns when it accepts connections.
// After Kill that includes recovery.
func (p *Server) Restart(ctx context.Context, env ...string) error {
	return p.Node.Restart(ctx, func(ctx context.Context) error { return p.start(ctx, stateReady, env...) })
}

// Close stops the server, without a checkpoint, and removes its folder.
func (p *Server) Close() error {
	p.Changing.Lock()
	defer p.Changing.Unlock()
	if p.Closed() {
		return nil
	}
	return errors.Join(p.shutDown(), p.Discard())
}

// shutDown ends the server and frees its shared memory. A killed server leaves segments (shmctl(2))
// and files in /dev/shm that only the next start on the same data removes. So it is started again,
// without waiting for recovery.
func (p *Server) shutDown() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if p.Process() == nil {
		return nil // it never started
	}
	if err := p.clearAway(ctx); err != nil && server.Exists(p.lockFile()) { // too little memory, say
		return clearLocked(ctx, p.lockFile())
	} else if err != nil {
		return err
	}
	return p.Process().StopWith(ctx, syscall.SIGQUIT) // immediate shutdown
}

func (p *Server) clearAway(ctx context.Context) error {
	if !p.Running() && server.Exists(p.lockFile()) {
		if err := p.start(ctx, stateAnswers); err != nil {
			return fmt.Errorf("clear away what the killed %s left: %w", p.Name, err)
		}
	}
	return nil
}

type serverState int

const (
	// stateSilent: there is no answer.
	stateSilent serverState = iota
	// stateAnswers: the server refuses connections (57P03: it starts up, recovers, or shuts down).
	stateAnswers
	// stateReady: the server accepts connections.
	stateReady
)

// cannotConnectNow is an SQLSTATE (PostgreSQL manual, appendix A).
const cannotConnectNow = "57P03"

// askState asks for the state as pg_isready does: it opens a connection and reads the first answer
// (PostgreSQL manual, "Frontend/Backend Protocol", "Start-up"). A server that demands a password
// accepts connections. The error says what came instead. ctx bounds the wait.
func askState(ctx context.Context, address, user string) (serverState, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return stateSilent, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	frontend := pgproto3.NewFrontend(conn, conn)
	frontend.SetMaxBodyLen(16 << 10) // whoever answers with more is not a server that greets us
	frontend.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters: map[string]string{"user": user, "database": "postgres"}})
	if err := frontend.Flush(); err != nil {
		return stateSilent, err
	}
	message, err := frontend.Receive()
	if err != nil {
		return stateSilent, err
	}
	switch m := message.(type) {
	case pgproto3.AuthenticationResponseMessage:
		return stateReady, nil
	case *pgproto3.ErrorResponse:
		if m.Code == cannotConnectNow {
			return stateAnswers, errors.New(m.Message)
		}
		// A server with any other refusal (too many clients) is up.
		return stateReady, nil
	default:
		return stateSilent, fmt.Errorf("whoever listens on %s is not PostgreSQL", address)
	}
}
