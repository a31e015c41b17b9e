package runner

import (
	"cmp"
	"context"
	"errors"
	"time"

	"assay/catalog"
	"assay/check"
	"assay/history"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
)

// work is what a run needs of its workload, opened on one database.
type work interface {
	workload.Store
	// Rows is how many rows Load creates.
	Rows() int64
	Create(ctx context.Context, mark workload.Marker) error
	Load(ctx context.Context, loaded func(done, total int64)) error
	Client(ctx context.Context, n int) (load.Client, error)
	// Observers are clients that read while the others write, perSecond times
	// a second together; none if there are none.
	Observers() (clients []load.Client, perSecond float64)
	// Promise is the consistency model that the database promises at its
	// isolation level; empty where the workload does not ask.
	Promise() string
	// Save reads the database back into the run's folder.
	Save(ctx context.Context, folder string, read func(rows int64)) error
}

// judgement is what a workload's checks say of a run's folder.
type judgement struct {
	results []check.Result
	// promised are the checks held against what the vendor promises, where the
	// results are held against another model that the user asked for; nil
	// otherwise.
	promised []check.Result
	// asked is that other model.
	asked string
	notes []string
	// availability is what that workload's judge counted; nil of others.
	availability *report.Availability
	// entity is what workload entity's judge counted; nil of others.
	entity *report.Entity
	// facts are what the workload says of its rounds, by their names.
	facts map[string][]report.Setting
	// sizes are what the rows took after the rounds, rates how many rows a second
	// were written or returned, by the rounds' names; empty where not counted.
	sizes map[string]report.RoundSize
	rates map[string]float64
	// counted is the operations as the judge counted them. Unknown ones may be
	// more than the history has: a killed run reserved them without a record.
	counted history.Counts
}

// kind is how runs of one workload are carried out. Each is in a file of its
// own.
type kind struct {
	// validate looks at the workload's own part of the scenario.
	validate func(s Scenario) error
	// strip empties that part, in the scenario of a run of another workload.
	strip func(s *Scenario)
	// open opens the workload on a database that driver serves.
	open func(ctx context.Context, driver catalog.Driver, s Scenario, address string) (work, error)
	// counts reports whether operations of this kind are the work that is
	// measured. An audit or a reader's read is not; an attempt that sent
	// nothing has no kind.
	counts func(op uint8) bool
	// stateFile is what Save writes at last.
	stateFile string
	// options are the workload's own settings, for the report.
	options func(s Scenario) []report.Setting
	// judge runs the checks over a run's folder. promise is the consistency
	// model that the database promises; inFlight, if not empty, says why the
	// state may not be final.
	judge func(ctx context.Context, folder string, s Scenario, promise, inFlight string) (judgement, error)
	// limit changes what a measurement is held to; nil leaves it.
	limit func(l *measure.Limits)
}

// kinds are all workloads by name.
func kinds() map[string]kind {
	return map[string]kind{
		bank.Name:         bankKind(),
		isolation.Name:    isolationKind(),
		availability.Name: availabilityKind(),
		entity.Name:       entityKind(),
		candles.Name:      candlesKind(),
		bulkupdate.Name:   bulkUpdateKind(),
		churn.Name:        churnKind(),
	}
}

// kind is the scenario's; the zero kind if there is no such workload.
func (s Scenario) kind() kind { return kinds()[s.Workload] }

// openWork opens the scenario's workload on the database at address. None of its
// calls makes no progress for longer than patience, 0 for the default.
func openWork(ctx context.Context, s Scenario, address string, patience time.Duration) (work, error) {
	driver, err := catalog.DriverFor(address)
	if err != nil {
		return nil, err
	}
	if err := s.validateWorkload(); err != nil {
		return nil, err
	}
	// The driver bounds each contact by the time to connect.
	b := newBounded(unopened{address: workload.Redact(address)}, cmp.Or(patience, defaultPatience)+s.ConnectTimeout, address)
	opened, err := bind(b, ctx, "connecting", func(ctx context.Context) (work, error) { return s.kind().open(ctx, driver, s, address) })
	if err != nil {
		return nil, err
	}
	return newBounded(opened, patience, address), nil
}

// unopened is the work of a database that was not reached yet.
type unopened struct {
	work
	address string
}

// Describe says that there is no answer, so that opening is given up.
func (u unopened) Describe(context.Context) (workload.Product, error) {
	return workload.Product{}, &workload.UnreachableError{Address: u.address, Err: context.DeadlineExceeded}
}

// openOn reaches a database's store and begins a workload on it, which owns it
// from then on.
func openOn[S workload.Store, W work](ctx context.Context, s Scenario, to workload.Target,
	by definition.Support, begin func(S) (W, error)) (work, error) {
	if by.Open == nil {
		return nil, &workload.OptionError{Option: "workload", Value: s.Workload, Want: by.Reason}
	}
	store, err := by.Open(ctx, to)
	if err != nil {
		return nil, err
	}
	w, err := begin(store.(S)) // as the workload's By says
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return w, nil
}

// settings are a workload's facts in the report's words.
func settings[F ~struct{ Name, Value string }](facts map[string][]F) map[string][]report.Setting {
	all := map[string][]report.Setting{}
	for round, some := range facts {
		for _, f := range some {
			all[round] = append(all[round], report.Setting(f))
		}
	}
	return all
}

func target(s Scenario, address string) workload.Target {
	return workload.Target{
		Address: address, ConnectTimeout: s.ConnectTimeout, Isolation: s.Isolation, Seed: s.Load.Seed,
	}
}
