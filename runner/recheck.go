package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/check"
	"assay/history"
	"assay/internal/wait"
	"assay/report"
	"assay/runner/agents"
	"assay/runner/figures"
	"assay/runner/lease"
	"assay/runner/open"
	"assay/runner/readback"
	"assay/store"
	"assay/workload/definition"
)

// RecheckOptions says how Recheck judges a saved run.
type RecheckOptions struct {
	Version string
	// Database is the database's address; empty means the address in the scenario.
	Database string
	// Again reads the database even if the folder holds its state.
	Again bool
	// Model is the consistency model for a run of workload isolation; empty means the
	// run's own.
	Model    string
	Progress Progress
	// Engine may hold more of the agents' histories; nil for none.
	Engine       *agents.Engine
	StallTimeout time.Duration
}

// Recheck judges a saved run from its folder. If the state was not read back, Recheck reads the
// database if it still holds this run. It returns a *report.InputError if the folder holds
// no run.
//
// It writes the result unless that would lose an answer. A judgement against another model, or
// with fewer decided checks than the folder's, is returned with a note and not written.
func Recheck(ctx context.Context, folder string, o RecheckOptions) (Outcome, error) {
	s, r, err := readRun(folder)
	if err != nil {
		return Outcome{}, err
	}
	if err := mergeAgain(ctx, folder, r, o.Engine); err != nil {
		return Outcome{}, err
	}
	end, err := readEnding(folder, r)
	if err != nil {
		return Outcome{}, err
	}
	own, err := o.chooseModel(&s, r)
	if err != nil {
		return Outcome{}, err
	}
	inFlight, gone, err := obtainState(ctx, folder, s, r, end, o)
	if err != nil {
		return Outcome{}, err
	}
	earlier := r.Checks
	r.Notes, r.Version = nil, o.Version
	if r.Ended.Equal(r.Started) { // it was killed, and ended with its history
		r.Started, r.Ended = end.started.UTC(), end.ended.UTC()
	}
	giveBack(folder) // of a run that was killed
	o.Progress.Stage("checking every operation")
	times, err := judgeRun(ctx, folder, s, r, inFlight, gone, figures.History{Cut: !end.whole(), Survey: &end.survey})
	if err != nil {
		return Outcome{}, err
	}
	if own != "" {
		r.Notes = append(r.Notes, fmt.Sprintf("%s was asked for this answer alone; the folder keeps the run's own judgement, against %s", o.Model, own))
		return Outcome{Result: r, Folder: folder, Responses: times}, nil
	}
	if lost := undecidedNow(earlier, r.Checks); lost != "" {
		r.Notes = append(r.Notes, fmt.Sprintf("%s was decided when the run was judged before, and is not now; the folder keeps that earlier judgement (%s)",
			lost, check.Combine(earlier)))
		return Outcome{Result: r, Folder: folder, Responses: times}, nil
	}
	out, err := write(folder, s, r)
	out.Responses = times
	return out, err
}

// chooseModel sets the model in the scenario. own is the run's own model if it differs;
// otherwise empty.
func (o *RecheckOptions) chooseModel(s *Scenario, r *report.Result) (own string, err error) {
	if o.Model == "" {
		return "", nil
	}
	flag, has := definition.Lookup(s.Config, "model")
	model, is := flag.Value.(*string)
	if !has || !is {
		return "", &store.OptionError{Option: "--model", Value: o.Model,
			Want: "left out: a run of " + s.Workload + " is judged by its own rules"}
	}
	own = cmp.Or(*model, r.Database.Promise)
	*model = o.Model
	if err := s.Validate(); err != nil {
		return "", err
	}
	if own == o.Model {
		return "", nil
	}
	return own, nil
}

func undecidedNow(earlier, now []check.Result) string {
	var names []string
	for _, before := range earlier {
		i := slices.IndexFunc(now, func(c check.Result) bool { return c.Name == before.Name })
		if before.Verdict != check.Unknown && (i < 0 || now[i].Verdict == check.Unknown) {
			names = append(names, before.Name)
		}
	}
	return strings.Join(names, ", ")
}

// obtainState makes sure that the folder holds the state of the database, unless that is gone.
// inFlight says why operations may have been in flight at the reading.
func obtainState(ctx context.Context, folder string, s Scenario, r *report.Result, end ending, o RecheckOptions) (inFlight, gone string, err error) {
	record, known, err := readback.Load(folder, r.Run)
	switch {
	case err != nil:
		return "", "", err
	case known && record.Gone != "" && o.Database == "":
		return record.InFlight, record.Gone, nil
	case o.Again || !exists(folder, s.definition().State):
		return "", "", readNow(ctx, folder, s, r, o)
	case known:
		if record.Size != nil && r.Data.Bytes == 0 { // read by a check that kept no result
			enterSize(r, *record.Size)
			forgetReadingNotes(r)
		}
		return record.InFlight, "", nil
	case end.settled:
		return "", "", nil
	}
	// Earlier versions read the database of a killed run without recording that it had settled.
	err = readNow(ctx, folder, s, r, o)
	if err == nil || ctx.Err() != nil {
		return "", "", err
	}
	return fmt.Sprintf("it is not known whether everything had settled when the database was read, and it could not be read again (%v); "+
		"with --db it is read from another address", err), "", nil
}

func readRun(folder string) (Scenario, *report.Result, error) {
	if !exists(folder, FileScenario) || !exists(folder, FileResult) {
		return Scenario{}, nil, &report.InputError{Path: folder, Err: errNoRun}
	}
	s, err := ReadScenario(filepath.Join(folder, FileScenario))
	if err != nil {
		return Scenario{}, nil, err
	}
	r, err := report.ReadJSON(filepath.Join(folder, FileResult))
	if err != nil {
		return Scenario{}, nil, inputError(filepath.Join(folder, FileResult), err)
	}
	if differs := changed(s, r); differs != "" {
		return Scenario{}, nil, &report.InputError{Path: filepath.Join(folder, FileScenario),
			Err: fmt.Errorf("was changed since the run: %s; put it back, or start a new run from a copy", differs)}
	}
	return s, r, nil
}

// changed says how the scenario differs from the result in anything that a judge uses; empty if
// it does not. Another seed or other options would convict an honest database.
func changed(s Scenario, r *report.Result) string {
	if s.Workload != r.Workload || s.Load.Seed != r.Seed {
		return fmt.Sprintf("it is %s with seed %d, and the run was %s with seed %d", s.Workload, s.Load.Seed, r.Workload, r.Seed)
	}
	for _, now := range s.settings() {
		for _, then := range r.Options {
			if now.Name == then.Name && withoutRemark(now.Value) != withoutRemark(then.Value) {
				return fmt.Sprintf("%s is %s, and was %s", now.Name, now.Value, then.Value)
			}
		}
	}
	return ""
}

// withoutRemark cuts off a setting's remark in parentheses, which runs of earlier versions lack.
func withoutRemark(value string) string {
	value, _, _ = strings.Cut(value, " (")
	return value
}

// inputError wraps err in a *report.InputError. Its path is err's own path, if err has one.
func inputError(path string, err error) error {
	if bad := (*report.FileError)(nil); errors.As(err, &bad) {
		return &report.InputError{Path: bad.Path, Err: errors.New(bad.Problem)}
	}
	return &report.InputError{Path: path, Err: err}
}

type ending struct {
	// settled means that nothing was in flight before the database was read.
	settled bool
	// started and ended are the first and last moments in the history.
	started, ended time.Time
	survey         figures.Survey
}

// whole reports whether the history was closed in order.
func (e *ending) whole() bool { return e.survey.Ending.Whole }

// readEnding reads the history once. It refuses the history of another run, which may have the
// same ids. It also refuses a history cut after the run had ended: rows whose record is lost
// would convict the database.
func readEnding(folder string, r *report.Result) (ending, error) {
	var (
		e    ending
		last int64
	)
	read, err := history.Read(filepath.Join(folder, FileHistory), history.Visitor{
		Header: func(h history.Header) error {
			if h.Run != r.Run {
				return &report.InputError{Path: folder, Err: fmt.Errorf("cannot be judged: its history belongs to run %s, not %s", h.Run, r.Run)}
			}
			e.started = time.Unix(0, h.Started)
			return nil
		},
		Event: func(x history.Event) error {
			e.survey.Events = append(e.survey.Events, x)
			e.settled = e.settled || x.Name == history.EventQuiesced
			last = max(last, x.At)
			return nil
		},
	})
	if errors.Is(err, fs.ErrNotExist) {
		return ending{}, &report.InputError{Path: folder, Err: errors.New("was cut before its work began; there is nothing to judge")}
	}
	e.survey.Ending = read
	e.ended = e.started.Add(time.Duration(max(last, read.Last)))
	if err == nil && !e.whole() && r.Client.Counted != nil {
		return e, &report.InputError{Path: folder, Err: errors.New("cannot be judged: its history was cut after the run had ended; put the whole file back")}
	}
	return e, err
}

// readNow reads the database of a run that did not read it itself.
func readNow(ctx context.Context, folder string, s Scenario, r *report.Result, o RecheckOptions) error {
	address := s.Database
	switch {
	case s.UseExisting:
		return &report.InputError{Path: folder, Err: errExisting}
	case o.Database != "":
		address = o.Database
	case s.Cluster != "":
		return &report.InputError{Path: folder, Err: errors.New("cannot be judged: its servers ended with the run, before they were read back")}
	case address == "":
		address = embeddedAddress(folder, s.Workload)
	case store.Redacted(address):
		return &report.InputError{Path: folder, Err: fmt.Errorf(
			"keeps the address %s without its password; give the whole one with --db or ASSAY_DB", address)}
	}
	o.Progress.Stage("connecting")
	db, err := openWork(ctx, s, withOptions(address, s.Options), o.StallTimeout)
	if err != nil {
		return err
	}
	err = readStore(ctx, folder, db, s, r, o.Progress)
	return errors.Join(err, db.Close())
}

// readStore reads the database only if it still holds this run.
func readStore(ctx context.Context, folder string, db *open.Work, s Scenario, r *report.Result, p Progress) error {
	found, err := db.Find(ctx)
	switch {
	case err != nil:
		return err
	case found == nil:
		return &report.InputError{Path: folder, Err: errors.New("cannot be judged: its database holds nothing of assay's any more")}
	case found.Marker.Run != r.Run:
		return fmt.Errorf("%s cannot be judged: its database now holds run %s, not %s", folder, found.Marker.Run, r.Run)
	}
	own, err := leaseOnceIdle(ctx, folder, db, r.Run, p)
	if err != nil {
		return err
	}
	ctx = own.Keep(ctx)
	defer own.Release(ctx)
	p.Stage("waiting until nothing is in flight")
	settling, cancel := context.WithTimeout(ctx, readback.SettleTimeout)
	defer cancel()
	if err := db.Settle(settling); err != nil {
		return fmt.Errorf("the run still has operations in flight: %w", err)
	}
	unread, err := readBack(ctx, db, folder, s, own, r.Outcomes.Committed, p)
	if err != nil {
		return err
	}
	forgetReadingNotes(r)
	r.RunNotes = append(r.RunNotes, own.Notes()...)
	return readback.Record{Run: r.Run, Unread: unread, Size: sizeOf(ctx, s, db, r)}.Write(folder)
}

// agentsEnd bounds the wait for the agents of a killed coordinator.
const agentsEnd = 2 * time.Minute

// leaseOnceIdle takes the lease on a run's data. Agents renew the lease until they stop, so of
// a run by agents it waits: rows they write meanwhile would be read back before they are in
// the histories.
func leaseOnceIdle(ctx context.Context, folder string, db *open.Work, run string, p Progress) (*lease.Lease, error) {
	on := lease.Terms{Limit: db.StallTimeout, Note: p.Note}
	for until := time.Now().Add(agentsEnd); ; {
		l, err := lease.Take(ctx, db, run, on)
		var held *store.HeldError
		if err != nil && held == nil && !errors.As(err, &held) {
			return lease.AsFound(ctx, db, run, on, err)
		}
		if held == nil || held.Lease.Run != run || !exists(folder, agents.Folder) || time.Now().After(until) {
			return l, err
		}
		p.Stage("waiting until the run's agents have stopped and their lease on the database has expired")
		if err := wait.Pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// forgetReadingNotes removes the notes that reading the database has made untrue.
func forgetReadingNotes(r *report.Result) {
	dropNotes(r, noteNotRead, noteNoSize, lease.NoteTakesNoWrites)
}

func dropNotes(r *report.Result, beginnings ...string) {
	r.RunNotes = slices.DeleteFunc(r.RunNotes, func(note string) bool {
		return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(note, b) })
	})
}

// Report makes a saved run's page again from its result alone. If only the page cannot be
// written, the outcome comes with the error.
func Report(folder string) (Outcome, error) {
	s, r, err := readRun(folder)
	if err != nil {
		return Outcome{}, err
	}
	page := filepath.Join(folder, FileReport)
	return Outcome{Result: r, Folder: folder, Report: page}, writePage(page, folder, s, r)
}
