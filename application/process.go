package application

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
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

// execute runs the command until it ends, or hangs: with a recorder, nothing passed for longer
// than patience.
func (t *trying) execute(ctx context.Context, log string, recorder *wire.Recorder, patience time.Duration) (e ending, err error) {
	file, err := os.Create(log)
	if err != nil {
		return e, err
	}
	reach := t.Product.Reach()
	defer func() { err = errors.Join(err, file.Close(), hide(log, reach)) }()
	listens := t.proxy.Address()
	words := slices.Clone(t.Command)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "{db}", reach.Address(listens))
	}
	cmd := exec.Command(words[0], words[1:]...)
	own := reach.Environment(listens)
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
	}
	endAll(cmd) // what it has left behind
	e.took, e.exit = time.Since(began), cmd.ProcessState.ExitCode()
	if e.exit < 0 && !e.hung {
		e.signal = cmd.ProcessState.String()
	}
	return e, nil
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
