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

// NoObservers is embedded in a Work without observers.
type NoObservers struct{}

func (NoObservers) Observers() (clients []load.Client, perSecond float64) { return nil, 0 }

// NoPromise is embedded in a Work that judges by its own rules alone.
type NoPromise struct{}

func (NoPromise) Promise() string { return "" }

// InRounds is embedded in a Work that has clients in rounds only.
type InRounds struct{ NoObservers }

func (InRounds) Client(context.Context, int) (load.Client, error) {
	return nil, errors.New("the workload is worked in rounds")
}

// LoadError says how far loading came before it failed.
type LoadError struct {
	Loaded, Total int64
	One, Many     string
	Err           error
}

func (e *LoadError) Error() string {
	return fmt.Sprintf("loading ended after %s of %s: %v; what is there carries assay's mark, and the next run starts clean",
		check.Count(e.Loaded), check.Counted(e.Total, e.One, e.Many), e.Err)
}

func (e *LoadError) Unwrap() error { return e.Err }

// Loading says how to load the rows of a workload.
type Loading struct {
	Loaders     int
	Rows, Batch int64
	One, Many   string
	// Finish is called when all rows are in.
	Finish func(ctx context.Context) error
}

// Load loads all rows; loaded is as in load.Batches. Every failure is a *LoadError.
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

// OneIDEach refuses blind retries: all attempts of an operation have one id.
func OneIDEach(p load.Plan) (load.Plan, error) {
	if p.Retry == load.RetryBlind {
		return p, &load.PlanError{Option: "--retry", Value: string(p.Retry), Want: "none, failed or idempotent"}
	}
	return p, nil
}

// InTurn is OneIDEach where attempts stay on the calling goroutine, so that clients can take
// turns on one thread (load.Plan.Sequential).
func InTurn(p load.Plan) (load.Plan, error) {
	p.Sequential = true
	return OneIDEach(p)
}

// UnknownNotes says how many unknown operations were done, as far as the state tells.
func (e Evidence) UnknownNotes(one, many string, unknown, done int64) []string {
	what := check.Counted(unknown, one, many)
	if unknown == 0 {
		return nil
	} else if _, err := os.Stat(e.State); err != nil {
		return []string{"it is not known what became of " + what + ": the database was not read back"}
	}
	return []string{fmt.Sprintf("of %s %s turned out done, %s not done", what, check.CountOrNone(done), check.CountOrNone(unknown-done))}
}

// Missing turns a replay's error into the reason why rows are missing; empty if none are. It
// returns any other error.
func (e Evidence) Missing(replayed error) (why string, err error) {
	why, err = history.WhyMissing(replayed)
	return cmp.Or(why, e.InFlight), err
}

// Malformed is the error for an attempt in the history that makes no sense.
func (e Evidence) Malformed(op *history.Op) error {
	return &history.FormatError{Path: e.History, Reason: fmt.Sprintf("operation %d of client %d cannot be understood", op.Seq, op.Client)}
}

// Least commits and time of all rounds, where times of long tasks stand in place of percentiles.
const (
	minTasks    = 10
	minTaskTime = 500 * time.Millisecond
)

// LimitTasks is a Workload.Limit for a known number of long tasks that differ by round.
func LimitTasks(l *measure.Limits) {
	l.MinMeasured, l.MinCommitted, l.NoSteadyState = minTaskTime, minTasks, true
}
