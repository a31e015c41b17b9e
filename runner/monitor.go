package runner

import (
	"maps"

	"assay/history"
	"assay/measure"
	"assay/workload/definition"
)

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
