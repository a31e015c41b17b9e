//go:build unix

package fault

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// groupOfItsOwn has the command and what it starts in a process group, which killGroup ends. A
// signal to the terminal's processes does not reach it: that is meant for assay, which then heals.
func groupOfItsOwn(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
