package server

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// SizeOf returns the number of files below a folder and their bytes.
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

// Clear removes the content of a folder and counts it. The node must have ended. The folder stays,
// because it may be a mount point and has an owner.
func Clear(folder string) (files int, bytes int64, err error) {
	files, bytes, err = SizeOf(folder)
	entries, listed := os.ReadDir(folder)
	err = errors.Join(err, listed)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, entry.Name())))
	}
	return files, bytes, err
}

// IsEmpty also reports true if there is no such folder.
func IsEmpty(folder string) bool {
	entries, _ := os.ReadDir(folder)
	return len(entries) == 0
}
