package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/runner/catalog"
	"assay/store"
)

const (
	nullDriver   = "null"
	nullAddress  = "null://"
	overheadTime = 3 * time.Second
)

func (s Scenario) validateOverhead() error {
	if !s.Overhead {
		return nil
	}
	driver, err := catalog.DriverFor(nullAddress)
	if err != nil {
		return err
	}
	if support := driver.Support(s.Workload); support.Open == nil {
		return &store.OptionError{Option: "--overhead", Value: "workload " + s.Workload, Want: "one that the null store serves: " + support.Reason}
	}
	return nil
}

// overhead measures assay's own cost at the run's pace: the same clients do the same number of
// operations a second, in an open loop, on a store that answers at once. The history is included.
func (r *run) overhead(ctx context.Context, measured *report.Result) (*report.Overhead, error) {
	pace := float64(measured.Measured.Total()) / max(measured.Throughput.Seconds, 1e-9)
	if pace <= 0 {
		return nil, errors.New("nothing was measured")
	}
	folder, err := os.MkdirTemp("", "assay-overhead-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	s := r.scenario
	s.Database, s.Cluster, s.Options, s.Faults, s.Thresholds, s.Isolation = nullAddress, "", nil, nil, nil, ""
	s.Drop, s.Overhead, s.NoServerStats = false, false, true
	s.Load.Ops, s.Load.Ramp, s.Load.Retry = 0, 0, load.RetryNone
	s.Load.Rate, s.Load.Arrivals = pace, load.Uniform
	s.Load.Warmup, s.Load.Duration = time.Second/2, overheadTime
	out, err := Run(ctx, s, Options{Version: r.options.Version, Out: filepath.Join(folder, "run"), Progress: unseen{}})
	if err != nil {
		return nil, err
	}
	null := out.Result
	own, known := null.ClientProcessor()
	all, measuredToo := measured.ClientProcessor()
	if !known || !measuredToo || null.Measured.Committed == 0 {
		return nil, errors.New("the use of the processor is not known")
	}
	return &report.Overhead{
		Rate: pace, Seconds: null.Throughput.Seconds, P50: null.Latency.P50, P99: null.Latency.P99,
		CPU: own, RunCPU: all,
	}, nil
}

// enterOverhead measures assay's own cost and writes the result again. A failure is a note.
func (r *run) enterOverhead(ctx context.Context) (Outcome, error) {
	r.options.Progress.Stage("measuring what assay itself takes")
	overhead, err := r.overhead(ctx, r.result)
	if err != nil {
		note := fmt.Sprintf("what assay itself takes could not be measured: %v", err)
		r.note(note)
		r.result.Notes = append(r.result.Notes, note)
	}
	r.result.Overhead = overhead
	return write(r.folder, r.scenario, r.result)
}

type unseen struct{}

func (unseen) Stage(string)                                  {}
func (unseen) Rows(int64, int64)                             {}
func (unseen) Working(time.Duration, bool, measure.Snapshot) {}
func (unseen) Note(string)                                   {}
