package work

import (
	"context"
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
// until they are healed; then one reads.
func TestObserversReadOnceAllIsHealed(t *testing.T) {
	t.Parallel()
	var healed atomic.Bool
	to, start := &counting{}, time.Now()
	stop := Observe(t.Context(), []load.Client{cutOff{&healed}}, PlanOfObservers(load.Defaults(), 1, 1000), to, 4, func() int64 { return int64(time.Since(start)) })
	time.Sleep(20 * time.Millisecond)
	if err := stop(func() { healed.Store(true) }); err != nil || to.committed.Load() != 1 {
		t.Errorf("%d reads, %v", to.committed.Load(), err)
	}
}
