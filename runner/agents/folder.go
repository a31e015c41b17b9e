package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// storePrefix begins the names of embedded engines' folders in the system's temporary folder.
const storePrefix = "assay-engine-"

// fileOwner is a file in such a folder that its process keeps locked while it lives.
const fileOwner = "owner"

type folder struct {
	path  string
	owner *os.File
}

func newFolder() (*folder, error) {
	path, err := os.MkdirTemp("", storePrefix)
	if err != nil {
		return nil, fmt.Errorf("make a folder for the engine: %w", err)
	}
	owner, err := os.OpenFile(filepath.Join(path, fileOwner), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		err = lock(owner)
	}
	s := &folder{path: path, owner: owner}
	if err != nil {
		s.remove()
		return nil, fmt.Errorf("lock the folder of the engine: %w", err)
	}
	return s, nil
}

func (s *folder) data() string { return filepath.Join(s.path, "data") }

func (s *folder) remove() {
	if s.owner != nil {
		_ = s.owner.Close() // ends the lock
	}
	_ = os.RemoveAll(s.path) // of a temporary folder
}

// RemoveRemains removes the folders of embedded engines whose processes are gone, and returns
// them. It leaves folders that are or may be in use.
func RemoveRemains() (removed []string, err error) {
	found, err := filepath.Glob(filepath.Join(os.TempDir(), storePrefix+"*"))
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, folder := range found {
		owner, err := os.OpenFile(filepath.Join(folder, fileOwner), os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // it is being made or removed, or another user's
		}
		if err == nil {
			err = lock(owner)
			if errors.Is(err, errLocked) {
				_ = owner.Close()
				continue
			}
			err = errors.Join(err, os.RemoveAll(folder), owner.Close())
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("remove what an engine left: %w", err))
			continue
		}
		removed = append(removed, folder)
	}
	return removed, errors.Join(failed...)
}

var errLocked = errors.New("another process has locked it")
