package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/server"
)

// MakeArchive makes the folder of the archive, if there is to be one, which is the user's
// that runs the servers. It is that of all nodes.
func MakeArchive(dir string, user *server.User) error {
	if dir == "" {
		return nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return user.Chown(dir)
}

// Archiving are the settings by which a server archives each segment of its log that is
// full (manual, "Continuous Archiving and Point-in-Time Recovery"); none without an archive. A
// segment that is there already is taken for archived if it is the same: the server may have
// ended before it heard so. It has its name only once it is whole.
func Archiving(dir string) []string {
	if dir == "" {
		return nil
	}
	to := shellWord(dir) + "/%f"
	return []string{"archive_mode=on",
		fmt.Sprintf(`archive_command=if test -f %[1]s; then cmp -s %%p %[1]s; else cp %%p %[1]s.part && mv %[1]s.part %[1]s; fi`, to)}
}

// shellWord is a path as the shell takes it, with the percent signs doubled that PostgreSQL
// would replace.
func shellWord(path string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "%", "%%").Replace(path) + "'"
}

// Quote is a value as the server's files of settings have it.
func Quote(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(value) + "'"
}

// CheckBackup says why no backup can be made in this way, which is pg_basebackup's if it is
// empty, or why the state of a moment cannot be restored.
func (p *Server) CheckBackup(way string, moment bool) error {
	switch {
	case way != "":
		return fmt.Errorf("PostgreSQL is not backed up by %s; leave it out for pg_basebackup", way)
	case moment && p.options.Archive == "":
		return errors.New("the state of a moment is restored from archived log, and none is archived; start the cluster with archive=on")
	}
	return CanCopy(p.programs)
}

// BackUp makes a base backup of the server in a new folder, with the log that it needs.
func (p *Server) BackUp(ctx context.Context, _ int, _, into string) (by string, err error) {
	if _, err := server.PrivateDir(into, p.User); err != nil {
		return "", err
	}
	return "pg_basebackup", p.baseBackup(ctx, p, into)
}

// CanCopy returns a *server.MissingError if the program that copies a running
// node is not among the programs.
func CanCopy(programs string) error {
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

// baseBackup copies the data of a server that works into a folder, with the log that was
// written meanwhile. The server bears a copier that is silent for a
// while, which standbys may not be (wal_sender_timeout).
func (p *Server) baseBackup(ctx context.Context, of *Server, into string) error {
	return p.runTool(ctx, "pg_basebackup", append(p.unsynced(),
		"--pgdata="+into, "--checkpoint=fast", "--wal-method=stream",
		"--no-password", "--dbname=application_name="+copierName, "--host="+of.Host,
		"--port="+strconv.Itoa(of.Port), "--username="+of.options.User,
	), "PGOPTIONS=-c wal_sender_timeout=0", "PGPASSWORD="+of.options.Password)
}

// Restore starts a server on a copy of a base backup, and returns when it has come to the
// backup's end or, by the archive, to a moment.
func (p *Server) Restore(ctx context.Context, backup, into string, until time.Time) (address string, end func() error, err error) {
	o := p.options
	o.Machine, o.Ports, o.Dir, o.Log, o.Archive = nil, nil, into, "", ""
	// A standby takes reads before it has come to its end.
	o.Settings = append(slices.Clone(o.Settings), "archive_mode=off", "hot_standby=off", "synchronous_standby_names=")
	if !until.IsZero() {
		if err := p.archiveAll(ctx); err != nil {
			return "", nil, err
		}
	}
	r, err := newServer(p.programs, o)
	if err != nil {
		return "", nil, err
	}
	if err = r.fill(ctx, backup, p.options.Archive, until); err == nil {
		err = r.start(ctx, stateReady)
	}
	if err != nil {
		return "", nil, errors.Join(err, r.Close())
	}
	return r.Address(), r.Close, nil
}

// fill copies a base backup into the data folder and has the server recover as it is asked
// to. Nothing of how the server was led goes with it, by whoever wrote that into which of the
// files: a library, a name of a standby that commits wait for, or a file beside the data.
func (p *Server) fill(ctx context.Context, backup, archive string, until time.Time) error {
	if _, err := server.PrivateDir(p.data(), p.User); err != nil {
		return err
	}
	if err := p.Copy(ctx, p.data(), backup+"/."); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(p.data(), "standby.signal")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	settings := ""
	if !until.IsZero() {
		settings = fmt.Sprintf("restore_command = %s\nrecovery_target_time = '%s'\nrecovery_target_action = 'promote'\n",
			Quote("cp "+shellWord(archive)+"/%f %p"), until.UTC().Format("2006-01-02 15:04:05.000000+00"))
		if err := p.writeData("recovery.signal", ""); err != nil {
			return err
		}
	}
	return errors.Join(p.writeData("postgresql.conf", ""), p.writeData("postgresql.auto.conf", settings),
		p.writeData("pg_hba.conf", "host all all samehost scram-sha-256\n"))
}

// archiveBound is how long the server may take to archive its last segment.
const archiveBound = time.Minute

// archiveAll returns when the archive holds all of the log until now, and a commit after it:
// recovery to a moment is an error unless it comes upon a later one.
func (p *Server) archiveAll(ctx context.Context) error {
	var last string
	err := InSession(ctx, p.Address(), archiveBound, func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "SELECT txid_current()"); err != nil {
			return err
		}
		return conn.QueryRow(ctx, "SELECT pg_walfile_name(pg_switch_wal())").Scan(&last)
	})
	if err != nil {
		return fmt.Errorf("end the segment of the log: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, archiveBound)
	defer cancel()
	return server.Until(ctx, 20*time.Millisecond, "the archive of "+p.Name, func(context.Context) error {
		if !server.Exists(filepath.Join(p.options.Archive, last)) {
			return fmt.Errorf("segment %s is not archived", last)
		}
		return nil
	})
}
