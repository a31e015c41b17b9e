// Package definition says what a workload is to those who run it: one value with
// its name and help, its flags and configuration, how it is opened on a database,
// how a run is judged and what the report shows. Each workload's package returns
// one; the catalog lists them.
//
// It must not know any workload or driver.
package definition

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"assay/check"
	"assay/history"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/store"
	"assay/store/bug"
	"assay/store/promise"
)

// Workload is one workload: what the catalog, the runner and the commands know of
// it.
type Workload struct {
	// Name is the word behind "assay run", Summary its line in "assay list".
	Name, Summary string
	// Short, Long and Example are the help of its command.
	Short, Long, Example string
	// Argument is the name of the flag that the command's only argument stands for, a
	// file; empty if it takes none. Several is true if the command takes several.
	Argument string
	Several  bool
	// NotJudged are the columns of its tables that its judge says nothing of, or not everything.
	NotJudged []Unjudged
	// Key is the key of its configuration in a scenario file.
	Key string
	// Checks are those that its judgement consists of, in their order. A run may
	// leave some out, where a database or an option offers nothing to judge.
	Checks []Check
	// Schema is what it keeps in a database, by what the target has chosen, and Needs what
	// it needs of one.
	Schema func(target store.Target) (store.Schema, error)
	Needs  []store.Need
	// Refuse is an error, such as *store.OptionError, where what the target has chosen
	// needs more than a database has; nil if nothing does.
	Refuse func(target store.Target, lacks store.Lacks) error
	// Bugs are ways of breaking a promise that its checks are tested with, for addresses
	// with bug=NAME:PROBABILITY.
	Bugs []bug.Bug
	// Keys is the flag of its own that says over how many keys the work is spread: the fewer, the
	// more of it meets. Empty if there is none.
	Keys string
	// Config returns the configuration of a run without flags.
	Config func() Config
	// Load returns the load of a run without flags; nil for load.Defaults.
	Load func() load.Plan
	// Unused are the flags of all runs that this workload refuses, and WhyUnused
	// what it says then, behind the flag.
	Unused    []string
	WhyUnused string
	// State is the name of the file that Work.Save writes last into the run's
	// folder.
	State string
	// Operations names the kinds of operations, as in history.Op.Kind.
	Operations map[uint8]string
	// Measures reports whether operations of a kind are the work that is measured.
	// An audit or a reader's read is not; nil if all are.
	Measures func(kind uint8) bool
	// Limit changes what a measurement is held to; nil leaves it.
	Limit func(l *measure.Limits)
	// Tasks says that its rounds have so few operations that the time of each one is told.
	Tasks bool
	// Reloads says that Work is Reloading.
	Reloads bool
	// Restores says that Config.Judge judges the states of Evidence.Restored.
	Restores bool
	// Losses says that Config.Judge takes account of Evidence.Losses.
	Losses bool
	// SizeLoaded has the size on disk asked for after loading too, so that what
	// the work adds can be told.
	SizeLoaded bool
	// Degradation has the report say, too, that the throughput did not fall for
	// good.
	Degradation bool
}

// Unjudged is a column that is not judged. What is not, if What is not empty, is some of it.
type Unjudged struct{ Table, Column, What string }

// NotJudgedNotes say which columns are not judged; none if all are.
func (w Workload) NotJudgedNotes() []string {
	var columns []string
	for _, u := range w.NotJudged {
		columns = append(columns, strings.TrimSpace(u.Table+"."+u.Column+" "+u.What))
	}
	if len(columns) == 0 {
		return nil
	}
	return []string{"of what was read back, not judged: " + strings.Join(columns, "; ")}
}

// Check says what one of a workload's checks asserts.
type Check struct {
	// Name is the name of its check.Result.
	Name string
	// Asserts is what is true of a run that it finds valid, as whole sentences.
	Asserts string
	// Tests is the property that its findings are about, and Kinds that of some kinds of
	// them, which is another.
	Tests promise.Property
	Kinds map[string]promise.Property
}

// Property is what a finding of one of the workload's checks is about.
func (w Workload) Property(name, kind string) promise.Property {
	for _, c := range w.Checks {
		if c.Name != name {
			continue
		}
		if p, other := c.Kinds[kind]; other {
			return p
		}
		return c.Tests
	}
	return promise.Rules
}

// Config is what a user can set of a workload, and what is done with it. It is a
// pointer to a struct with YAML tags, which copies of a scenario share.
type Config interface {
	// Flags are the flags of the workload's command, beside those of all runs.
	Flags() []Flag
	// Validate returns an error for the first value that cannot be used, such as
	// *store.OptionError.
	Validate() error
	// Plan returns the load as the workload changes it, which a second time
	// changes nothing, or an error (*load.PlanError, *store.OptionError) for
	// what it cannot do.
	Plan(p load.Plan) (load.Plan, error)
	// Options are the settings for the report; by is the driver's support.
	Options(by Support) []report.Setting
	// Open begins the workload on a database that Support.Open has returned, and owns
	// it unless there is an error. seed and clients are those of the load.
	Open(ctx context.Context, db store.Database, seed uint64, clients int) (Work, error)
	// Judge judges a run by its files alone, so that it can be done again at any
	// time.
	Judge(ctx context.Context, seed uint64, e Evidence) (Judgement, error)
}

// Targeting is a Config that enters into the target what it chooses of it.
type Targeting interface{ Target(to *store.Target) }

// Existing is a Config that can work on tables which are there already and are not assay's
// (store.Target.Existing). Its Work loads nothing into them.
type Existing interface {
	// UseExisting is told before Validate.
	UseExisting()
	// Touched are the tables that a run reads and those that it writes, by their names.
	Touched() (read, written []string)
}

// Proposing is a Config that may say how the load is, where the user has not: a file has it.
type Proposing interface {
	// Propose changes the plan; given reports whether the user gave a flag. notes say what
	// of it has no effect.
	Propose(plan *load.Plan, given func(flag string) bool) (notes []string, err error)
}

// NamesRounds is a Config that knows the kinds of operations, where Workload.Operations cannot:
// the names by history.Op.Kind.
type Named interface{ OperationNames() map[uint8]string }

// Partial is a Config that may leave checks of its workload without a subject, such as
// one of reads in a run that only writes.
type Partial interface {
	// NotApplicable are these checks, with the option that is the reason.
	NotApplicable() []check.NotApplicable
}

// Served is a Config whose run can go through the web service, which the run then
// starts in front of the database.
type Served interface{ Served() bool }

// Sized is a Config that knows about how much a run of it makes and does, beside what
// its load says.
type Sized interface{ Volume() Volume }

// Volume is about how much a run makes.
type Volume struct {
	// Rows are there at most, of RowBytes each.
	Rows, RowBytes int64
	// Worked is how many rows the rounds of the run write or read.
	Worked int64
	// JudgeRow and JudgeOperation are about how many bytes of memory the judge takes for
	// each row and each operation; 0 if that is not known.
	JudgeRow, JudgeOperation int64
}

// Work is a workload opened on one database: what a run does with it, phase by
// phase.
type Work interface {
	store.Administration
	// Rows is how many rows Load creates.
	Rows() int64
	// Create makes the empty schema under the mark; see store.Administration.
	Create(ctx context.Context, mark store.Marker) error
	// Load makes the opening state in the schema that Create made, and says how
	// far it is.
	Load(ctx context.Context, loaded func(done, total int64)) error
	// Client opens a session for client number n.
	Client(ctx context.Context, n int) (load.Client, error)
	// Observers are clients that read while the others write, perSecond times a
	// second together; none if there are none.
	Observers() (clients []load.Client, perSecond float64)
	// Promise is the consistency model that the database promises at its
	// isolation level; empty where the workload does not ask.
	Promise() string
	// Save reads the database back into the run's folder.
	Save(ctx context.Context, folder string, read func(rows int64)) error
}

// Examiner is a Work that tries something of its own on the database when everything was
// read back, and leaves what came of it in the run's folder, for the judge. What it
// writes to the database it removes. An error is no verdict.
type Examiner interface {
	Examine(ctx context.Context, folder string) error
}

// Dividing is a Work that gives out numbers. Of several processes that share the work,
// each is told which of the shares it has, from 0, before its first client.
type Dividing interface{ Divide(share, shares int) }

// Finding is a Work that finds out more than the history holds, which Save keeps. Of
// several processes that share the work, TakeFound tells the one that saves what another
// has Found.
type Finding interface {
	Found() ([]byte, error)
	TakeFound(text []byte) error
}

// Following is a Rounds whose rounds depend on the machine. A process that shares the
// work is told the name of each round before it asks for them, and has the same.
type Following interface{ Follow(round string) }

// NamesRounds is a Config that knows the names of its rounds before there is a database. An empty name
// stands for those that the database gives.
type NamesRounds interface{ RoundNames() []string }

// Counts is a Config that knows which figures its runs have and others have not.
type Counts interface{ Figures() []string }

// Rounds is a Work that is worked in several rounds instead of one stretch.
type Rounds interface{ Rounds() []load.Round }

// Evidence names the files that a run is judged by, and what is known beside
// them.
type Evidence struct {
	// History and State are paths; State is what Work.Save wrote. Other files that
	// it wrote are beside it.
	History, State string
	// Promise is what Work.Promise returned.
	Promise string
	// InFlight, if not empty, says why operations may have been in flight when the
	// state was read, or why it may not be complete.
	InFlight string
	// Losses takes account of what is lost by power cuts; nil without them.
	Losses *Losses
	// Restored are the states of restored backups, of a workload that Restores.
	Restored []Restored
}

// Restored is the state of a backup that was restored beside the database. Times are
// nanoseconds since the start of the run.
type Restored struct {
	// Number counts the restorations of a run from 1, Backup its backups.
	Number int `json:"number"`
	Backup int `json:"backup"`
	// State is what Work.Save wrote of it; empty if it could not be read, and Problem says
	// why.
	State   string `json:"state,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Begun is when the backup was begun, Target the moment whose state was asked for;
	// negative for that of the backup.
	Begun  int64 `json:"begun_ns"`
	Target int64 `json:"target_ns"`
	// Alone is true of a backup of the only node, which had all that was acknowledged.
	Alone bool `json:"alone,omitempty"`
}

// Name is what evidence calls it.
func (r Restored) Name() string {
	return fmt.Sprintf("backup %d as restored by restore %d", r.Backup, r.Number)
}

// Judgement is what a workload's checks say of a run.
type Judgement struct {
	Results []check.Result
	// Counts are the operations as the judge counted them. Unknown ones may be
	// more than the history has: a killed run reserved them without a record.
	Counts history.Counts
	Notes  []string
	// Unasked says that the user asked for nothing to be judged; empty if something was.
	Unasked string
	// Unproven says why findings may be the user's own mistake, so that nothing follows for what the
	// vendor promises; empty if they are not.
	Unproven string
	// Alone is how many transactions of a user's script kept its rules with one client alone, before
	// the run; 0 where that was not tried.
	Alone int64
	// Permitted says of findings of a check about a user's rule what the isolation level in
	// force has to do with them, where the rules of package promise leave that open; nil
	// where the workload does not know. advice is for the user whose rule it is; empty if
	// the level promises it.
	Permitted func(check string, c *promise.Circumstances) (r promise.Ruling, advice string)
	// Asked is the model that the user asked for, where it is not what the vendor
	// promises; Promised are then the checks judged against that promise.
	Asked    string
	Promised []check.Result
	// Moments are where in the history the restored states lie, by Restored.Number.
	Moments map[int]report.Moment
	// Facts are what there is to say of the rounds, by their names; Sizes what the
	// rows took after them; Rates how many rows a second were written or returned.
	Facts map[string][]report.Setting
	Sizes map[string]report.RoundSize
	Rates map[string]float64
	// WorkloadFigures are the figures of the workload's own section of the report.
	report.WorkloadFigures
}

// Support says whether a driver serves a workload, and with what.
type Support struct {
	// Workload is the workload's name.
	Workload string
	// Open opens the database for the workload. It is nil if the database cannot
	// honour it.
	Open func(ctx context.Context, target store.Target) (store.Database, error)
	// Reason says why Open is nil.
	Reason string
	// RewritesLists is true if an append to a list reads it and writes it anew, in
	// the transaction.
	RewritesLists bool
}

// Refused is the error where Open is nil.
func (s *Support) Refused() error {
	return &store.OptionError{Option: "workload", Value: s.Workload, Reason: s.Reason, Want: "what assay list has for this database"}
}

// SupportOf is the support of a workload by a driver that opens databases so, and lacks these
// capabilities.
func SupportOf(w Workload, open store.Opener, lacks store.Lacks) Support {
	if reason := lacks.Unmet(w.Needs); reason != "" {
		return Not(w.Name, reason)
	}
	return Support{Workload: w.Name, RewritesLists: lacks[store.UpdateInPlace] != "",
		Open: func(ctx context.Context, target store.Target) (store.Database, error) {
			if w.Refuse != nil {
				if err := w.Refuse(target, lacks); err != nil {
					return nil, err
				}
			}
			schema, err := w.Schema(target)
			if err != nil {
				return nil, err
			}
			if schema.Existing {
				return openExisting(ctx, target, schema, open)
			}
			return open(ctx, target, schema)
		}}
}

// openExisting opens a schema whose tables are there already.
func openExisting(ctx context.Context, target store.Target, schema store.Schema, open store.Opener) (store.Database, error) {
	db, err := open(ctx, target, schema)
	if err != nil {
		return nil, err
	}
	used, err := store.OnExisting(ctx, db, target, schema.Open)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return used, nil
}

// Fixed is the Workload.Schema of one that does not depend on the target.
func Fixed(schema func() store.Schema) func(store.Target) (store.Schema, error) {
	return func(store.Target) (store.Schema, error) { return schema(), nil }
}

// Not is the lack of support of a workload, for this reason.
func Not(name, reason string) Support { return Support{Workload: name, Reason: reason} }
