package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/fault"
	"assay/report"
	"assay/workload"
	"assay/workload/definition"
)

// loadRows puts the rows in, under the faults that are asked for meanwhile.
func (r *run) loadRows(ctx context.Context, loaded func(done, total int64)) error {
	all, err := r.scenario.faults()
	if err != nil {
		return err
	}
	faults, _ := fault.Phases(all)
	if len(faults) == 0 || !r.hasNodes() {
		return r.store.Load(ctx, loaded)
	}
	stop := r.injectLoading(ctx, faults)
	defer stop()
	// Faults are healed when all rows are in: what is made late is made once.
	r.loading.Again, err = throughFaults(ctx, r.store, loaded, stop)
	return err
}

// throughFaults loads through faults, if the workload can.
func throughFaults(ctx context.Context, store definition.Work, loaded func(done, total int64), rowsIn func()) (again int64, err error) {
	b, is := store.(*bounded)
	if is {
		store = b.Work
	}
	work, can := store.(definition.Reloading)
	if !can {
		return 0, &workload.OptionError{Option: "--fault", Value: "while loading", Want: "a workload whose loading survives them"}
	}
	if !is {
		return work.LoadThrough(ctx, loaded, rowsIn)
	}
	err = b.loadBy(ctx, loaded, func(ctx context.Context, loaded func(done, total int64)) (err error) {
		again, err = work.LoadThrough(ctx, loaded, rowsIn)
		return err
	})
	return again, err
}

// injectLoading injects faults while rows are loaded, until the returned function is
// called, which may be more than once and returns when all of them are healed.
func (r *run) injectLoading(ctx context.Context, faults []fault.Fault) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	start := time.Now()
	keeper := &loadingKeeper{start: start, note: r.options.Progress.Note}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		injections, err := r.doFaults(ctx, faults, fault.Plan{Start: start, Seed: r.scenario.Load.Seed}, keeper)
		if err != nil {
			r.options.Progress.Note("faults while loading: " + err.Error())
		}
		r.loading.Faults = loadingFaults(faults, injections, start, time.Since(start))
	}()
	return func() {
		cancel()
		<-ended
	}
}

// loadingKeeper says when a fault begins and ends while rows are loaded.
type loadingKeeper struct {
	start time.Time
	note  func(text string)
}

func (k *loadingKeeper) Injected(i fault.Injection) {
	k.note(fmt.Sprintf("%.1f s of loading: %s %v", i.InjectedAt.Sub(k.start).Seconds(), i.Fault, i.Nodes))
}

func (k *loadingKeeper) Healed(i fault.Injection) {
	k.note(fmt.Sprintf("%s: %s %v", healing(i, k.start, " of loading"), i.Fault, i.Nodes))
}

// loadingFaults are the faults for the report, with times since the start of loading;
// those whose time had not come when loading was over are skipped ones.
func loadingFaults(faults []fault.Fault, injections []fault.Injection, start time.Time, took time.Duration) (all []report.Fault) {
	for _, i := range injections {
		record := recordOf(i, start)
		all = append(all, record.reported(start.UTC()))
	}
	for _, f := range faults {
		if !slices.ContainsFunc(injections, func(i fault.Injection) bool { return i.Fault == f }) {
			never := recordOf(fault.Injection{Fault: f, Skipped: true,
				Problem: fmt.Sprintf("loading was over after %.1f s, before its time came; load more rows, or let it happen earlier", took.Seconds())}, start)
			all = append(all, never.reported(start.UTC()))
		}
	}
	return all
}

// unprovenLoading says which faults while loading did not do what was asked for.
func unprovenLoading(l *report.Loading) (reasons []string) {
	for i := range l.Faults {
		f := &l.Faults[i]
		switch name := f.Action + " " + f.Target + " while loading"; {
		case f.Skipped:
			reasons = append(reasons, "a fault did nothing: "+name+": "+f.Problem)
		case !f.Proven:
			reasons = append(reasons, fmt.Sprintf("a fault did nothing: %s, at %.1f s of it, is not proven to have taken effect", name, f.InjectedSecond))
		case f.HealedAt.IsZero():
			reasons = append(reasons, fmt.Sprintf("a fault was not healed: %s, at %.1f s of it: %s", name, f.InjectedSecond, f.Problem))
		}
	}
	return reasons
}
