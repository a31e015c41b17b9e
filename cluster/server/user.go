package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// User is a system user that a process can run as.
type User struct {
	Name     string
	UID, GID uint32
}

// Unprivileged returns the first existing user of these names, for a server that refuses to run as
// root. It returns nil, meaning ourselves, if we are not root.
func Unprivileged(names ...string) (*User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range names {
		entry, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(entry.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(entry.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &User{Name: name, UID: uint32(uid), GID: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("none of the users %v exists, and the server refuses to run as root", names)
}

// PrivateDir makes dir, or a temporary folder if dir is empty, readable by the owner alone (nil:
// ourselves), and returns its absolute path. An existing folder must be empty, because it will be
// removed with all its content.
func PrivateDir(dir string, owner *User) (path string, err error) {
	if dir == "" {
		dir, err = os.MkdirTemp("", "assay-")
		if err != nil {
			return "", err
		}
		defer func() {
			if err != nil {
				os.Remove(dir)
			}
		}()
	} else {
		if dir, err = filepath.Abs(dir); err != nil {
			return "", err
		}
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return "", err
		}
		if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
			return "", err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return "", err
		}
		if len(entries) > 0 {
			return "", fmt.Errorf("folder %s is not empty; give a new one", dir)
		}
	}
	if owner == nil {
		return dir, os.Chmod(dir, 0o700)
	}
	if err := os.Chown(dir, int(owner.UID), int(owner.GID)); err != nil {
		return "", err
	}
	return dir, owner.canEnter(filepath.Dir(dir))
}

// canEnter checks a folder and those above. A server would report that far less clearly.
func (u *User) canEnter(dir string) error {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !u.mayEnter(info) {
			return fmt.Errorf("user %s, as whom the server runs, may not enter %s; choose another folder, or run assay as a user other than root", u.Name, dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// MayRun reports whether the user (nil: ourselves) can execute a program. Programs in our home
// folder, such as those in the cache, may be out of reach for others.
func (u *User) MayRun(program string) bool {
	return u == nil || u.canEnter(filepath.Dir(program)) == nil
}

func (u *User) mayEnter(info fs.FileInfo) bool {
	uid, gid, known := ownerOf(info)
	mode := info.Mode().Perm()
	switch {
	case !known:
		return true
	case uid == u.UID:
		return mode&0o100 != 0
	case gid == u.GID:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// Chown gives a file to the user; a nil user does nothing.
func (u *User) Chown(path string) error {
	if u == nil {
		return nil
	}
	return os.Chown(path, int(u.UID), int(u.GID))
}

// WriteFile writes a file that only the user (nil: ourselves) may read, and syncs it, so that a
// server never starts on an incomplete file.
func (u *User) WriteFile(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return u.Chown(path)
}

// Exists reports whether there is such a file or folder.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
