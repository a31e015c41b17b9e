//go:build linux || darwin

package agents

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file until it is closed or the process ends. It returns errLocked if another
// process has the lock.
func lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
