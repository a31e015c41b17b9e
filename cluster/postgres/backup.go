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

// MakeArchive makes the archive's folder for all nodes, owned by the servers' user; an empty dir
// means none.
func MakeArchive(dir string, user *server.User) error {
	if dir == "" {
		return nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return user.Chown(dir)
}

// Archiving returns the settings that archive each full segment of the log (manual, "Continuous
// Archiving and Point-in-Time Recovery"); none without an archive. An existing segment with the
// same content counts as archived, because the server may have ended before it knew. A segment gets
// its name only when it is complete.
func Archiving(dir string) []string {
	if dir == "" {
		return nil
	}
	to := shellWord(dir) + "/%f"
	return []string{"archive_mode=on",
		fmt.Sprintf(`archive_command=if test -f %[1]s; then cmp -s %%p %[1]s; else cp %%p %[1]s.part && mv %[1]s.part %[1]s; fi`, to)}
}

// shellWord quotes a path for the shell and doubles percent signs, which PostgreSQL would replace.
func shellWord(path string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "%", "%%").Replace(path) + "'"
}

// Quote quotes a value for the server's files of settings.
func Quote(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(value) + "'"
}

// CheckBackup allows only an empty way (pg_basebackup), and a moment only with an archive.
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

// CanCopy returns a *server.MissingError if pg_basebackup is not among the programs.
func CanCopy(programs string) error {
	if server.Executable(filepath.Join(programs, "pg_basebackup")) == "" {
		return &server.MissingError{Program: "pg_basebackup", Looked: []string{programs}, Get: serverProgram().Get}
	}
	return nil
}

// unsynced makes a tool not wait for the disk, unless the disk's power can be cut.
func (p *Server) unsynced() []string {
	if p.Machine != nil && p.Machine.Folder() != "" {
		return nil
	}
	return []string{"--no-sync"}
}

// copierName is the name of a copy in progress at the primary. Commits must not wait for this name:
// pg_basebackup confirms what it has received and would count as the standby.
const copierName = "assay_copy"

// baseBackup copies a working server's data into a folder, with the log written meanwhile.
// wal_sender_timeout=0 lets the copier be silent for longer than standbys may be.
func (p *Server) baseBackup(ctx context.Context, of *Server, into string) error {
	return p.runTool(ctx, "pg_basebackup", append(p.unsynced(),
		"--pgdata="+into, "--checkpoint=fast", "--wal-method=stream",
		"--no-password", "--dbname=application_name="+copierName, "--host="+of.Host,
		"--port="+strconv.Itoa(of.Port), "--username="+of.options.User,
	), "PGOPTIONS=-c wal_sender_timeout=0", "PGPASSWORD="+of.options.Password)
}

// Restore starts a server on a copy of a base backup, and returns when it has reached the backup's
// end or, by the archive, a moment.
func (p *Server) Restore(ctx context.Context, backup, into string, until time.Time) (address string, end func() error, err error) {
	o := p.options
	o.Machine, o.Ports, o.Dir, o.Log, o.Archive = nil, nil, into, "", ""
	// With hot_standby the server would take reads before it has reached its end.
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

// fill copies a base backup into the data folder and configures recovery. It removes all traces of
// who led the server: a library, a standby that commits wait for, or a file beside the data.
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

const archiveBound = time.Minute

// archiveAll returns when the archive holds the whole present log and a later commit, without which
// recovery to a moment fails.
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
