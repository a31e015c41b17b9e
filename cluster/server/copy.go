package server

import (
	"context"
	"fmt"
	"os/exec"
)

// Copy copies files and folders into an existing folder with their attributes (cp -a), as the
// node's user on its machine. A path that ends in /. stands for the folder's content.
func (n *Node) Copy(ctx context.Context, to string, from ...string) error {
	program, err := exec.LookPath("cp") // a link is left one: its target may go by its name
	if err != nil {
		return fmt.Errorf("copy to %s: %w", to, err)
	}
	_, err = n.Run(ctx, ProcessOptions{Name: "cp", Program: program, Args: append(append([]string{"-a"}, from...), to)})
	return err
}
