package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ProcessID tells a process from a later one with the same id.
type ProcessID struct {
	PID int `json:"pid"`
	// Started is the start in clock ticks since boot (proc(5)); 0 where the
	// system does not report it.
	Started uint64 `json:"started"`
}

// killBound is how long killed processes may take to go: on a busy machine one has to give
// back its memory and its files first.
const killBound = 30 * time.Second

// KillHomed kills all processes whose home, as they were started with, is the
// folder or lies in it. StartProcess gives every server such a home, and what a
// server starts inherits it.
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

// AwaitReaped waits until a process is no longer in the system's list. One that
// was killed stays there until its parent, after our death the system's first
// process, has asked how it ended.
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
