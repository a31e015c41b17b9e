//go:build !unix

package session

import "os/exec"

// Own does nothing: this system has no sessions.
func Own(*exec.Cmd) {}

// End kills the command alone.
func End(cmd *exec.Cmd) error { return cmd.Process.Kill() }
