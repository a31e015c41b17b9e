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

// output is standard output or standard error. Its reader may go away: head has its lines, the
// terminal is closed. Then output drops all writes without an error, so that the run goes on and
// its exit code stays. It returns other errors, such as a full disk.
type output struct {
	file *os.File
	// screen, if set, shows above itself what is written.
	screen atomic.Pointer[screen]
}

// descriptor tells whether a writer is a terminal, and how wide.
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

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

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

// printing names what could not be printed; nil of nil.
func printing(noun string, err error) error {
	if err != nil {
		return fmt.Errorf("print the %s: %w", noun, err)
	}
	return nil
}

// print prints what was found, named by noun, in the chosen form.
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
	return printing(noun, err)
}
