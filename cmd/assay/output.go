package main

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
)

// output is standard output or standard error, whose reader may go away while
// assay works: the pipe is closed (head has its lines), the terminal is gone.
// From then on nobody reads what is written, which is no reason to stop a run
// or to end with another exit code; so it is dropped without an error. Other
// errors, such as a full disk, are returned.
type output struct {
	file *os.File
	// screen, if there is one, is given what is written, to show it above itself.
	screen atomic.Pointer[screen]
}

// descriptor is what tells whether a writer is a terminal, and how wide.
type descriptor interface{ Fd() uintptr }

func (o *output) Fd() uintptr { return o.file.Fd() }

// Write is safe for concurrent use.
func (o *output) Write(p []byte) (int, error) {
	if s := o.screen.Load(); s != nil {
		s.print(string(p))
		return len(p), nil
	}
	n, err := o.file.Write(p)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.EIO) {
		return len(p), nil
	}
	return n, err
}
