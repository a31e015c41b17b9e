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
	"assay/store/promise"
)

// Product is a database that applications can be tried on.
type Product interface {
	wire.Protocol
	// Reach leads clients to where assay listens.
	Reach() wire.Reach
}

// Counter is a Product that counts rows itself, as Plan.Count does.
type Counter interface {
	Count(ctx context.Context, queries []string) ([]int64, error)
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
	// Count counts rows by queries; nil where there is no way.
	Count func(context.Context, []string) ([]int64, error)
	// Servers are of assay's own, at which real faults strike; nil where there are none.
	Servers *Servers
	// Reset is a command of the shell's that is run before each run of the application.
	Reset string
	// Tries bounds how many events are tried; Event is the only one, if it is given.
	Tries int
	Event string
	// Patience is how long nothing may pass before the application hangs, and TimeLimit how long a run of it,
	// Reset and a look at the database may take; 0 leaves that to each (see trying.bounds and Plan.aside).
	Patience, TimeLimit time.Duration
	// Late are how late answers come.
	Late []time.Duration
	Seed uint64
	// MustSurvive has a try be violated in which the application stops.
	MustSurvive bool
	// Folder is where files go, and Progress what is told while it goes on.
	Folder   string
	Progress func(string)
	// Again are assay's own words of the command line, without --event and --fault, before -- and Command.
	Again []string
}

// ErrNever means that the application has opened no connection, or has asked nothing over any.
type ErrNever struct {
	Listened, Ended, Log string
	Connections          int
	Variables            []string
}

// never is nil of an application that has asked something.
func (t *trying) never(r *run) error {
	if len(r.recorder.Places()) > 1 || r.problem != nil { // a connection is a place
		return nil
	}
	return &ErrNever{t.proxy.Address(), r.told(), filepath.Join(t.Folder, r.log), r.recorder.Connections(), t.Product.Reach().Names()}
}

func (e *ErrNever) Error() string {
	did := "opened no connection"
	if e.Connections > 0 {
		did = "sent nothing over " + check.Counted(e.Connections, "connection", "connections")
	}
	return fmt.Sprintf("the application %s (%s; %s has what it printed): assay listened on %s, and gave the address as {db} in the arguments, and by %s",
		did, e.Ended, e.Log, e.Listened, strings.Join(e.Variables, ", "))
}

// trying is what goes on.
type trying struct {
	Plan
	proxy *wire.Proxy // of the run that goes on, or went on last
	base  *baseline
	// broken are the rules that did not hold when it was last looked; nil if that is not known.
	broken map[string]string
	number int
}

// Run carries out a plan. A Report that is cut short by ctx is returned with the error.
func Run(ctx context.Context, p Plan) (r *Report, err error) {
	t := &trying{Plan: p}
	r = &Report{Command: redactedWords(p.Command), Database: p.Database, Seed: p.Seed, Patience: p.Patience.Seconds(), Rules: p.RuleNames}
	p.Progress("running the application untouched, to learn what it does")
	first, err := t.once(ctx, nil)
	if err != nil {
		return nil, err
	}
	r.own, r.Again = p.again()
	r.Product = p.Product.Reach().Product // which the server has said by now
	if err := t.never(first); err != nil {
		return nil, err
	}
	t.base = learn(first)
	r.Limit = t.bounds(0).limit.Seconds()
	r.Untouched = t.base.describe()
	r.Tries = append(r.Tries, t.base.judgeUntouched(first))
	if r.Tries[0].stops() {
		return r.finish(), nil
	}
	if second, err := t.once(ctx, nil); err != nil {
		return nil, err
	} else if t.base.confirm(second); !t.base.steady {
		r.Notes = append(r.Notes, "two untouched runs did not commit the same transactions: assay does not count on how many there are to be")
	}
	tries, err := t.attempts(ctx, r)
	if err != nil {
		return nil, err
	}
	for i, one := range tries {
		p.Progress(fmt.Sprintf("try %d of %d: %s", i+1, len(tries), one))
		run, err := one.run(ctx, t)
		if err != nil {
			return r.finish(), err
		}
		try := t.base.judge(run, p.MustSurvive)
		try.Log = run.log
		r.Tries = append(r.Tries, try)
	}
	return r.finish(), nil
}

// listen opens the proxy of the next run, with the certificate of the one before.
func (t *trying) listen() (err error) {
	const address = "127.0.0.1:0"
	if t.proxy != nil {
		t.proxy, err = t.proxy.Again(address)
		return err
	}
	if t.proxy, err = wire.Listen(address, t.Product); err != nil {
		return err
	}
	if err := os.WriteFile(t.authority(), t.proxy.Authority(), 0o644); err != nil {
		return errors.Join(err, t.proxy.Close())
	}
	return nil
}

// authority is the file that an encrypted application trusts.
func (p Plan) authority() string { return filepath.Join(p.Folder, "ca.pem") }

// attempt is one thing that is tried.
type attempt interface {
	fmt.Stringer
	// run runs the application with it.
	run(ctx context.Context, t *trying) (*run, error)
}

// event is one of the wire's.
type event struct{ *wire.Fault }

func (e event) run(ctx context.Context, t *trying) (*run, error) {
	r, err := t.once(ctx, e.Fault)
	if err != nil {
		return nil, err
	}
	r.moment = moment{event: e.String(), action: e.Action, name: e.Place, place: t.base.place(e.Place)}
	if r.met, r.connection = e.Met(); r.met == 0 {
		r.missed = "the application did not come to this place so often again"
		if e.Action.Replaces() && slices.ContainsFunc(t.base.places, func(p *wire.Place) bool { return p.Name == e.Place && p.Parted }) {
			r.missed = "the application sends this in parts, and the server has the first of them before assay could give an error in its place"
		}
	}
	return r, nil
}

// attempts are what is tried.
func (t *trying) attempts(ctx context.Context, r *Report) (all []attempt, err error) {
	switch {
	case t.Servers != nil && len(t.Servers.Faults) > 0:
		return t.Servers.attempts(ctx)
	case t.Event != "":
		f, err := wire.ParseFault(t.Event)
		if err != nil {
			return nil, err
		}
		for _, p := range t.base.places {
			if p.Name == f.Place && !t.Product.Possible(f.Action, p) {
				return nil, &wire.PlaceError{Action: f.Action, Place: f.Place}
			}
		}
		return []attempt{event{f}}, nil
	}
	for _, f := range choose(t.base.places, t.Seed, t.Late, t.Product.Possible) {
		all = append(all, event{f})
	}
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
	moment
	// all are the transactions, with what the database shows of those whose end nobody was told;
	// left were more than are kept. rows are those that were looked for, by the statements looked.
	all    []*wire.Transaction
	left   int
	rows   []*sought
	looked []string
}

// moment is what was done to the application, and when; met is 0 where missed says why it was not.
type moment struct {
	event      string
	action     wire.Action
	name       string // of the place; empty where the servers met it
	place      []string
	met        time.Duration
	connection int
	missed     string
	// ruling is what the database promises of transactions that are lost; nil where nothing was done
	// to it.
	ruling func(lost []loss) promise.Ruling
}

// settleTime bounds how long the server may take for what has reached it.
const settleTime = 30 * time.Second

// once runs the application with an event of the wire's.
func (t *trying) once(ctx context.Context, f *wire.Fault) (*run, error) {
	return t.around(ctx, f, func(*run) {}, func(context.Context, *run) error { return nil })
}

// around resets the database, runs the application, and looks at the rules. start is called
// before the application starts, and healed once it has ended. An error is one that ends it all.
func (t *trying) around(ctx context.Context, f *wire.Fault, start func(*run), healed func(context.Context, *run) error) (r *run, err error) {
	// A process that the application leaves behind reaches no later run.
	if err := t.listen(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.proxy.Close()) }()
	if err := t.reset(ctx); err != nil {
		return nil, err
	}
	r = &run{before: t.broken}
	if t.Rules != nil && (t.Reset != "" || t.broken == nil) {
		if r.before, err = t.brokenRules(ctx); err != nil {
			return nil, err
		}
	}
	t.number++
	name := fmt.Sprintf("run-%03d", t.number)
	r.log = name + ".log"
	r.recorder = t.proxy.Record(f)
	start(r)
	r.ending, err = t.execute(ctx, filepath.Join(t.Folder, r.log), r.recorder, t.bounds(f.Lasts()))
	if err = errors.Join(err, healed(ctx, r)); err != nil {
		return nil, err
	}
	settling, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	r.problem = errors.Join(r.problem, t.proxy.Leave(settling), r.recorder.Problem())
	r.all, r.left = r.recorder.Transactions()
	r.all = slices.Clone(r.all)
	if t.Rules != nil && ctx.Err() == nil {
		if t.broken, err = t.brokenRules(ctx); err != nil {
			r.problem = errors.Join(r.problem, fmt.Errorf("the invariants could not be looked at: %w", err))
			t.broken = nil // what they say now is not the next event's doing
		}
		r.after = t.broken
	}
	t.look(ctx, r)
	r.problem = errors.Join(r.problem, keep(filepath.Join(t.Folder, name+".jsonl"), r.recorder), t.keepHistory(name+".edn", r))
	return r, ctx.Err()
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// keep writes the transactions that were recorded.
func keep(path string, recorder *wire.Recorder) (err error) {
	file, err := os.Create(path)
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
