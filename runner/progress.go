package runner

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"assay/check"
	"assay/fault"
	"assay/history"
	"assay/measure"
	"assay/workload/definition"
)

// Progress receives how a run goes. It is called from one goroutine at a time.
type Progress interface {
	// Stage begins a stage of the run.
	Stage(text string)
	// Rows says how many rows of the stage are done; total is 0 if unknown.
	Rows(done, total int64)
	// Working says once a second how the work goes.
	Working(elapsed time.Duration, measuring bool, now measure.Snapshot)
	// Note is a remark that the user should see.
	Note(text string)
}

// inTurn keeps Progress's promise of being called from one goroutine at a time:
// the load, its faults and the cluster all have something to say. It keeps the
// status beside it.
type inTurn struct {
	mu       sync.Mutex
	progress Progress
	status   *Status
}

// turn does something while nothing else is told.
func (p *inTurn) turn(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

// Stage implements Progress.
func (p *inTurn) Stage(text string) {
	p.turn(func() { p.status.stage(text); p.progress.Stage(text) })
}

// Rows implements Progress.
func (p *inTurn) Rows(done, total int64) {
	p.turn(func() { p.status.rows(done, total); p.progress.Rows(done, total) })
}

// Working implements Progress.
func (p *inTurn) Working(elapsed time.Duration, measuring bool, now measure.Snapshot) {
	p.turn(func() { p.status.working(elapsed, measuring, now); p.progress.Working(elapsed, measuring, now) })
}

// Note implements Progress.
func (p *inTurn) Note(text string) {
	p.turn(func() { p.status.note(text); p.progress.Note(text) })
}

// everySecond does something once a second, for the first time in a second, until the
// returned function is called, which waits until it is not being done.
func everySecond(do func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				do()
			}
		}
	}()
	return func() { close(quit); <-done }
}

// workingText is the stage of the work, with the faults that are to happen meanwhile.
func workingText(s Scenario) string {
	p := s.Load
	loop := "closed loop"
	if p.Rate > 0 {
		loop = fmt.Sprintf("open loop, %s arrivals at %g/s", p.Arrivals, p.Rate)
	}
	length := fmt.Sprintf("%v", p.Duration)
	if p.Ops > 0 {
		length = check.Counted(p.Ops, "operation", "operations")
	}
	return fmt.Sprintf("working: %s, %s, %s after %v of warm-up, seed %d", check.Counted(p.Clients, "client", "clients"), loop, length, p.Warmup, p.Seed) +
		s.faultsText(false)
}

// faultsText says which faults are to happen while rows are loaded, or in the measured
// part.
func (s Scenario) faultsText(loading bool) string {
	var texts []string
	for _, text := range s.Faults {
		if f, err := fault.Parse(text); err == nil && f.Loading == loading {
			texts = append(texts, f.String())
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return "; faults: " + strings.Join(texts, ", ")
}

// Monitor follows a run under way, for whoever watches it from outside. Its methods are
// called from several goroutines at once and must not wait.
type Monitor interface {
	// Begin says which run begins to work, and what its kinds of operations are called.
	Begin(run, workload, database, version string, operations map[uint8]string)
	// Phase says in which of its phases the run is.
	Phase(phase string)
	// Clients says how many clients work, 0 for none.
	Clients(n int)
	// Recorded is one attempt of a client; the op must not be kept.
	Recorded(op *history.Op)
	// Fault says that a fault took effect, or that it was ended.
	Fault(action, target string, nodes []string, active bool)
}

// The phases of a run, in their order.
const (
	PhaseConnecting = "connecting"
	PhaseLoading    = "loading"
	PhaseWarmup     = "warm-up"
	PhaseMeasuring  = "measuring"
	PhaseSettling   = "settling"
	PhaseChecking   = "checking"
)

// unmonitored is the Monitor of a run that nobody watches.
type unmonitored struct{}

func (unmonitored) Begin(string, string, string, string, map[uint8]string) {}
func (unmonitored) Phase(string)                                           {}
func (unmonitored) Clients(int)                                            {}
func (unmonitored) Recorded(*history.Op)                                   {}
func (unmonitored) Fault(string, string, []string, bool)                   {}

// operationsOf are the kinds of operations that the clients of a workload do; observers
// are not monitored.
func operationsOf(s Scenario) map[uint8]string {
	w, names := s.definition(), maps.Clone(s.operationNames())
	maps.DeleteFunc(names, func(kind uint8, _ string) bool { return w.Measures != nil && !w.Measures(kind) })
	return names
}

// operationNames are all kinds of operations of a scenario.
func (s Scenario) operationNames() map[uint8]string {
	if named, is := s.Config.(definition.Named); is {
		return named.OperationNames()
	}
	return s.definition().Operations
}

// tee records an operation in the file and in the live figures.
type tee struct {
	*history.Writer
	live    *measure.Live
	monitor Monitor
}

func (t *tee) Record(op *history.Op) error {
	t.live.Add(op)
	t.monitor.Recorded(op)
	return t.Writer.Record(op)
}

func (t *tee) Mark(e history.Event) error {
	if e.Name == history.EventMeasureStart {
		t.monitor.Phase(PhaseMeasuring)
	}
	return t.Writer.Mark(e)
}
