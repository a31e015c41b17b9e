package cycle

import (
	"errors"
	"fmt"
	"slices"

	"assay/history"
)

// eventType is what an event of a log says of a transaction.
type eventType uint8

const (
	invoked eventType = iota
	succeeded
	failedEvent
	indefinite
)

// event is one event of a log in which each transaction has two: that it was
// begun, and how it ended.
type event struct {
	kind    eventType
	process int32
	index   int64 // its number in the log, or -1
	ops     []Op
}

// events puts the two events of each transaction together. Events come in the
// order of time.
type events struct {
	b    Builder
	open map[int32]*begun
	now  int64
}

// begun is a transaction that has not ended.
type begun struct {
	at, index int64
	ops       []Op
	busy      bool
}

func newEvents() *events { return &events{open: map[int32]*begun{}} }

// add takes the next event, whose symbols are those of l.b. Nothing of it is
// kept. The operations of one that failed or is indefinite are not looked at.
func (l *events) add(e event) error {
	at := l.now
	l.now++
	if e.index < 0 {
		e.index = at
	}
	t := l.open[e.process]
	if t == nil {
		t = &begun{}
		l.open[e.process] = t
	}
	if e.kind == invoked {
		if t.busy {
			return fmt.Errorf("process %d begins a transaction while it runs another", e.process)
		}
		t.at, t.index, t.busy = at, e.index, true
		t.ops = append(t.ops[:0], e.ops...)
		for i := range t.ops {
			t.ops[i].List = nil
		}
		return nil
	}
	if !t.busy {
		return fmt.Errorf("process %d ends a transaction that it never began", e.process)
	}
	t.busy = false
	txn := Txn{ID: e.index, Process: e.process, Invoke: t.at, Complete: at, Ops: t.ops}
	switch e.kind {
	case succeeded:
		if err := t.matches(e.ops); err != nil {
			return err
		}
		txn.Outcome, txn.Ops = history.Committed, e.ops
	case failedEvent:
		txn.Outcome = history.Failed
	}
	return reason(l.b.Add(txn))
}

// reason returns the reason of an *InputError, without the number that the
// line gives better.
func reason(err error) error {
	var bad *InputError
	if errors.As(err, &bad) {
		return errors.New(bad.Reason)
	}
	return err
}

// matches says whether what was done is what was to be done.
func (t *begun) matches(done []Op) error {
	if len(done) != len(t.ops) {
		return fmt.Errorf("the transaction was begun with %d operations and ended with %d", len(t.ops), len(done))
	}
	for i, a := range t.ops {
		b := done[i]
		writes := a.Kind == Append || a.Kind == Write
		if a.Key != b.Key || writes != (b.Kind == Append || b.Kind == Write) ||
			writes && (a.Kind != b.Kind || a.Value != b.Value) {
			return fmt.Errorf("operation %d is not the one with which the transaction was begun", i)
		}
	}
	return nil
}

// history returns what was collected; what has not ended may yet take effect.
func (l *events) history() *History {
	var left []int32
	for process, t := range l.open {
		if t.busy {
			left = append(left, process)
		}
	}
	slices.Sort(left)
	for _, process := range left {
		t := l.open[process]
		// Its operations were vetted when they were read, but for their
		// keys' kinds: one that does not fit them is left out.
		_ = l.b.Add(Txn{ID: t.index, Process: process, Invoke: t.at, Ops: t.ops})
	}
	return l.b.History()
}
