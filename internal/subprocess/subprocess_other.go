//go:build !unix

package subprocess

import "os/exec"

// Detach does nothing: this system has no sessions.
func Detach(*exec.Cmd) {}

// Kill ends the command alone.
func Kill(cmd *exec.Cmd) error { return cmd.Process.Kill() }
