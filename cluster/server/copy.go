package server

import (
	"context"
	"fmt"
	"os/exec"
)

// Copy copies files, and folders with all that is in them, into a folder that is there, as
// they are (cp -a), by a process of the node's user on its machine. A folder whose path ends
// in /. is its content.
func (n *Node) Copy(ctx context.Context, to string, from ...string) error {
	program, err := exec.LookPath("cp") // a link is left one: its target may go by its name
	if err != nil {
		return fmt.Errorf("copy to %s: %w", to, err)
	}
	_, err = n.Run(ctx, ProcessOptions{Name: "cp", Program: program, Args: append(append([]string{"-a"}, from...), to)})
	return err
}
