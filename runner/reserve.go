package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/disk"

	"assay/history"
	"assay/internal/quantity"
)

// The reserve is space taken in the folder of a run, a series or a study before any work. It is
// freed at the end of the work or when the disk is full, for what is written at the end.
const (
	reserveFolder = "reserve"
	// reserveFiles and reserveBytes are about what a run writes at its end, partial files
	// included.
	reserveFiles = 12
	reserveBytes = 512 << 10
)

func reserve(folder string) error {
	at := filepath.Join(folder, reserveFolder)
	err := os.Mkdir(at, 0o755)
	for i := 0; err == nil && i < reserveFiles; i++ {
		err = writeThrough(filepath.Join(at, fmt.Sprint(i)), make([]byte, reserveBytes/reserveFiles))
	}
	if err == nil {
		return nil
	}
	giveBack(folder)
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		err = inner.Err // the path is said already
	}
	return &FolderError{Path: folder, Reason: "has no room for what is written at the end", Err: err}
}

func giveBack(folder string) { _ = os.RemoveAll(filepath.Join(folder, reserveFolder)) }

// writeThrough writes and syncs a file, so that its space is really taken.
func writeThrough(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

const estimateError = 3

// CreateRoom is CreateFolder with a check that the disk has room for the estimate.
func CreateRoom(path string, now time.Time, workload, suffix string, e Estimate) (folder string, err error) {
	_, missing := os.Stat(path)
	if folder, err = CreateFolder(path, now, workload, suffix); err != nil {
		return "", err
	}
	if err = reserve(folder); err == nil {
		giveBack(folder)
		err = checkRoom(folder, e)
	}
	if err != nil && missing != nil {
		_ = os.Remove(folder) // it is empty
	}
	return folder, err
}

// checkRoom returns a *FolderError if there is no room for a third of the estimate, which may
// be wrong by a factor of three.
func checkRoom(folder string, e Estimate) error {
	on, err := disk.Usage(folder)
	if err != nil || int64(on.Free) >= e.Kept/estimateError { // if free space is unknown, writing will tell
		return nil
	}
	return &FolderError{Path: folder, Err: syscall.ENOSPC,
		Reason: fmt.Sprintf("has room for %s, and what is to be written there takes about %s", quantity.Bytes(int64(on.Free)), quantity.Bytes(e.Kept))}
}

func (r *run) makeRoom() error {
	agents := 0
	if r.options.Agents != nil {
		agents = r.options.Agents.Count
	}
	if err := reserve(r.folder); err != nil {
		return err
	}
	return checkRoom(r.folder, r.scenario.Estimate(agents))
}

// endUnrecorded goes on after the history could not be written. The run has no verdict.
func (r *run) endUnrecorded(ctx context.Context, done *worked, unwritten *history.WriteError) {
	giveBack(r.folder)
	done.stats.Cut, done.unrecorded = true, unwritten
	r.settle(context.WithoutCancel(ctx), done.stats)
	done.inFlight = fmt.Sprintf("what was done at the end is not recorded: %v", unwritten)
	r.options.Progress.Note(done.inFlight)
	r.note(done.inFlight)
}
