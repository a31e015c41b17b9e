package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assay/fault"
	"assay/history"
	"assay/load"
)

// faults are the scenario's faults; a text that is none gives a
// *fault.ParseError.
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

// injectFaults injects the scenario's faults beside the load until the returned
// function is called, which returns when all of them are healed. start is the
// zero of the run's clock.
func (r *run) injectFaults(ctx context.Context, file *history.Writer, start time.Time) (stop func()) {
	all, err := r.scenario.faults()
	_, faults := fault.Phases(all)
	if err != nil || len(faults) == 0 || !r.hasNodes() { // the error was seen when the scenario was validated
		return func() {}
	}
	acting, cancel := context.WithCancel(ctx)
	keeper := &faultKeeper{file: file, start: start, note: r.options.Progress.Note, status: r.options.Status, monitor: r.options.Monitor}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		injections, err := r.doFaults(acting, faults, fault.Plan{
			Start: start.Add(r.scenario.Load.Warmup), Duration: measuredLength(r.scenario.Load), Seed: r.scenario.Load.Seed,
		}, keeper)
		for _, i := range injections {
			keeper.keep(i) // with what was proven of it
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			r.options.Progress.Note("faults: " + err.Error())
		}
	}()
	return func() {
		r.options.Progress.Stage("healing")
		cancel()
		<-ended
	}
}

// measuredLength is the length of the measured part; 0 if it is not known.
func measuredLength(p load.Plan) time.Duration {
	if p.Ops > 0 {
		return 0
	}
	return p.Duration
}

// faultKeeper writes injections into the history at the moment they happen.
type faultKeeper struct {
	file  *history.Writer
	start time.Time
	note  func(text string)
	// status is told of what happens.
	status *Status
	// monitor learns of each fault, too.
	monitor Monitor
}

// Injected implements fault.Recorder.
func (k *faultKeeper) Injected(i fault.Injection) {
	k.note(fmt.Sprintf("%.1f s: %s %v", i.InjectedAt.Sub(k.start).Seconds(), i.Fault, i.Nodes))
	k.status.fault(i, k.start)
	k.monitor.Fault(actionOf(i.Fault), i.Fault.Target, i.Nodes, true)
	k.keep(i)
}

// Healed implements fault.Recorder.
func (k *faultKeeper) Healed(i fault.Injection) {
	k.note(fmt.Sprintf("%s: %s %v", healing(i, k.start, ""), i.Fault, i.Nodes))
	k.status.fault(i, k.start)
	k.monitor.Fault(actionOf(i.Fault), i.Fault.Target, i.Nodes, false)
	k.keep(i)
}

// healing says when a fault was healed, if it was.
func healing(i fault.Injection, start time.Time, phase string) string {
	if i.HealedAt.IsZero() {
		return "not healed"
	}
	return fmt.Sprintf("%.1f s%s: healed", i.HealedAt.Sub(start).Seconds(), phase)
}

func (k *faultKeeper) keep(i fault.Injection) {
	text, err := json.Marshal(recordOf(i, k.start))
	if err != nil {
		k.note("faults: " + err.Error())
		return
	}
	// A failure to write stays with the writer, and ends the run there.
	_ = k.file.Mark(history.Event{At: max(int64(time.Since(k.start)), 0), Name: eventFault, Detail: string(text)})
}

// recordOf is an injection as it is recorded, with times since start.
func recordOf(i fault.Injection, start time.Time) faultRecord {
	since := func(t time.Time) int64 {
		if t.IsZero() {
			return 0
		}
		return max(int64(t.Sub(start)), 0)
	}
	at := i.InjectedAt
	if at.IsZero() {
		at = i.Due
	}
	f := faultRecord{
		Number: i.Number, Action: actionOf(i.Fault), Target: i.Fault.Target, Nodes: i.Nodes,
		Injected: since(at), Cut: since(i.CutAt), Healed: since(i.HealedAt), Proven: i.Proven, Proof: i.Proof, Healing: i.Healing,
		Problem: i.Problem, Skipped: i.Skipped, NewPrimary: i.NewPrimary, NewPrimaryAfter: int64(i.NewPrimaryAfter),
	}
	if i.Detail != "" {
		f.Proof = joined(i.Detail, f.Proof)
	}
	return f
}

func joined(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}

// actionOf is the action with its value, if it has one.
func actionOf(f fault.Fault) string {
	f.Target, f.At, f.Every, f.For = "", -1, 0, 0
	f.Loading = false
	text := f.String()
	return text[:len(text)-1] // the space before the target
}
