package definition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"assay/check"
	"assay/history"
	"assay/load"
	"assay/measure"
)

// NoObservers is the part of a Work whose clients do all the reading.
type NoObservers struct{}

// Observers implements Work: none.
func (NoObservers) Observers() (clients []load.Client, perSecond float64) { return nil, 0 }

// NoPromise is the part of a Work that is judged by its own rules, whatever the
// database promises.
type NoPromise struct{}

// Promise implements Work: none.
func (NoPromise) Promise() string { return "" }

// InRounds is the part of a Work whose clients belong to its rounds.
type InRounds struct{ NoObservers }

// Client implements Work: there are none outside rounds.
func (InRounds) Client(context.Context, int) (load.Client, error) {
	return nil, errors.New("the workload is worked in rounds")
}

// LoadError says how far loading came before it ended.
type LoadError struct {
	Loaded, Total int64
	// One and Many are what the rows are called.
	One, Many string
	Err       error
}

func (e *LoadError) Error() string {
	return fmt.Sprintf("loading ended after %s of %s: %v; what is there carries assay's mark, and the next run starts clean",
		check.Count(e.Loaded), check.Counted(e.Total, e.One, e.Many), e.Err)
}

func (e *LoadError) Unwrap() error { return e.Err }

// Loading is how the rows of a workload are loaded.
type Loading struct {
	// Loaders is how many batches are loaded at the same time, Rows how many rows
	// there are, and Batch how many a batch has.
	Loaders     int
	Rows, Batch int64
	// One and Many are what the rows are called.
	One, Many string
	// Finish is called when all are in.
	Finish func(ctx context.Context) error
}

// Load loads all rows and calls loaded, as load.Batches does. Any failure gives a
// *LoadError.
func (l Loading) Load(ctx context.Context, batch func() load.Batch, loaded func(done, total int64)) error {
	done, err := load.Batches(ctx, l.Loaders, l.Rows, l.Batch, batch, loaded)
	if err == nil {
		err = l.Finish(ctx)
	}
	if err != nil {
		return &LoadError{Loaded: done, Total: l.Rows, One: l.One, Many: l.Many, Err: err}
	}
	return nil
}

// OneIDEach refuses the plan of a workload whose operations have one id, whatever
// the attempt, if it would try again under another.
func OneIDEach(p load.Plan) (load.Plan, error) {
	if p.Retry == load.RetryBlind {
		return p, &load.PlanError{Option: "--retry", Value: string(p.Retry), Want: "none, failed or idempotent"}
	}
	return p, nil
}

// InTurn is OneIDEach of a workload whose attempts stay on the goroutine that they are called
// on, so that its clients may take turns on one thread (load.Plan.Sequential).
func InTurn(p load.Plan) (load.Plan, error) {
	p.Sequential = true
	return OneIDEach(p)
}

// UnknownNotes say what became of operations that ended unknown, which are called so, as far
// as the state that was read back tells; none if there are no such operations.
func (e Evidence) UnknownNotes(one, many string, unknown, done int64) []string {
	what := check.Counted(unknown, one, many)
	if unknown == 0 {
		return nil
	} else if _, err := os.Stat(e.State); err != nil {
		return []string{"it is not known what became of " + what + ": the database was not read back"}
	}
	return []string{fmt.Sprintf("of %s %s turned out done, %s not done", what, check.CountOrNone(done), check.CountOrNone(unknown-done))}
}

// Missing says why what was replayed is not all there is to know, by how replaying ended;
// empty if it is. What is no reason for that is returned as an error.
func (e Evidence) Missing(replayed error) (why string, err error) {
	why, err = history.WhyMissing(replayed)
	return cmp.Or(why, e.InFlight), err
}

// Malformed is the error of a history with an attempt that cannot be understood.
func (e Evidence) Malformed(op *history.Op) error {
	return &history.FormatError{Path: e.History, Reason: fmt.Sprintf("operation %d of client %d cannot be understood", op.Seq, op.Client)}
}

// A run whose rounds are long tasks has times of rounds as its figures, and no
// percentiles over the whole. These are the least number of committed operations
// and the least time of all its rounds together.
const (
	minTasks    = 10
	minTaskTime = 500 * time.Millisecond
)

// LimitTasks are the limits of a known number of long tasks that differ from round
// to round; see Workload.Limit.
func LimitTasks(l *measure.Limits) {
	l.MinMeasured, l.MinCommitted, l.NoSteadyState = minTaskTime, minTasks, true
}
