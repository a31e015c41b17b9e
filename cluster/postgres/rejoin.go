package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/server"
	"assay/internal/wait"
)

const (
	// retryAfter is how long to leave a node alone with which something failed.
	retryAfter = 2 * time.Second
	// checkpointBound is how long a checkpoint may take.
	checkpointBound = time.Minute
)

// followAll points the running standbys that do not follow the primary at it.
// s.mu is held.
func (s *Set) followAll(ctx context.Context) {
	for i, node := range s.nodes {
		if i == s.primary || node.following || ctx.Err() != nil || time.Now().Before(node.again) || !node.Running() {
			continue
		}
		err := s.follow(ctx, i)
		if node.rewind || node.copy {
			s.rejoinLater(i, "has what is not part of the database, since another was promoted")
		}
		if err != nil || node.rewind || node.copy {
			node.again = time.Now().Add(retryAfter)
		}
	}
}

func (s *Set) follow(ctx context.Context, i int) error {
	node, primary := s.nodes[i], s.nodes[s.primary]
	if node.term < len(s.ends) && !node.rewind && !node.copy {
		end, err := node.freeze(ctx)
		if err != nil {
			return err
		}
		s.admit(node, end)
	}
	if node.rewind || node.copy {
		return nil
	}
	err := node.inSession(ctx, askBound, func(ctx context.Context, conn *pgx.Conn) error {
		return alter(ctx, conn, primaryConninfo, node.connectionTo(primary.Server))
	})
	if err == nil {
		node.following, node.seen = true, time.Now()
	}
	return err
}

func (s *Set) rejoinLater(i int, why string) {
	s.routines.Go(func() { s.rejoinNow(s.alive, i, why) })
}

// rejoinNow stops a node that cannot follow as it is, and has it join again. A
// node that somebody is restarting is left to them.
func (s *Set) rejoinNow(ctx context.Context, i int, why string) {
	node := s.nodes[i]
	if !node.Changing.TryLock() {
		return
	}
	defer node.Changing.Unlock()
	if node.Closed() || !node.Running() {
		return
	}
	s.announce("%s %s: it is stopped, and joins again", s.nodeName(i), why)
	err := node.Halt(ctx)
	if err == nil {
		err = s.rejoin(ctx, i, nil)
	}
	if err != nil {
		s.announce("%s cannot join again: %v", s.nodeName(i), err)
	}
}

// Restart stops node i if it runs, and starts it again: as the primary if it is
// the last that was, else as a standby of the present one. What a former primary
// has beyond its successor's promotion is taken back (pg_rewind), or the node
// is copied anew. Restart returns when the node takes writes or streams, or, if
// there is no primary, when it serves reads. env is added to the server's
// environment this once, as NAME=value.
func (s *Set) Restart(ctx context.Context, i int, env ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.alive, cancel)()
	err := s.restart(ctx, i, env)
	if err == nil {
		err = s.awaitPart(ctx, i)
	}
	switch {
	case err == nil:
		return nil
	case s.alive.Err() != nil:
		return fmt.Errorf("restart %s: %w", s.nodeName(i), os.ErrClosed)
	default:
		return fmt.Errorf("restart %s: %w", s.nodeName(i), err)
	}
}

func (s *Set) restart(ctx context.Context, i int, env []string) error {
	node := s.nodes[i]
	node.Changing.Lock()
	defer node.Changing.Unlock()
	if node.Closed() {
		return os.ErrClosed
	}
	return s.rejoin(ctx, i, env)
}

// errPrimaryChanged means that there was a promotion while a node was made ready to
// follow the primary before it.
var errPrimaryChanged = errors.New("the primary was lost meanwhile")

// rejoin does the work of Restart. node.life is held, and s.mu is not: a
// promotion need not wait for it.
func (s *Set) rejoin(ctx context.Context, i int, env []string) error {
	for {
		if s.claimPrimary(i) {
			return s.restartPrimary(ctx, i, env)
		}
		if err := s.nodes[i].Halt(ctx); err != nil {
			return err
		}
		err := s.rejoinStandby(ctx, i, env)
		if !errors.Is(err, errPrimaryChanged) {
			return err
		}
		if err := wait.Pause(ctx, server.ProbeEvery); err != nil {
			return err
		}
	}
}

// claimPrimary reports whether node i is the primary, and if so keeps it from
// being fenced until restartPrimary is done.
func (s *Set) claimPrimary(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting = s.starting || s.primary == i
	return s.primary == i
}

// restartPrimary starts the primary again. Its log may hold commits that no
// client has an acknowledgement of and no standby has, and now shows them to readers; so
// nobody else is certain to have all until one has caught up.
func (s *Set) restartPrimary(ctx context.Context, i int, env []string) error {
	err := s.startPrimary(ctx, i, env)
	if err != nil { // it may be the primary in a moment, of which nobody would know
		err = errors.Join(err, s.nodes[i].Kill())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting = false
	if err != nil {
		return err
	}
	if s.lost {
		s.announce("%s is back, and is the primary again", s.nodeName(i))
	}
	s.lost, s.lastReason = false, ""
	s.watch.Over(s.nodes[i].answers)
	for _, other := range s.nodes {
		other.seen = time.Now()
	}
	s.watch.CheckNow()
	return nil
}

func (s *Set) startPrimary(ctx context.Context, i int, env []string) error {
	node := s.nodes[i]
	if err := node.Halt(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	s.quorum.reset(s.quorum.named)
	names := s.names(s.quorum.named)
	s.mu.Unlock()
	if err := node.writeSettings("", names); err != nil {
		return err
	}
	return node.start(ctx, stateReady, env...)
}

// rejoinStandby makes a stopped node a standby and starts it.
func (s *Set) rejoinStandby(ctx context.Context, i int, env []string) error {
	node := s.nodes[i]
	s.mu.Lock()
	at, lost := s.primary, s.lost
	term, rewind, again := len(s.ends), node.rewind, node.copy
	s.mu.Unlock()
	primary := s.nodes[at].Server
	if rewind || again {
		if lost {
			return fmt.Errorf("it must first take over what it missed from %s, which is down; restart that one before", s.nodeName(at))
		}
		if !primary.Running() {
			return errPrimaryChanged // or will be: wait for the decision
		}
		if err := s.takeOver(ctx, i, primary, again); err != nil {
			if s.primaryChanged(term) || !primary.Running() {
				return fmt.Errorf("%w: %w", errPrimaryChanged, err)
			}
			return err
		}
	}
	s.mu.Lock()
	if len(s.ends) != term {
		s.mu.Unlock()
		return errPrimaryChanged
	}
	if rewind || again {
		node.term, node.rewind, node.copy = term, false, false
	}
	// One that may have gone another way is asked for the end of its log before
	// it follows anybody; see followAll.
	node.following = node.term == term && !s.lost
	node.again, node.seen = time.Time{}, time.Now()
	if !node.following {
		primary = nil
	}
	s.mu.Unlock()
	defer s.watch.CheckNow()
	return s.startStandby(ctx, i, primary, env)
}

func (s *Set) primaryChanged(term int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ends) != term
}

// startStandby starts node i as a standby of the primary, or of nobody. From
// the start it has commits wait for all others, should it be promoted: a server
// that begins to wait does it a little after it was told to.
func (s *Set) startStandby(ctx context.Context, i int, primary *Server, env []string) error {
	node, conninfo, names := s.nodes[i], "", ""
	if primary != nil {
		conninfo = node.connectionTo(primary)
	}
	if !s.options.Asynchronous {
		names = s.names(s.others(i))
	}
	if err := node.writeSettings(conninfo, names); err != nil {
		return err
	}
	if err := node.makeStandby(); err != nil {
		return err
	}
	return node.start(ctx, stateReady, env...)
}

// takeOver makes the data of a stopped node fit to follow the primary: by
// pg_rewind, which takes back what the node has and the primary has not, or
// else by a new copy. Until it has succeeded, the node's data is of no use.
func (s *Set) takeOver(ctx context.Context, i int, primary *Server, anew bool) error {
	node := s.nodes[i]
	// pg_rewind reads from the control file which timeline the primary is on,
	// where PostgreSQL before version 16 notes it with the next checkpoint only.
	err := primary.inSession(ctx, checkpointBound, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CHECKPOINT")
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	node.copy = true
	s.mu.Unlock()
	began := time.Now()
	if !anew {
		err := node.rewindTo(ctx, primary)
		if err == nil {
			s.announce("%s is rewound to %s in %d ms", s.nodeName(i), primary.label, time.Since(began).Milliseconds())
			return nil
		}
		if ctx.Err() != nil || !primary.Running() {
			return err
		}
		s.announce("%s cannot be rewound, and is copied anew: %v", s.nodeName(i), err)
	}
	if err := node.clearAwayAsStandby(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(node.data()); err != nil {
		return err
	}
	if err := node.copyData(ctx, primary); err != nil {
		return err
	}
	s.announce("%s is copied anew from %s in %d ms", s.nodeName(i), primary.label, time.Since(began).Milliseconds())
	return nil
}

// rewindTo runs pg_rewind. It starts a server that was killed once by itself to
// have it recover; standby.signal must not be there then.
func (p *Server) rewindTo(ctx context.Context, primary *Server) error {
	if err := os.Remove(filepath.Join(p.data(), "standby.signal")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := p.writeSettings("", ""); err != nil {
		return err
	}
	source := fmt.Sprintf("host=%s port=%d dbname=postgres sslmode=disable connect_timeout=2", primary.Host, primary.Port)
	err := p.runTool(ctx, "pg_rewind", append(p.unsynced(), "--target-pgdata="+p.data(), "--source-server="+source),
		"PGUSER="+primary.options.User, "PGPASSWORD="+primary.options.Password)
	p.cut = err != nil
	return err
}

// clearAwayAsStandby is clearAway for a server that must not take writes, and
// stops it.
func (p *Server) clearAwayAsStandby(ctx context.Context) error {
	if !server.Exists(p.data()) {
		return nil
	}
	if err := p.makeStandby(); err != nil {
		return err
	}
	if err := p.clearAway(ctx); err != nil {
		return err
	}
	return p.Halt(ctx)
}

// canCopy returns a *server.MissingError if the program that copies a running
// node is not among the programs.
func canCopy(programs string) error {
	if server.Executable(filepath.Join(programs, "pg_basebackup")) == "" {
		return &server.MissingError{Program: "pg_basebackup", Looked: []string{programs}, Get: serverProgram().Get}
	}
	return nil
}

// unsynced has a tool not wait until what it writes is on the disk, unless the power
// of the disk can be cut.
func (p *Server) unsynced() []string {
	if p.Machine != nil && p.Machine.Folder() != "" {
		return nil
	}
	return []string{"--no-sync"}
}

// copierName is what a primary calls a copy that is being made of it. It is not
// one that commits wait for: pg_basebackup confirms what it has received, and
// would be taken for the standby.
const copierName = "assay_copy"

// copyData fills the standby's data folder. The password goes through the
// environment, which only root and the server's user can see, into a file of that
// folder (primary_conninfo).
func (p *Server) copyData(ctx context.Context, primary *Server) error {
	return p.baseBackup(ctx, primary, p.data(), "--write-recovery-conf")
}

// baseBackup copies the data of a server that works into a folder, with the log that was
// written meanwhile. The server bears a copier that is silent for a
// while, which standbys may not be (wal_sender_timeout).
func (p *Server) baseBackup(ctx context.Context, of *Server, into string, more ...string) error {
	return p.runTool(ctx, "pg_basebackup", slices.Concat(p.unsynced(), more, []string{
		"--pgdata=" + into, "--checkpoint=fast", "--wal-method=stream",
		"--no-password", "--dbname=application_name=" + copierName, "--host=" + of.Host,
		"--port=" + strconv.Itoa(of.Port), "--username=" + of.options.User,
	}), "PGOPTIONS=-c wal_sender_timeout=0", "PGPASSWORD="+of.options.Password)
}
