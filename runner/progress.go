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

// Progress receives how a run goes. One goroutine at a time calls it.
type Progress interface {
	Stage(text string)
	// Rows says how many rows of the stage are done; total is 0 if unknown.
	Rows(done, total int64)
	Working(elapsed time.Duration, measuring bool, now measure.Snapshot)
	Note(text string)
}

// inTurn is a Progress that several goroutines may call: the load, its faults and the cluster
// do. It passes everything on to the status and to progress.
type inTurn struct {
	mu       sync.Mutex
	progress Progress
	status   *Status
}

func (p *inTurn) turn(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

func (p *inTurn) Stage(text string) {
	p.turn(func() { p.status.stage(text); p.progress.Stage(text) })
}

func (p *inTurn) Rows(done, total int64) {
	p.turn(func() { p.status.rows(done, total); p.progress.Rows(done, total) })
}

func (p *inTurn) Working(elapsed time.Duration, measuring bool, now measure.Snapshot) {
	p.turn(func() { p.status.working(elapsed, measuring, now); p.progress.Working(elapsed, measuring, now) })
}

func (p *inTurn) Note(text string) {
	p.turn(func() { p.status.note(text); p.progress.Note(text) })
}

// everySecond calls do once a second, first after a second. stop waits until do has returned.
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

// faultsText lists the faults of the loading, or of the measured part.
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

// Monitor follows a run from outside. Several goroutines call its methods at once. The methods
// must not wait.
type Monitor interface {
	// Begin comes when the work begins. operations names the kinds of operations.
	Begin(run, workload, database, version string, operations map[uint8]string)
	// Phase is given one of the Phase constants.
	Phase(phase string)
	Clients(n int)
	// Recorded is given each attempt of a client. It must not keep op.
	Recorded(op *history.Op)
	// Fault says that a fault took effect (active) or ended.
	Fault(action, target string, nodes []string, active bool)
}

// The phases of a run, in order.
const (
	PhaseConnecting = "connecting"
	PhaseLoading    = "loading"
	PhaseWarmup     = "warm-up"
	PhaseMeasuring  = "measuring"
	PhaseSettling   = "settling"
	PhaseChecking   = "checking"
)

type unmonitored struct{}

func (unmonitored) Begin(string, string, string, string, map[uint8]string) {}
func (unmonitored) Phase(string)                                           {}
func (unmonitored) Clients(int)                                            {}
func (unmonitored) Recorded(*history.Op)                                   {}
func (unmonitored) Fault(string, string, []string, bool)                   {}

// operationsOf names the kinds of operations of the workload's clients. Observers are not
// monitored.
func operationsOf(s Scenario) map[uint8]string {
	w, names := s.definition(), maps.Clone(s.operationNames())
	maps.DeleteFunc(names, func(kind uint8, _ string) bool { return w.Measures != nil && !w.Measures(kind) })
	return names
}

func (s Scenario) operationNames() map[uint8]string {
	if named, is := s.Config.(definition.Named); is {
		return named.OperationNames()
	}
	return s.definition().Operations
}

// tee records an operation in the file, the live figures and the monitor.
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
