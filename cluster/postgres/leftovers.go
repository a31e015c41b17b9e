package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assay/cluster/server"
)

// Clear removes the shared memory of killed servers with data below folder: it starts each again on
// loopback and ends it. Unfinished data (initdb) cannot be started; its segment is removed by its
// number.
func Clear(ctx context.Context, folder string) error {
	return clearBelow(ctx, folder, "nodes/data", "nodes/*/data", restoredData, "disks/*/*/*/data")
}

// ClearRestored is Clear for restored servers alone. It is for products whose other servers run
// apart, so that their shared memory ends with them.
func ClearRestored(ctx context.Context, folder string) error {
	return clearBelow(ctx, folder, restoredData)
}

const restoredData = "backups/*/data"

func clearBelow(ctx context.Context, folder string, data ...string) error {
	var left []string
	for _, pattern := range data {
		found, err := filepath.Glob(filepath.Join(folder, pattern, "postmaster.pid"))
		if err != nil {
			return err
		}
		left = append(left, found...)
	}
	var failed []error
	for _, file := range left {
		failed = append(failed, clearLocked(ctx, file))
	}
	return errors.Join(failed...)
}

// clearLocked removes the shared memory of the server that left this lock file, if there is one.
func clearLocked(ctx context.Context, file string) error {
	lock, err := readLockFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case lock.pid < 0:
		return removeSegment(lock.shmKey, lock.shmID)
	}
	err = clearOne(ctx, filepath.Dir(filepath.Dir(file)), lock.pid)
	if err != nil && lock.shmID != 0 { // its disk takes no writes any more
		return removeSegment(lock.shmKey, lock.shmID)
	}
	return err
}

// lockFile is the content of a server's lock file (pidfile.h of PostgreSQL).
type lockFile struct {
	pid int // negative of a server without clients, such as initdb starts
	// Of its shared memory (shmctl(2)); 0 before it has any.
	shmKey uint64
	shmID  int
}

func readLockFile(file string) (lockFile, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return lockFile{}, err
	}
	var lock lockFile
	lines := strings.Split(string(text), "\n")
	if lock.pid, err = strconv.Atoi(strings.TrimSpace(lines[0])); err != nil {
		return lockFile{}, nil // PostgreSQL says what is wrong with it
	}
	const lineOfMemory = 7
	if len(lines) >= lineOfMemory {
		_, _ = fmt.Sscan(lines[lineOfMemory-1], &lock.shmKey, &lock.shmID) // empty, or whole
	}
	return lock, nil
}

func clearOne(ctx context.Context, dir string, pid int) error {
	programs, err := FindPrograms("")
	if err != nil {
		return fmt.Errorf("clear away what a killed server left: %w", err)
	}
	p := &Server{programs: programs, options: Options{User: "assay"}, Node: &server.Node{
		Name: "a killed PostgreSQL", Host: "127.0.0.1", Dir: dir, Log: filepath.Join(dir, "clear.log")}}
	if p.Port, err = new(server.Ports).Next(); err != nil {
		return err
	}
	if p.User, err = server.Unprivileged("postgres", "nobody"); err != nil {
		return err
	}
	// PostgreSQL takes an ended process that is not yet reaped for a running server.
	if err := server.AwaitReaped(ctx, pid); err != nil {
		return err
	}
	if err = p.start(ctx, stateAnswers); err != nil {
		err = fmt.Errorf("clear away what a killed server left: %w", err)
	}
	if process := p.Process(); process != nil {
		if stopped := process.Stop(ctx); stopped != nil {
			return errors.Join(err, stopped)
		}
	}
	return errors.Join(err, os.RemoveAll(dir))
}
