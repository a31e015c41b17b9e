package study

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assay/catalog"
	"assay/check"
	"assay/history"
	"assay/load"
	"assay/report"
	"assay/workload"
	"assay/workload/bank"
	"assay/workload/isolation"
)

// work is what a run needs of its workload, opened on one database. See
// bank.Store for the contract of the methods.
type work interface {
	Describe(ctx context.Context) (workload.Product, error)
	Find(ctx context.Context) (*workload.Remains, error)
	// Rows is how many rows Load creates.
	Rows() int64
	Create(ctx context.Context, mark workload.Mark) error
	Load(ctx context.Context, loaded func(done, total int64)) error
	Client(ctx context.Context, n int) (load.Client, error)
	// Observers are clients that read while the others write, perSecond times
	// a second together; none if there are none.
	Observers() (clients []load.Client, perSecond float64)
	// Promise is the consistency model that the database promises at its
	// isolation level; empty where the workload does not ask.
	Promise() string
	Settle(ctx context.Context) error
	// Save reads the database back into the run's folder.
	Save(ctx context.Context, folder string, read func(rows int64)) error
	Size(ctx context.Context) (workload.Size, error)
	Drop(ctx context.Context) error
	Close() error
}

// judgement is what a workload's checks say of a run's folder.
type judgement struct {
	results []check.Result
	notes   []string
	// counted is the operations as the judge counted them. Unknown ones may be
	// more than the history has: a killed run reserved them without a record.
	counted map[history.Outcome]int64
}

// openWork opens the scenario's workload on the database at address.
func openWork(ctx context.Context, s Scenario, address string) (work, error) {
	driver, err := catalog.DriverFor(address)
	if err != nil {
		return nil, err
	}
	switch s.Workload {
	case catalog.Bank:
		if driver.Bank == nil {
			return nil, &workload.OptionError{Option: "workload", Value: s.Workload, Want: driver.NoBank}
		}
		store, err := driver.Bank(ctx, target(s, address))
		if err != nil {
			return nil, err
		}
		return bank.NewWork(store, s.Bank, s.Load.Seed, s.Load.Clients)
	case catalog.Isolation:
		if driver.Isolation == nil {
			return nil, &workload.OptionError{Option: "workload", Value: s.Workload, Want: driver.NoIsolation}
		}
		store, err := driver.Isolation(ctx, target(s, address))
		if err != nil {
			return nil, err
		}
		return isolation.NewWork(store, s.Transactions, s.Load.Seed)
	default:
		return nil, s.validateWorkload()
	}
}

func target(s Scenario, address string) workload.Target {
	return workload.Target{
		Address: address, ConnectTimeout: s.ConnectTimeout, Isolation: s.Isolation, Seed: s.Load.Seed,
	}
}

// counts reports whether operations of this kind are the work that is
// measured. An audit is not; an attempt that sent nothing has no kind.
func counts(s Scenario, kind uint8) bool {
	return s.Workload != catalog.Bank || kind == bank.KindTransfer
}

// stateFile is what Save writes at last.
func stateFile(s Scenario) string {
	if s.Workload == catalog.Isolation {
		return isolation.FileState
	}
	return bank.FileState
}

// options are the workload's own settings, for the report.
func options(s Scenario) []report.Setting {
	if s.Workload == catalog.Isolation {
		return isolationOptions(s.Transactions)
	}
	return []report.Setting{
		{Name: "accounts", Value: strconv.FormatInt(s.Bank.Accounts, 10)},
		{Name: "keys", Value: s.Bank.Keys},
		{Name: "payroll", Value: strconv.FormatFloat(s.Bank.Payroll, 'g', -1, 64)},
		{Name: "audits", Value: strconv.FormatFloat(s.Bank.Audits, 'g', -1, 64) + "/s"},
	}
}

func isolationOptions(c isolation.Config) []report.Setting {
	style := "atomic"
	if c.Rewrite {
		style = "read and rewrite"
	}
	return []report.Setting{
		{Name: "test", Value: c.Test},
		{Name: "keys", Value: strconv.Itoa(c.Keys)},
		{Name: "length", Value: strconv.Itoa(c.Length)},
		{Name: "per key", Value: strconv.Itoa(c.PerKey)},
		{Name: "appends", Value: style},
	}
}

// judge runs the workload's checks over a run's folder. promise is the
// consistency model that the database promises; inFlight, if not empty, says
// why the state may not be final.
func judge(ctx context.Context, folder string, s Scenario, promise, inFlight string) (judgement, error) {
	if s.Workload == catalog.Isolation {
		return judgeIsolation(ctx, folder, s, promise, inFlight)
	}
	j, err := bank.Judge(s.Bank, s.Load.Seed, bank.Evidence{
		History: filepath.Join(folder, FileHistory), State: filepath.Join(folder, bank.FileState), InFlight: inFlight,
	})
	if err != nil {
		return judgement{}, err
	}
	t := j.Tally
	out := judgement{results: j.Results, counted: map[history.Outcome]int64{
		history.Committed: t.Committed, history.Rejected: t.Rejected, history.Failed: t.Failed, history.Unknown: t.Unknown,
	}}
	if t.Unknown > 0 {
		out.notes = append(out.notes, fmt.Sprintf("of %d unknown transfers %d turned out done, %d not done",
			t.Unknown, t.UnknownApplied, t.Unknown-t.UnknownApplied))
	}
	return out, nil
}

func judgeIsolation(ctx context.Context, folder string, s Scenario, promise, inFlight string) (judgement, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	j, err := isolation.Judge(ctx, s.Transactions, s.Load.Seed, isolation.Evidence{
		History: filepath.Join(folder, FileHistory), State: filepath.Join(folder, isolation.FileState),
		Promise: promise, InFlight: inFlight,
	})
	if err != nil {
		return judgement{}, err
	}
	t := j.Tally
	return judgement{results: j.Results, notes: isolationNotes(j), counted: map[history.Outcome]int64{
		history.Committed: t.Committed, history.Rejected: t.Rejected, history.Failed: t.Failed, history.Unknown: t.Unknown,
	}}, nil
}

// searchTimeout bounds the search for anomalies; what is not found by then is
// unknown.
const searchTimeout = 10 * time.Minute

func isolationNotes(j isolation.Judgement) []string {
	notes := []string{fmt.Sprintf("judged against %s", j.Model)}
	if j.Report == nil {
		return notes
	}
	if len(j.Report.Permitted) > 0 {
		notes = append(notes, fmt.Sprintf("found, and allowed by %s: %s", j.Model, strings.Join(j.Report.Permitted, ", ")))
	}
	if len(j.Report.Anomalies) > 0 {
		notes = append(notes, fmt.Sprintf("found, and forbidden by %s: %s; what was found rules out %v and all stronger models",
			j.Model, strings.Join(j.Report.Anomalies, ", "), j.Report.Not))
	}
	return notes
}
