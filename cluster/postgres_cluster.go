package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/cluster/machine"
)

var (
	_ product = (*PostgresSet)(nil)
	_ product = postgresAlone{}
)

func postgresTopology() topology {
	return topology{
		name: "postgres", nodes: []int{1, 2, 3, 4, 5}, arbiters: []int{0},
		options: []option{
			{name: "standby", want: "standby=sync (any one standby confirms a commit) or standby=async", check: oneOf("sync", "async")},
			{name: "failover", want: "failover=DURATION, such as 3s: how long the primary may be silent until a standby is promoted", check: aDuration},
			{name: "shared_buffers", want: "shared_buffers=SIZE, such as 256MiB", check: aSize},
		},
	}
}

// startPostgresCluster starts one server, or a primary with its standbys.
func startPostgresCluster(ctx context.Context, at place) (product, error) {
	settings := postgresSettings(at.spec)
	if at.spec.Nodes == 1 {
		var m *machine.Machine
		if len(at.machines) > 0 {
			m = at.machines[0]
		}
		p, err := StartPostgres(ctx, PostgresOptions{
			Programs: at.programs, Machine: m, Dir: at.dir, Log: filepath.Join(at.logs, "postgres-n1.log"), Settings: settings,
		})
		if err != nil {
			return nil, err
		}
		return postgresAlone{p}, nil
	}
	s, err := StartPostgresSet(ctx, PostgresSetOptions{
		Programs: at.programs, Nodes: at.spec.Nodes, Machines: at.machines, Asynchronous: at.spec.Options["standby"] == "async",
		FailoverAfter: at.spec.duration("failover"), Dir: at.dir, LogDir: at.logs, Settings: settings, Announce: at.announce,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// postgresConnections is max_connections of the servers that a spec asks for:
// enough for a thousand clients with a session each. PostgreSQL's own default of
// 100 is a limit and changes nothing below it; 1,000 more take 49 MB of shared
// memory (postgres -C shared_memory_size: 143 MB, and 192 MB).
const postgresConnections = 1100

// postgresSettings follow from the spec. With a limit of memory, a quarter of it
// is for shared buffers, as PostgreSQL's manual recommends of a machine's memory
// ("Resource Consumption", shared_buffers).
func postgresSettings(s Spec) []string {
	settings := []string{fmt.Sprintf("max_connections=%d", postgresConnections)}
	size := s.size("shared_buffers")
	if size == 0 {
		size = s.Limits.Memory / 4
	}
	if size != 0 {
		settings = append(settings, fmt.Sprintf("shared_buffers=%dkB", max(size>>10, 128)))
	}
	return settings
}

// postgresAlone is one server as a cluster.
type postgresAlone struct{ *Postgres }

// Primary implements product.
func (p postgresAlone) Primary(ctx context.Context) (int, error) {
	return 0, p.await(ctx, p.current(), postgresReady)
}

// Restart implements product.
func (p postgresAlone) Restart(ctx context.Context, _ int, env ...string) error {
	return p.Postgres.Restart(ctx, env...)
}

// Settled implements product: a server that has ended is not waited for.
func (p postgresAlone) Settled(ctx context.Context) error {
	if !p.current().Running() {
		return errors.New("the only server is down")
	}
	return p.await(ctx, p.current(), postgresReady)
}

func (p postgresAlone) process(int) *Process { return p.current() }

// HostPort implements product.
func (p postgresAlone) HostPort(int) string { return p.hostPort() }

// clearPostgres takes away the shared memory of servers that were killed with
// their data below folder: each is started once more, on loopback, and ended.
// Data that was still being made (initdb) cannot be started; its segment is
// taken away by its number.
func clearPostgres(ctx context.Context, folder string) error {
	var left []string
	for _, pattern := range []string{"nodes/data/postmaster.pid", "nodes/*/data/postmaster.pid"} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return err
		}
		left = append(left, found...)
	}
	var failed []error
	for _, file := range left {
		lock, err := readPostgresLock(file)
		switch {
		case err != nil:
			failed = append(failed, err)
		case lock.pid < 0:
			failed = append(failed, removeSegment(lock.shmKey, lock.shmID))
		default:
			failed = append(failed, clearOnePostgres(ctx, filepath.Dir(filepath.Dir(file)), lock.pid))
		}
	}
	return errors.Join(failed...)
}

// postgresLock is what a server's lock file tells (pidfile.h of PostgreSQL).
type postgresLock struct {
	pid int // negative of a server without clients, such as initdb starts
	// Of its shared memory (shmctl(2)); 0 until it has some.
	shmKey uint64
	shmID  int
}

func readPostgresLock(file string) (postgresLock, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return postgresLock{}, err
	}
	var lock postgresLock
	lines := strings.Split(string(text), "\n")
	if lock.pid, err = strconv.Atoi(strings.TrimSpace(lines[0])); err != nil {
		return postgresLock{}, nil // PostgreSQL says what is wrong with it
	}
	const lineOfMemory = 7
	if len(lines) >= lineOfMemory {
		_, _ = fmt.Sscan(lines[lineOfMemory-1], &lock.shmKey, &lock.shmID) // empty, or whole
	}
	return lock, nil
}

func clearOnePostgres(ctx context.Context, dir string, pid int) error {
	server, err := postgresProgram().Find("")
	if err != nil {
		return fmt.Errorf("clear away what a killed server left: %w", err)
	}
	p := &Postgres{programs: filepath.Dir(server), options: PostgresOptions{Dir: dir, Log: filepath.Join(dir, "clear.log"), User: "assay"}}
	if p.options.Port, err = new(Ports).Next(); err != nil {
		return err
	}
	if p.user, err = Unprivileged("postgres", "nobody"); err != nil {
		return err
	}
	if err := awaitReaped(ctx, pid); err != nil {
		return err
	}
	if err := p.start(ctx, postgresAnswers); err != nil {
		return errors.Join(fmt.Errorf("clear away what a killed server left: %w", err), p.endAndRemove(ctx))
	}
	return p.endAndRemove(ctx)
}

// awaitReaped waits until a server's process is no longer in the system's list.
// One that was killed stays there until its parent, after our death the
// system's first process, has asked how it ended; and PostgreSQL takes it for a
// server that runs.
func awaitReaped(ctx context.Context, pid int) error {
	if pid <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, killBound)
	defer cancel()
	for {
		process, err := os.FindProcess(pid)
		if err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d, a killed PostgreSQL, is still there: %w", pid, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// endAndRemove ends the server at once and removes its folder.
func (p *Postgres) endAndRemove(ctx context.Context) error {
	if process := p.current(); process != nil {
		if err := process.Stop(ctx); err != nil {
			return err
		}
	}
	return os.RemoveAll(p.options.Dir)
}
