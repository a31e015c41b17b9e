package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/history"
	"assay/report"
)

// The files of a run's folder.
const (
	FileResult      = report.FileResult
	FileReport      = report.FileReport
	FileScenario    = report.FileScenario
	FileEnvironment = report.FileEnvironment
	FileHistory     = "history.bin"
	// fileSQLite ends the name of an embedded database, which begins with the
	// workload.
	fileSQLite = ".sqlite"
)

// FolderError means that the folder of a run or of a series cannot be used.
type FolderError struct {
	Path   string
	Reason string
	Err    error
}

func (e *FolderError) Error() string {
	cause := ""
	if e.Err != nil {
		cause = ": " + e.Err.Error()
	}
	return fmt.Sprintf("folder %s %s%s; choose another --out", e.Path, e.Reason, cause)
}

func (e *FolderError) Unwrap() error { return e.Err }

// CreateFolder makes the folder of a run or of a series. One that exists must be
// empty. Without a path it is runs/<UTC time>-<workload>-<suffix>; the suffix of a run
// is its database. It returns a *FolderError.
func CreateFolder(path string, now time.Time, workload, suffix string) (string, error) {
	if path == "" {
		return createDefaultFolder(now, workload, suffix)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return "", &FolderError{Path: path, Reason: "cannot be made", Err: errors.Unwrap(err)}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", &FolderError{Path: path, Reason: "cannot be read", Err: errors.Unwrap(err)}
	}
	if len(entries) > 0 {
		return "", &FolderError{Path: path, Reason: "is in use (it is not empty)"}
	}
	return path, nil
}

func createDefaultFolder(now time.Time, workload, suffix string) (string, error) {
	const parent = "runs"
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", &FolderError{Path: parent, Reason: "cannot be made", Err: errors.Unwrap(err)}
	}
	base := filepath.Join(parent, strings.Join([]string{now.UTC().Format("20060102T150405Z"), workload, suffix}, "-"))
	path := base
	for n := 2; ; n++ {
		err := os.Mkdir(path, 0o755)
		switch {
		case err == nil:
			return path, nil
		case !errors.Is(err, os.ErrExist) || n > 1000:
			return "", &FolderError{Path: path, Reason: "cannot be made", Err: errors.Unwrap(err)}
		}
		path = fmt.Sprintf("%s-%d", base, n)
	}
}

// WriteFile writes a whole file or none, so that a reader never sees half. It returns
// a *history.WriteError.
func WriteFile(path string, data []byte) error {
	partial := path + ".partial"
	if err := os.WriteFile(partial, data, 0o644); err != nil {
		_ = os.Remove(partial) // what matters is the error at hand
		return &history.WriteError{Path: path, Err: err}
	}
	if err := os.Rename(partial, path); err != nil {
		return &history.WriteError{Path: path, Err: err}
	}
	return nil
}

// WriteJSON writes a value as a file of indented JSON, as WriteFile does. what names it in
// an error.
func WriteJSON(path, what string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return WriteFile(path, append(text, '\n'))
}

// copyFile copies a file that may be large.
func copyFile(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
