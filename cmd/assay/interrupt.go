package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"assay/cluster"
)

// sameInterrupt is how long a further signal is an echo of the first. timeout(1), make and
// terminals signal both a program and its group, so that it comes twice.
const sameInterrupt = 500 * time.Millisecond

// interruptible returns a context that ends with the first signal, so that a run can end in
// order. The second signal leaves at once.
func interruptible(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endingSignals()...)
	// Without a handler, a write to a closed pipe on standard output or standard error ends the
	// program (see output). Nothing reads the channel.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		cancel() // before anything that could block
		fmt.Fprintln(stderr, "\nassay: ending in order; once more to leave at once")
		echoes := time.After(sameInterrupt)
		for {
			select {
			case <-echoes:
				echoes = nil
			case _, ok := <-signals:
				if !ok {
					return
				}
				if echoes == nil {
					leave(stderr)
				}
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}

// endingSignals end a program by default. A hangup ignored by nohup stays ignored.
func endingSignals() []os.Signal {
	all := append([]os.Signal{
		os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGABRT,
		syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, // if somebody sends them
	}, moreEndingSignals()...)
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// leave ends the program. If it has started servers, it becomes a program that removes them.
func leave(stderr io.Writer) {
	records, err := cluster.Records()
	for _, r := range records {
		if r.Own() {
			err = becomeRemover()
			break
		}
	}
	if err != nil {
		fmt.Fprintf(stderr, "assay: what this assay has started may be left: %v; assay cluster status says\n", err)
	}
	os.Exit(exitInterrupted)
}

const removeBound = 30 * time.Second

// newClusterRemoveOwn is what leave becomes; it is not for people.
func newClusterRemoveOwn() *cobra.Command {
	return &cobra.Command{
		Use: removeOwn, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), removeBound)
			defer cancel()
			if err := cluster.RemoveOwn(ctx); err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "assay: %v\n", err)
			}
			return resultError{exitInterrupted}
		},
	}
}

const removeOwn = "remove-own"
