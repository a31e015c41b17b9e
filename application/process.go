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
	"assay/internal/subprocess"
)

// ending is how the application ended.
type ending struct {
	exit   int
	signal string
	// hung is true if assay ended it, since nothing passed for longer than it may, or it took longer.
	hung bool
	took time.Duration
	// silent is how long nothing had passed, of one that hung; mute is true if it hung by that.
	silent time.Duration
	mute   bool
	// said is the last line that it printed.
	said string
}

// how says it.
func (e ending) how() string {
	switch {
	case e.hung && !e.mute:
		return fmt.Sprintf("was ended by assay after %.0f s", e.took.Seconds())
	case e.hung:
		return fmt.Sprintf("was ended by assay after %.0f s in which nothing passed", e.silent.Seconds())
	case e.signal != "":
		return "ended by " + e.signal
	}
	return fmt.Sprintf("ended with %d", e.exit)
}

// leastQuiet is the shortest silence that tells an application that waits from one that tries again for ever.
const leastQuiet = time.Second

// hanging says why it hangs.
func (e ending) hanging() string {
	switch {
	case e.mute:
		return fmt.Sprintf("nothing passed for %.0f s, and it did not end", e.silent.Seconds())
	case e.silent >= leastQuiet:
		return fmt.Sprintf("it had not ended after %.0f s (--time-limit), and nothing had passed for the last %.0f s", e.took.Seconds(), e.silent.Seconds())
	}
	return fmt.Sprintf("it had not ended after %.0f s (--time-limit), and did not fall silent: it tries again for ever, or one of its threads goes on while another hangs", e.took.Seconds())
}

// more is what gives one that hung more time.
func (e ending) more() string {
	if e.mute {
		return "give it more --patience"
	}
	return "give it more by --time-limit"
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

// execute runs the command until it ends, or hangs.
func (t *trying) execute(ctx context.Context, log string, recorder *wire.Recorder, within bounds) (e ending, err error) {
	began := time.Now()
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
	subprocess.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return e, &CommandError{Command: words[0], Err: err}
	}
	if e, err = watch(ctx, cmd, recorder, within, began); err != nil {
		return e, err
	}
	if e.exit = cmd.ProcessState.ExitCode(); e.exit < 0 && !e.hung {
		e.signal = cmd.ProcessState.String()
	}
	e.said = reach.Hide(lastLine(tail(file)))
	if _, err := fmt.Fprintf(file, "assay: it %s\n", e.how()); err != nil {
		recorder.Fail(fmt.Errorf("what the application printed could not be kept, by which it may have failed: %w", err))
	}
	return e, nil
}

// watch waits until a command ends, or ends it, with all that it has started. The time counts for nothing in
// which a silence is excused.
func watch(ctx context.Context, cmd *exec.Cmd, recorder *wire.Recorder, within bounds, began time.Time) (e ending, err error) {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	looked, spent := began, time.Duration(0)
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		case <-ctx.Done():
			_ = subprocess.Kill(cmd)
			<-ended
			return e, ctx.Err()
		case <-tick.C:
		}
		passed := time.Since(looked)
		looked = looked.Add(passed)
		if passed > mostStill {
			recorder.Fail(fmt.Errorf("assay itself stood still for %.1f s, in which nothing could pass", passed.Seconds()))
		}
		if !recorder.Excused() {
			spent += min(passed, mostStill)
		}
		silence := recorder.Silence()
		if done || e.hung || silence <= within.patience && spent <= within.limit {
			continue
		}
		e.hung, e.silent, e.mute = true, silence, silence > within.patience
		_ = subprocess.Kill(cmd)
	}
	_ = subprocess.Kill(cmd) // what it has left behind
	e.took = time.Since(began)
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
