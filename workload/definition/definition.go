// Package definition is the contract between a workload and the parts that run it. Each
// workload's package returns one Workload value; the catalog lists them.
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

// Workload describes one workload to the catalog, the runner and the commands.
type Workload struct {
	// Name is the word behind "assay run". Summary is the line in "assay list".
	Name, Summary        string
	Short, Long, Example string
	// Argument is the flag that the command's only argument, a file, stands for; empty for none.
	// Several permits several files.
	Argument string
	Several  bool
	// NotJudged lists the columns that the judge ignores in whole or in part.
	NotJudged []Unjudged
	// Key is the configuration's key in a scenario file.
	Key string
	// Checks are in the report's order. A run leaves out those without a subject.
	Checks []Check
	// Schema returns the tables for the target's options. Needs is what they need of a database.
	Schema func(target store.Target) (store.Schema, error)
	Needs  []store.Need
	// Refuse returns an error, such as *store.OptionError, if the target's options need more
	// than the database has. Nil refuses nothing.
	Refuse func(target store.Target, lacks store.Lacks) error
	// Bugs are the faults that test the checks, for addresses with bug=NAME:PROBABILITY.
	Bugs []bug.Bug
	// Keys is the flag that sets how many keys share the work; fewer conflict more. Empty: none.
	Keys   string
	Config func() Config
	// Load returns the default load; nil means load.Defaults.
	Load func() load.Plan
	// Unused are common flags that this workload refuses; WhyUnused ends the message.
	Unused    []string
	WhyUnused string
	// State is the file in the run's folder that Work.Save writes last.
	State string
	// Operations names the kinds of operations by history.Op.Kind.
	Operations map[uint8]string
	// Measures reports whether a kind of operations counts in the figures; nil if all do.
	Measures func(kind uint8) bool
	// Limit changes the limits that a valid measurement must keep; nil leaves them.
	Limit func(l *measure.Limits)
	// Tasks makes the report show the time of each operation: rounds have few.
	Tasks   bool
	Reloads bool
	// Restores says that Config.Judge judges Evidence.Restored.
	Restores bool
	// Losses says that Config.Judge uses Evidence.Losses.
	Losses bool
	// SizeLoaded asks for the size on disk after loading too.
	SizeLoaded bool
	// Degradation makes the report say also that throughput did not degrade.
	Degradation bool
}

// Unjudged is a column that is not judged; What names the unjudged part, empty for all.
type Unjudged struct{ Table, Column, What string }

// NotJudgedNotes lists the unjudged columns.
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

// Check describes one check.
type Check struct {
	Name string
	// Asserts says in whole sentences what holds if the check is valid.
	Asserts string
	// Tests is the property that findings are about. Kinds has exceptions by kind of finding.
	Tests promise.Property
	Kinds map[string]promise.Property
}

// Property returns the property that a finding of this check and kind is about.
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

// Config is a pointer to a struct with YAML tags. Copies of a scenario share it.
type Config interface {
	Flags() []Flag
	// Validate returns an error, such as *store.OptionError, for the first unusable value. Whoever
	// takes a configuration from outside calls it: Open, Judge and the optional parts' methods that
	// take a run's seed are for a valid configuration.
	Validate() error
	// Plan adapts the load to the workload, idempotently. It returns *load.PlanError or
	// *store.OptionError for a load that the workload cannot do.
	Plan(p load.Plan) (load.Plan, error)
	// Options are the report's settings; by is the driver's support.
	Options(by Support) []report.Setting
	// Open owns the database, which Support.Open opened, unless it fails.
	Open(ctx context.Context, db store.Database, seed uint64, clients int) (Work, error)
	// Judge judges a run from its files alone, so it can be repeated at any time.
	Judge(ctx context.Context, seed uint64, e Evidence) (Judgement, error)
}

// Targeting is a Config that sets options of the target.
type Targeting interface{ Target(to *store.Target) }

// Existing is a Config that can use tables that are already there and are not assay's
// (store.Target.Existing). Its Work loads nothing.
type Existing interface {
	// UseExisting is called before Validate.
	UseExisting()
	// Touched names the tables that a run reads and the tables that it writes.
	Touched() (read, written []string)
}

// Proposing is a Config whose file may set parts of the load that the user left open.
type Proposing interface {
	// Propose changes the plan. given reports whether the user set a flag. notes name proposals
	// without effect.
	Propose(plan *load.Plan, given func(flag string) bool) (notes []string, err error)
}

// Named is a Config that names the kinds of operations where Workload.Operations cannot.
type Named interface{ OperationNames() map[uint8]string }

// Partial is a Config that may leave checks without a subject, such as reads where all write.
type Partial interface {
	// NotApplicable are these checks, with the option that is the reason.
	NotApplicable() []check.NotApplicable
}

// Served is a Config whose run can go through the web service, which the run starts.
type Served interface{ Served() bool }

// Sized is a Config that can estimate the volume of a run.
type Sized interface{ Volume() Volume }

// Volume estimates what a run stores and does.
type Volume struct {
	// Rows is the most rows loaded, of RowBytes each.
	Rows, RowBytes int64
	// Inserts is how many rows an operation adds, on average.
	Inserts float64
	// Worked is the number of rows that the rounds write or read.
	Worked int64
	// JudgeRow and JudgeOperation are the judge's bytes per row and operation; 0 if not known.
	JudgeRow, JudgeOperation int64
}

// Work is a workload opened on one database.
type Work interface {
	store.Administration
	Rows() int64
	// Create makes the empty schema with the mark; see store.Administration.
	Create(ctx context.Context, mark store.Marker) error
	Load(ctx context.Context, loaded func(done, total int64)) error
	Client(ctx context.Context, n int) (load.Client, error)
	// Observers read while the others write, perSecond times a second together.
	Observers() (clients []load.Client, perSecond float64)
	// Promise is the consistency model that the database promises at its isolation level; empty
	// if the workload does not use it.
	Promise() string
	// Save reads the whole state back into the run's folder.
	Save(ctx context.Context, folder string, read func(rows int64)) error
}

// Examiner is a Work that makes an experiment on the database after reading back. It leaves the
// outcome in the run's folder and removes what it wrote. An error is no verdict.
type Examiner interface {
	Examine(ctx context.Context, folder string) error
}

// Dividing is a Work that gives out numbers. With several processes, Divide tells each its
// share, counted from 0, before its first client.
type Dividing interface{ Divide(share, shares int) }

// Finding is a Work with facts beyond the history, which Save keeps. With several processes, the
// process that saves is given the others' Found by TakeFound.
type Finding interface {
	Found() ([]byte, error)
	TakeFound(text []byte) error
}

// Following is a Rounds whose rounds depend on the machine. With several processes, the first
// names each round to the others before they call Rounds.
type Following interface{ Follow(round string) }

// NamesRounds is a Config that knows its rounds' names without a database; an empty name stands
// for rounds that the database names.
type NamesRounds interface{ RoundNames() []string }

// Counts is a Config that names the optional figures which its runs have.
type Counts interface{ Figures() []string }

// Rounds is a Work in several rounds instead of one stretch.
type Rounds interface{ Rounds() []load.Round }

// Evidence is what a run is judged by.
type Evidence struct {
	// History and State are paths. Work.Save wrote State, and may have written files beside it.
	History, State string
	Promise        string
	// InFlight says why operations may have been in flight when the state was read, or why it
	// may be incomplete; empty if neither.
	InFlight string
	// Losses accounts for losses by power cuts; nil without cuts.
	Losses *Losses
	// Restored are the states of restored backups, if the workload Restores.
	Restored []Restored
}

// Restored is a backup restored beside the database. Times are nanoseconds since the run's
// start.
type Restored struct {
	// Number counts restorations from 1, Backup backups.
	Number int `json:"number"`
	Backup int `json:"backup"`
	// State is a path; empty if the backup could not be read because of Problem.
	State   string `json:"state,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Begun is the backup's start. Target is the wanted moment; negative for the backup's own.
	Begun  int64 `json:"begun_ns"`
	Target int64 `json:"target_ns"`
	// Alone is true for the backup of an only node, which had everything acknowledged.
	Alone bool `json:"alone,omitempty"`
}

// Name is the backup's name in evidence.
func (r Restored) Name() string {
	return fmt.Sprintf("backup %d as restored by restore %d", r.Backup, r.Number)
}

// Judgement is the result of judging a run.
type Judgement struct {
	Results []check.Result
	// Counts includes operations that a killed run reserved and may have done without a record.
	Counts history.Counts
	Notes  []string
	// Unasked says that the user let nothing be judged; empty if something was.
	Unasked string
	// Unproven says why findings may be the user's own mistake; empty if they cannot be.
	Unproven string
	// Alone is the number of transactions of a user's script that kept its rules with a single
	// client before the run; 0 if not tried.
	Alone int64
	// Permitted rules on findings against a user's rule where package promise leaves open
	// whether the isolation level permits them. advice is for the user, empty if the level
	// forbids them. Nil if the workload cannot tell.
	Permitted func(check string, c *promise.Circumstances) (r promise.Ruling, advice string)
	// Asked is the user's model if it is not the vendor's promise. Promised then judge the
	// promise.
	Asked    string
	Promised []check.Result
	// Moments places restored states in the history, by Restored.Number.
	Moments map[int]report.Moment
	// Facts, Sizes and Rates are by the round's name; Rates are rows written or returned a
	// second.
	Facts map[string][]report.Setting
	Sizes map[string]report.RoundSize
	Rates map[string]float64
	report.WorkloadFigures
}

// Support says whether and how a driver serves a workload.
type Support struct {
	Workload string
	// Open is nil if the driver does not serve the workload, for Reason.
	Open   func(ctx context.Context, target store.Target) (store.Database, error)
	Reason string
	// RewritesLists is true if an append to a list reads and rewrites it in the transaction.
	RewritesLists bool
}

// Refused is the error to return where Open is nil.
func (s *Support) Refused() error {
	return &store.OptionError{Option: "workload", Value: s.Workload, Reason: s.Reason, Want: "what assay list has for this database"}
}

// SupportOf returns the support by a driver with this opener and these missing capabilities.
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

// Fixed returns a Workload.Schema that does not depend on the target.
func Fixed(schema func() store.Schema) func(store.Target) (store.Schema, error) {
	return func(store.Target) (store.Schema, error) { return schema(), nil }
}

// Not returns a Support that refuses the workload.
func Not(name, reason string) Support { return Support{Workload: name, Reason: reason} }
