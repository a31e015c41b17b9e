package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"assay/fault"
	"assay/history"
	"assay/load"
	"assay/report"
	"assay/runner/open"
	"assay/runner/record"
)

// faults parses the scenario's faults. It returns a *fault.ParseError.
func (s Scenario) faults() ([]fault.Fault, error) {
	var all []fault.Fault
	for _, text := range s.Faults {
		f, err := fault.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// injector injects the faults of a run.
type injector struct {
	into fault.System // nil for none
	// loading are the faults while rows are loaded, working those beside the load.
	loading, working []fault.Fault
	seed             uint64
	progress         Progress
	status           *Status
	monitor          Monitor
}

func (r *run) injector() injector {
	j := injector{into: r.system.Target(), seed: r.scenario.Load.Seed, progress: r.options.Progress, status: r.options.Status, monitor: r.options.Monitor}
	j.loading, j.working = fault.Phases(r.faults)
	return j
}

// beside injects faults beside the load. stop returns when all faults are healed. start is the
// zero of the run's clock.
func (j injector) beside(ctx context.Context, p load.Plan, file *history.Writer, start time.Time) (stop func()) {
	if len(j.working) == 0 || j.into == nil {
		return func() {}
	}
	keeper := &faultKeeper{file: file, start: start, note: j.progress.Note, status: j.status, monitor: j.monitor}
	plan := fault.Plan{Start: start.Add(p.Warmup), Duration: measuredLength(p), Seed: j.seed}
	heal := j.inject(ctx, j.working, plan, keeper, func(injections []fault.Injection) {
		for _, i := range append(injections, neverDone(j.working, injections, "skipped: the work ended before it could be done; run for longer, or let it happen earlier")...) {
			keeper.keep(i) // with what was proven of it
		}
	})
	return func() {
		j.progress.Stage("healing")
		heal()
	}
}

// neverDone are the faults without an injection, as skipped ones, with why: the work ended before
// their time, or while they looked for a primary.
func neverDone(faults []fault.Fault, injections []fault.Injection, why string) (all []fault.Injection) {
	number := 0
	for _, i := range injections {
		number = max(number, i.Number)
	}
	for _, f := range faults {
		if !slices.ContainsFunc(injections, func(i fault.Injection) bool { return i.Fault == f }) {
			number++
			all = append(all, fault.Injection{Number: number, Fault: f, Due: time.Now(), Skipped: true,
				Problem: why})
		}
	}
	return all
}

// inject injects faults into the nodes. stop returns when all faults are healed and ended has
// returned. It may be called again.
func (j injector) inject(ctx context.Context, faults []fault.Fault, plan fault.Plan, keeper *faultKeeper, ended func([]fault.Injection)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		injections, err := fault.Run(ctx, j.into, faults, plan, keeper)
		ended(injections)
		if err != nil {
			j.progress.Note("faults" + keeper.while + ": " + err.Error())
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// measuredLength is the length of the measured part; 0 if unknown.
func measuredLength(p load.Plan) time.Duration {
	if p.Ops > 0 {
		return 0
	}
	return p.Duration
}

// faultKeeper reports injections when they happen, and writes them into the history.
type faultKeeper struct {
	start time.Time
	note  func(text string)
	// phase and while are words for the notes about faults during loading.
	phase, while string
	// file is nil during loading: only a note then tells of the fault.
	file    *history.Writer
	status  *Status
	monitor Monitor
}

func (k *faultKeeper) Injected(i fault.Injection) {
	k.note(fmt.Sprintf("%.1f s%s: %s %v", i.InjectedAt.Sub(k.start).Seconds(), k.phase, i.Fault, i.Nodes))
	k.tell(i, true)
}

func (k *faultKeeper) Healed(i fault.Injection) {
	k.note(fmt.Sprintf("%s: %s %v", healing(i, k.start, k.phase), i.Fault, i.Nodes))
	k.tell(i, false)
}

func (k *faultKeeper) tell(i fault.Injection, active bool) {
	if k.file != nil {
		k.status.fault(i, k.start)
		k.monitor.Fault(record.ActionOf(i.Fault), i.Fault.Target, i.Nodes, active)
		k.keep(i)
	}
}

func healing(i fault.Injection, start time.Time, phase string) string {
	if i.HealedAt.IsZero() {
		return "not healed"
	}
	return fmt.Sprintf("%.1f s%s: healed", i.HealedAt.Sub(start).Seconds(), phase)
}

func (k *faultKeeper) keep(i fault.Injection) {
	text, err := json.Marshal(record.FaultOf(i, k.start))
	if err != nil {
		k.note("faults: " + err.Error())
		return
	}
	// The writer keeps its error, and its next user ends the run.
	_ = k.file.Mark(history.Event{At: max(int64(time.Since(k.start)), 0), Name: record.EventFault, Detail: string(text)})
}

// load loads the rows, and injects the faults for the time of loading.
func (j injector) load(ctx context.Context, db *open.Work, loaded func(done, total int64)) (l report.Loading, err error) {
	if len(j.loading) == 0 || j.into == nil {
		return l, db.Load(ctx, loaded)
	}
	start := time.Now()
	keeper := &faultKeeper{start: start, note: j.progress.Note, phase: " of loading", while: " while loading"}
	stop := j.inject(ctx, j.loading, fault.Plan{Start: start, Seed: j.seed}, keeper, func(injections []fault.Injection) {
		why := fmt.Sprintf("loading was over after %.1f s, before its time came; load more rows, or let it happen earlier", time.Since(start).Seconds())
		for _, i := range append(injections, neverDone(j.loading, injections, why)...) {
			happened := record.FaultOf(i, start)
			l.Faults = append(l.Faults, happened.Reported(start.UTC()))
		}
	})
	// All faults are healed before what must be made late is made.
	l.Again, err = db.LoadThrough(ctx, loaded, stop)
	stop()
	return l, err
}
