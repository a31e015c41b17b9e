//go:build !unix

package fault

import "os/exec"

func groupOfItsOwn(*exec.Cmd) {}

// killGroup ends the command alone.
func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
