package main

import (
	"fmt"
	"os"
	"syscall"
)

func moreEndingSignals() []os.Signal { return []os.Signal{syscall.SIGSYS, syscall.SIGSTKFLT} }

// becomeRemover replaces this program by one that removes its clusters; it returns only with an
// error. exec ends all threads, and the kernel then kills their servers, so that nothing can
// recreate what is removed.
func becomeRemover() error {
	// The program's file may have been replaced; this is the running one.
	err := syscall.Exec("/proc/self/exe", []string{os.Args[0], "cluster", removeOwn}, os.Environ())
	return fmt.Errorf("start assay cluster %s: %w", removeOwn, err)
}
