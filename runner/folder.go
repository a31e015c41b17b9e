package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/report"
)

const (
	FileResult      = report.FileResult
	FileReport      = report.FileReport
	FileScenario    = report.FileScenario
	FileEnvironment = report.FileEnvironment
	FileHistory     = "history.bin"
	// fileSQLite ends an embedded database's name, which begins with the workload's.
	fileSQLite = ".sqlite"
)

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

// CreateFolder makes the folder of a run or of a series. An existing folder must be empty.
// Without a path it is runs/<UTC time>-<workload>-<suffix>, where a run's suffix names its
// database. It returns a *FolderError.
func CreateFolder(path string, now time.Time, workload, suffix string) (string, error) {
	if path == "" {
		return createDefaultFolder(now, workload, suffix)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return "", &FolderError{Path: path, Reason: "cannot be made", Err: errors.Unwrap(err)}
	}
	if err := CheckFolder(path); err != nil {
		return "", err
	}
	return path, nil
}

// CheckFolder returns a *FolderError if a path is there and is no empty folder.
func CheckFolder(path string) error {
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return &FolderError{Path: path, Reason: "cannot be read", Err: errors.Unwrap(err)}
	case len(entries) > 0:
		return &FolderError{Path: path, Reason: "is in use (it is not empty)"}
	}
	return nil
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
