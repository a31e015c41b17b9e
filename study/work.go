package study

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"assay/catalog"
	"assay/check"
	"assay/history"
	"assay/load"
	"assay/report"
	"assay/workload"
	"assay/workload/bank"
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
	// Observer is a client that reads while the others write, perSecond times
	// a second; ok is false if there is none.
	Observer() (observer load.Client, perSecond float64, ok bool)
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
	default:
		return nil, s.validateWorkload()
	}
}

func target(s Scenario, address string) workload.Target {
	return workload.Target{
		Address: address, ConnectTimeout: s.ConnectTimeout, Isolation: s.Isolation, Seed: s.Load.Seed,
	}
}

// counts reports whether operations of this kind are the work that is measured.
func counts(kind uint8) bool { return kind == bank.KindTransfer }

// options are the workload's own settings, for the report.
func options(s Scenario) []report.Setting {
	return []report.Setting{
		{Name: "accounts", Value: strconv.FormatInt(s.Bank.Accounts, 10)},
		{Name: "keys", Value: s.Bank.Keys},
		{Name: "payroll", Value: strconv.FormatFloat(s.Bank.Payroll, 'g', -1, 64)},
		{Name: "audits", Value: strconv.FormatFloat(s.Bank.Audits, 'g', -1, 64) + "/s"},
	}
}

// judge runs the workload's checks over a run's folder. inFlight, if not
// empty, says why the state may not be final.
func judge(folder string, s Scenario, inFlight string) (judgement, error) {
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
