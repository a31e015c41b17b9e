//go:build !unix

package application

import "os/exec"

func alone(*exec.Cmd) {}

// endAll ends the command alone.
func endAll(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
