// Package application has a user's own application be the client: it runs it against its
// database with assay between the two, learns what it sends, and runs it again for each moment
// that means something, at which the database or the network fails. It judges what came of that.
//
// Only the application changes its database. It must not know how runs of workloads go.
package application

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/application/wire"
	"assay/check"
)

// Product is a database that applications can be tried on.
type Product interface {
	wire.Protocol
	// Name is what it is called.
	Name() string
	// Reach leads clients to where assay listens.
	Reach() wire.Reach
}

// Plan is what is tried.
type Plan struct {
	Command []string
	Product Product
	// Database is its address without a password.
	Database string
	// Rules says which of the user's invariants do not hold; nil where none were given. RuleNames
	// are what they are called.
	Rules     func(context.Context) (map[string]string, error)
	RuleNames []string
	// Reset is a command of the shell's that is run before each run of the application.
	Reset string
	// Tries bounds how many events are tried; Event is the only one, if it is given.
	Tries int
	Event string
	// Patience is how long nothing may pass before the application hangs.
	Patience time.Duration
	// Late are how late answers come.
	Late []time.Duration
	Seed uint64
	// MustSurvive has a try be violated in which the application stops.
	MustSurvive bool
	// Folder is where files go, and Progress what is told while it goes on.
	Folder   string
	Progress func(string)
	// Again is the command line without --event.
	Again string
}

// ErrNever means that the application has opened no connection.
type ErrNever struct{ Listened, Ended string }

func (e *ErrNever) Error() string {
	return fmt.Sprintf("the application opened no connection (%s): assay listened on %s, and gave the address as DATABASE_URL, PGHOST and PGPORT, and as {db} in the arguments", e.Ended, e.Listened)
}

// trying is what goes on.
type trying struct {
	Plan
	proxy *wire.Proxy
	base  *baseline
	// broken are the rules that did not hold when it was last looked.
	broken map[string]string
	number int
}

// Run carries out a plan. A Report that is cut short by ctx is returned with the error.
func Run(ctx context.Context, p Plan) (r *Report, err error) {
	proxy, err := wire.Listen("127.0.0.1:0", p.Product)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, proxy.Close()) }()
	t := &trying{Plan: p, proxy: proxy}
	r = &Report{Command: redactedWords(p.Command), Database: p.Database, Product: p.Product.Name(), Seed: p.Seed, Patience: p.Patience.Seconds(), Again: redacted(p.Again), Rules: p.RuleNames}
	p.Progress("running the application untouched, to learn what it does")
	first, err := t.once(ctx, nil)
	if err != nil {
		return nil, err
	}
	if first.recorder.Connections() == 0 && first.problem == nil {
		return nil, &ErrNever{proxy.Address(), first.how()}
	}
	t.base = learn(first)
	r.Untouched = t.base.describe()
	r.Tries = append(r.Tries, t.base.judgeUntouched(first))
	if r.Tries[0].stops() {
		return r.finish(), nil
	}
	if second, err := t.once(ctx, nil); err != nil {
		return nil, err
	} else if t.base.steady = t.base.same(second); !t.base.steady {
		r.Notes = append(r.Notes, "two untouched runs did not commit the same transactions: assay does not count on how many there are to be")
	}
	faults, err := t.faults(r)
	if err != nil {
		return nil, err
	}
	for i, f := range faults {
		p.Progress(fmt.Sprintf("try %d of %d: %s", i+1, len(faults), f))
		run, err := t.once(ctx, f)
		if err != nil {
			return r.finish(), err
		}
		try := t.base.judge(run, f, p.MustSurvive)
		try.Log = run.log
		r.Tries = append(r.Tries, try)
	}
	return r.finish(), nil
}

// faults are what is tried.
func (t *trying) faults(r *Report) ([]*wire.Fault, error) {
	if t.Event != "" {
		f, err := wire.ParseFault(t.Event)
		return []*wire.Fault{f}, err
	}
	all := choose(t.base.places, t.Seed, t.Late)
	r.Possible = len(all)
	if len(all) > t.Tries {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d events were tried; --tries %d tries all", t.Tries, len(all), len(all)))
		all = all[:t.Tries]
	}
	return all, nil
}

// run is the application having run once.
type run struct {
	recorder *wire.Recorder
	ending
	// before and after are the rules that did not hold.
	before, after map[string]string
	// problem is why nothing can be concluded.
	problem error
	log     string
}

// settleTime bounds how long the server may take for what has reached it.
const settleTime = 30 * time.Second

// once resets the database, runs the application, and looks at the rules. An error is one that
// ends it all.
func (t *trying) once(ctx context.Context, f *wire.Fault) (*run, error) {
	if err := t.reset(ctx); err != nil {
		return nil, err
	}
	r := &run{before: t.broken}
	var err error
	if t.Rules != nil && (t.Reset != "" || t.number == 0) {
		if r.before, err = t.Rules(ctx); err != nil {
			return nil, err
		}
	}
	t.number++
	name := fmt.Sprintf("run-%03d", t.number)
	r.log = name + ".log"
	r.recorder = t.proxy.Record(f)
	patience := t.Patience
	if t.base != nil {
		patience = max(patience, 3*t.base.longest)
	}
	if r.ending, err = t.execute(ctx, filepath.Join(t.Folder, r.log), r.recorder, patience); err != nil {
		return nil, err
	}
	settling, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	r.problem = errors.Join(t.proxy.Quiet(settling), r.recorder.Problem())
	if t.Rules != nil && ctx.Err() == nil {
		if r.after, err = t.Rules(ctx); err != nil {
			r.problem = errors.Join(r.problem, fmt.Errorf("the invariants could not be looked at: %w", err))
		}
		t.broken = r.after
	}
	return r, errors.Join(ctx.Err(), t.keep(name+".jsonl", r.recorder))
}

// reset has the user's command bring the database back.
func (t *trying) reset(ctx context.Context) error {
	if t.Reset == "" {
		return nil
	}
	t.proxy.Record(nil)
	log := filepath.Join(t.Folder, "reset.log")
	plan := t.Plan
	plan.Command = []string{"sh", "-c", t.Reset}
	own := &trying{Plan: plan, proxy: t.proxy}
	end, err := own.execute(ctx, log, nil, 0)
	if err == nil && end.exit != 0 {
		text, _ := os.ReadFile(log)
		err = &ResetError{Command: t.Reset, How: end.how(), Said: lastLine(string(text))}
	}
	if err != nil {
		return err
	}
	settling, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	return t.proxy.Quiet(settling)
}

// ResetError means that the user's command to reset the database failed.
type ResetError struct{ Command, How, Said string }

func (e *ResetError) Error() string {
	return fmt.Sprintf("--reset %q %s: %s", redacted(e.Command), e.How, e.Said)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// keep writes the transactions that were recorded.
func (t *trying) keep(name string, recorder *wire.Recorder) (err error) {
	file, err := os.Create(filepath.Join(t.Folder, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	all, _ := recorder.Transactions()
	to := json.NewEncoder(file)
	for _, x := range all {
		if err := to.Encode(x); err != nil {
			return err
		}
	}
	return nil
}

// hide takes the password out of what the application has printed.
func hide(path string, reach wire.Reach) error {
	text, err := os.ReadFile(path)
	if hidden := reach.Hide(string(text)); err == nil && hidden != string(text) {
		err = os.WriteFile(path, []byte(hidden), 0o644)
	}
	return err
}

// Verdict is the gravest of all tries'.
func (r *Report) Verdict() check.Verdict {
	verdict := check.Valid
	for _, v := range []check.Verdict{check.Allowed, check.Unknown, check.Violated} {
		if slices.ContainsFunc(r.Tries, func(t Try) bool { return t.Verdict == v }) {
			verdict = v
		}
	}
	if len(r.Tries) < 2 && verdict != check.Violated {
		return check.Unknown // nothing was tried
	}
	return verdict
}

// Write writes the report as JSON.
func (r *Report) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
