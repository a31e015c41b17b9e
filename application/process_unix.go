//go:build unix

package application

import (
	"os/exec"
	"syscall"
)

// alone gives a command a process group of its own.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endAll ends the command and what it has started.
func endAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
