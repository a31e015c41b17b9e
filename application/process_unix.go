//go:build unix

package application

import (
	"os/exec"
	"syscall"
)

// alone gives a command a session of its own, and a process group. It has no terminal there: a client that
// asks for a password fails at once, where a process group in the background would be stopped for ever.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// endAll ends the command and what it has started.
func endAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
