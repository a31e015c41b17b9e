//go:build !linux

package server

import (
	"os/exec"

	"assay/cluster/machine"
)

func setApart(*exec.Cmd, ProcessOptions) error {
	return &machine.UnsupportedError{What: "a process apart from all others", Reason: "only Linux can do it"}
}
