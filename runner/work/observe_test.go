package work

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"assay/history"
	"assay/load"
)

// cutOff is an observer without an answer until the faults are healed.
type cutOff struct{ healed *atomic.Bool }

func (c cutOff) Attempt(context.Context, uint64, int) load.Answer {
	if c.healed.Load() {
		return load.Answer{Outcome: history.Committed}
	}
	return load.Answer{Outcome: history.Failed, Class: "cannot connect"}
}

func (cutOff) Close() {}

type counting struct{ committed atomic.Int64 }

func (k *counting) Record(op *history.Op) error {
	if op.Outcome == history.Committed {
		k.committed.Add(1)
	}
	return nil
}
func (*counting) Mark(history.Event) error          { return nil }
func (*counting) Reserve(history.Reservation) error { return nil }

// TestObserversReadOnceAllIsHealed: faults that outlive the work leave observers without answers
// until they are healed; then one reads. It needs no time limit of the plan.
func TestObserversReadOnceAllIsHealed(t *testing.T) {
	t.Parallel()
	var healed atomic.Bool
	to, start := &counting{}, time.Now()
	unlimited := load.Defaults()
	unlimited.Timeout = 0
	stop := Observe(t.Context(), []load.Client{cutOff{&healed}}, PlanOfObservers(unlimited, 1, 1000), to, 4, func() int64 { return int64(time.Since(start)) })
	time.Sleep(20 * time.Millisecond)
	if err := stop(func() { healed.Store(true) }); err != nil || to.committed.Load() != 1 {
		t.Errorf("%d reads, %v", to.committed.Load(), err)
	}
}

// marks keeps the events' names.
type marks struct {
	counting
	names []string
}

func (m *marks) Mark(e history.Event) error {
	m.names = append(m.names, e.Name)
	return nil
}

// TestMarksOfClientsArePassedOn: the first error of a class and a stall are the clients'. The rest
// is the run's.
func TestMarksOfClientsArePassedOn(t *testing.T) {
	t.Parallel()
	to := &marks{}
	within := &Within{Recorder: to, Offset: 3}
	for _, name := range []string{history.EventMeasureStart, history.EventFirstError, history.EventStalled, history.EventMeasureEnd, history.EventCut} {
		if err := within.Mark(history.Event{Name: name}); err != nil {
			t.Error(err)
		}
	}
	if want := []string{history.EventFirstError, history.EventStalled}; !slices.Equal(to.names, want) {
		t.Errorf("passed on %q, want %q", to.names, want)
	}
}
