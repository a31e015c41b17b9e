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

// injectFaults injects the scenario's faults beside the load. stop returns when all faults are
// healed. start is the zero of the run's clock.
func (r *run) injectFaults(ctx context.Context, file *history.Writer, start time.Time) (stop func()) {
	all, err := r.scenario.faults()
	_, faults := fault.Phases(all)
	if err != nil || len(faults) == 0 || !r.hasNodes() { // the error was seen when the scenario was validated
		return func() {}
	}
	keeper := &faultKeeper{file: file, start: start, note: r.options.Progress.Note, status: r.options.Status, monitor: r.options.Monitor}
	plan := fault.Plan{Start: start.Add(r.scenario.Load.Warmup), Duration: measuredLength(r.scenario.Load), Seed: r.scenario.Load.Seed}
	heal := r.inject(ctx, faults, plan, keeper, func(injections []fault.Injection) {
		for _, i := range injections {
			keeper.keep(i) // with what was proven of it
		}
	})
	return func() {
		r.options.Progress.Stage("healing")
		heal()
	}
}

// inject injects faults into the nodes. stop returns when all faults are healed and ended has
// returned. It may be called again.
func (r *run) inject(ctx context.Context, faults []fault.Fault, plan fault.Plan, keeper *faultKeeper, ended func([]fault.Injection)) (stop func()) {
	there := r.system()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		injections, err := fault.Run(ctx, there, faults, plan, keeper)
		ended(injections)
		if err != nil {
			r.options.Progress.Note("faults" + keeper.while + ": " + err.Error())
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

// loadRows loads the rows, and injects the faults for the time of loading.
func (r *run) loadRows(ctx context.Context, loaded func(done, total int64)) error {
	all, err := r.scenario.faults()
	if err != nil {
		return err
	}
	faults, _ := fault.Phases(all)
	if len(faults) == 0 || !r.hasNodes() {
		return r.store.Load(ctx, loaded)
	}
	start := time.Now()
	keeper := &faultKeeper{start: start, note: r.options.Progress.Note, phase: " of loading", while: " while loading"}
	stop := r.inject(ctx, faults, fault.Plan{Start: start, Seed: r.scenario.Load.Seed}, keeper, func(injections []fault.Injection) {
		r.loading.Faults = loadingFaults(faults, injections, start, time.Since(start))
	})
	defer stop()
	// All faults are healed before what must be made late is made.
	r.loading.Again, err = r.store.LoadThrough(ctx, loaded, stop)
	return err
}

// loadingFaults returns the faults for the report, with times since the start of loading.
// Faults whose time did not come are reported as skipped.
func loadingFaults(faults []fault.Fault, injections []fault.Injection, start time.Time, took time.Duration) (all []report.Fault) {
	for _, i := range injections {
		happened := record.FaultOf(i, start)
		all = append(all, happened.Reported(start.UTC()))
	}
	for _, f := range faults {
		if !slices.ContainsFunc(injections, func(i fault.Injection) bool { return i.Fault == f }) {
			never := record.FaultOf(fault.Injection{Fault: f, Skipped: true,
				Problem: fmt.Sprintf("loading was over after %.1f s, before its time came; load more rows, or let it happen earlier", took.Seconds())}, start)
			all = append(all, never.Reported(start.UTC()))
		}
	}
	return all
}
