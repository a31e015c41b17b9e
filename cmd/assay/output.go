package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/spf13/pflag"
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

// printJSON prints a value as indented JSON.
func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// tableFlags are the flags of commands that print a table of what they found.
type tableFlags struct{ json, markdown, quiet bool }

func (f *tableFlags) add(flags *pflag.FlagSet, jsonUsage, markdownUsage string) {
	flags.BoolVar(&f.json, "json", false, jsonUsage)
	flags.BoolVar(&f.markdown, "markdown", false, markdownUsage)
	flags.BoolVar(&f.quiet, "quiet", false, "no progress")
}

func (f *tableFlags) validate() error {
	if f.json && f.markdown {
		return usageError{errors.New("--json and --markdown exclude each other")}
	}
	return nil
}

// print prints what was found, which noun names, in the form that was asked for.
func (f *tableFlags) print(out io.Writer, noun string, found any, markdown, text func() string) error {
	var err error
	switch {
	case f.json:
		err = printJSON(out, found)
	case f.markdown:
		_, err = io.WriteString(out, markdown())
	default:
		_, err = io.WriteString(out, text())
	}
	if err != nil {
		return fmt.Errorf("print the %s: %w", noun, err)
	}
	return nil
}
