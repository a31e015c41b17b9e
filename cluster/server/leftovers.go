package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"assay/internal/procfs"
)

// ProcessID tells a process from a later one with the same id.
type ProcessID = procfs.ID

// Identify adds the start to a process's id.
func Identify(pid int) ProcessID { return procfs.Identify(pid) }

// killBound is generous: on a busy machine a killed process first gives back memory and files.
const killBound = 30 * time.Second

// KillHomed kills all processes whose HOME at their start was the folder or lies below it.
// StartProcess gives every server such a HOME, and the server's children inherit it.
func KillHomed(ctx context.Context, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, killBound)
	defer cancel()
	return Until(ctx, 20*time.Millisecond, "the end of killed processes", func(context.Context) error {
		left, err := homed(folder)
		if err != nil {
			return Permanent(err)
		}
		if len(left) == 0 {
			return nil
		}
		for _, pid := range left {
			if process, err := os.FindProcess(pid); err == nil {
				_ = process.Kill() // one that has just ended is as well
			}
		}
		return fmt.Errorf("processes %v are still there", left)
	})
}

// AwaitReaped waits until a process has left the system's list. A killed process stays there until
// its parent has asked for its status; after our death the parent is the system's first process.
func AwaitReaped(ctx context.Context, pid int) error {
	if pid <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, killBound)
	defer cancel()
	return Until(ctx, 20*time.Millisecond, "the end of a killed process", func(context.Context) error {
		process, err := os.FindProcess(pid)
		if err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			return nil
		}
		return fmt.Errorf("process %d is still there", pid)
	})
}
