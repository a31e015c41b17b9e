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

// sameInterrupt is how long a further signal is the first one's echo: timeout(1),
// make and terminals send one to a program and to its group, and it comes twice.
const sameInterrupt = 500 * time.Millisecond

// interruptible returns a context that ends with the first signal that asks the
// program to end, so that a run can end in order. The second one leaves at once.
func interruptible(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endingSignals()...)
	// A write to a closed pipe is an error (see output) and not the end of the
	// program, which is what happens on standard output and standard error
	// while nobody is notified. Nothing reads the channel.
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

// endingSignals are those that end a program unless it does something about
// them. SIGKILL cannot be caught. A hangup that is ignored (nohup) stays so.
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

// leave ends the program at once. If it has started servers, it becomes a
// program that takes them away first.
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

// removeBound is how long it may take to take servers away.
const removeBound = 30 * time.Second

// newClusterRemoveOwn is what assay becomes when it leaves at once; it is not
// for people.
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
