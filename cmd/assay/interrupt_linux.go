package main

import (
	"fmt"
	"os"
	"syscall"
)

func moreEndingSignals() []os.Signal { return []os.Signal{syscall.SIGSYS, syscall.SIGSTKFLT} }

// becomeRemover replaces this program, as it stands, by one that takes its
// clusters away; it returns only with an error. All threads end with the
// replacement, and the kernel kills their servers, so that nothing is at work
// that could make what has just been removed.
func becomeRemover() error {
	// The file may have been replaced since; this is the one that runs.
	err := syscall.Exec("/proc/self/exe", []string{os.Args[0], "cluster", removeOwn}, os.Environ())
	return fmt.Errorf("start assay cluster %s: %w", removeOwn, err)
}
