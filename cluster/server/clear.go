package server

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// SizeOf is how many files are below a folder, and how many bytes they have.
func SizeOf(folder string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			files++
			bytes += info.Size()
		}
		return err
	})
	return files, bytes, err
}

// Clear removes all that is in a folder of a node that has ended, and counts what it removes. The
// folder stays: it may be where a disk is mounted, and has its owner.
func Clear(folder string) (files int, bytes int64, err error) {
	files, bytes, err = SizeOf(folder)
	entries, listed := os.ReadDir(folder)
	err = errors.Join(err, listed)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, entry.Name())))
	}
	return files, bytes, err
}

// IsEmpty reports whether nothing is in a folder, or there is none.
func IsEmpty(folder string) bool {
	entries, _ := os.ReadDir(folder)
	return len(entries) == 0
}
