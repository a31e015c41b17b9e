package application

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/application/wire"
)

// ending is how the application ended.
type ending struct {
	exit   int
	signal string
	// hung is true if nothing passed for longer than it may, and assay ended it.
	hung bool
	took time.Duration
	// silent is how long nothing had passed, of one that hung.
	silent time.Duration
	// said is the last line that it printed.
	said string
}

// how says it.
func (e ending) how() string {
	switch {
	case e.hung:
		return fmt.Sprintf("was ended by assay after %.0f s in which nothing passed", e.silent.Seconds())
	case e.signal != "":
		return "ended by " + e.signal
	}
	return fmt.Sprintf("ended with %d", e.exit)
}

// told is how it ended, and what it printed last if it failed.
func (e ending) told() string {
	if e.exit == 0 || e.said == "" {
		return e.how()
	}
	return fmt.Sprintf("%s and printed last %q", e.how(), short(redacted(e.said), 120))
}

// mostStill is how long assay may be kept from its work by a busy machine, or by being stopped.
const mostStill = 2 * time.Second

// execute runs the command until it ends, or hangs: with a recorder, nothing passed for longer
// than patience.
func (t *trying) execute(ctx context.Context, log string, recorder *wire.Recorder, patience time.Duration) (e ending, err error) {
	looked := time.Now()
	file, err := os.OpenFile(log, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600) // before hide it may have the password
	if err != nil {
		return e, err
	}
	reach := t.Product.Reach()
	defer func() { err = errors.Join(err, file.Close(), hide(log, reach)) }()
	authority, err := filepath.Abs(t.authority())
	if err != nil {
		return e, err
	}
	listens := t.proxy.Address()
	words := slices.Clone(t.Command)
	for i := range words {
		words[i] = strings.NewReplacer("{db}", reach.Address(listens), "{ca}", authority).Replace(words[i])
	}
	cmd := exec.Command(words[0], words[1:]...)
	own := reach.Environment(listens, authority)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "ASSAY_DB" || slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, name+"=") })
	}), own...)
	cmd.Stdout, cmd.Stderr = file, file
	alone(cmd)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return e, &CommandError{Command: words[0], Err: err}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		case <-ctx.Done():
			endAll(cmd)
			<-ended
			return e, ctx.Err()
		case <-tick.C:
			if recorder != nil && !e.hung && recorder.Silence() > patience {
				e.hung, e.silent = true, recorder.Silence()
				endAll(cmd)
			}
		}
		if still := time.Since(looked); recorder != nil && still > mostStill {
			recorder.Fail(fmt.Errorf("assay itself stood still for %.1f s, in which nothing could pass", still.Seconds()))
		}
		looked = time.Now()
	}
	endAll(cmd) // what it has left behind
	e.took, e.exit = time.Since(began), cmd.ProcessState.ExitCode()
	if e.exit < 0 && !e.hung {
		e.signal = cmd.ProcessState.String()
	}
	if e.said = reach.Hide(lastLine(tail(file))); recorder != nil {
		if _, err := fmt.Fprintf(file, "assay: the application %s\n", e.how()); err != nil {
			recorder.Fail(fmt.Errorf("what the application printed could not be kept, by which it may have failed: %w", err))
		}
	}
	return e, nil
}

// mostSaid is how much of the end of a log is looked at.
const mostSaid = 2000

// tail is the end of a file.
func tail(file *os.File) string {
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	text := make([]byte, min(end, mostSaid))
	n, _ := file.ReadAt(text, end-int64(len(text))) // what cannot be read is not told
	return strings.ToValidUTF8(string(text[:n]), "")
}

// CommandError means that the application's command cannot be run.
type CommandError struct {
	Command string
	Err     error
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("cannot run %s: %v", e.Command, e.Err)
}

func (e *CommandError) Unwrap() error { return e.Err }
