//go:build unix

package session

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Own gives a command a session of its own, which it takes at its start.
func Own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// End kills the command and what it has started, except what made a process group of its own. If
// nothing is left of them the error is os.ErrProcessDone.
func End(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
