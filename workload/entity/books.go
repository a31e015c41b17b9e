package entity

import (
	"fmt"

	"assay/history"
)

// status is what is known of one operation's entity: in the lower two bits what
// writing it ended as, above whether it was written at all and whether it is
// there.
type status uint8

const (
	outcomeBits status = 3
	putBit      status = 4
	thereBit    status = 8
	// wrongBit: what is there is not what was written.
	wrongBit status = 16
)

func (s status) outcome() history.Outcome { return history.Outcome(s & outcomeBits) }
func (s status) acknowledged() bool       { return s&putBit != 0 && s.outcome() == history.Committed }

// without reports whether the write has certainly had no effect.
func (s status) without() bool {
	return s.outcome() == history.Failed || s.outcome() == history.Rejected
}

// ledger is one client's operations, in their order.
type ledger struct {
	ops      []status
	ended    bool // the last of them
	reserved uint64
}

// books is the account of all clients of a run.
type books struct {
	clients map[int]*ledger
	// unrecorded are entities that may be there although the history has no
	// record of their write, which was cut off.
	unrecorded map[int64]bool
	// whole is true if the history was closed in order: then at most the
	// operation that each client was in has no record.
	whole bool
}

// newBooks knows what was there before the run: so many entities, all of them
// acknowledged.
func newBooks(loaded int64) *books {
	before := &ledger{ops: make([]status, loaded), ended: true}
	for i := range before.ops {
		before.ops[i] = putBit | status(history.Committed)
	}
	return &books{clients: map[int]*ledger{loader: before}, unrecorded: map[int64]bool{}}
}

func (b *books) client(n int) *ledger {
	l := b.clients[n]
	if l == nil {
		l = &ledger{ended: true}
		b.clients[n] = l
	}
	return l
}

// op enters one attempt. Those of one client come in their order.
func (b *books) op(op *history.Op) error {
	if op.Client >= loader {
		return fmt.Errorf("there can be no client %d", op.Client)
	}
	l := b.client(op.Client)
	first := l.ended
	if first {
		l.ops = append(l.ops, 0)
	}
	at := len(l.ops) - 1
	if op.Seq != uint64(at) || first != (op.Attempt == 1) {
		return fmt.Errorf("operation %d, attempt %d of client %d is not in its place", op.Seq, op.Attempt, op.Client)
	}
	l.ended = op.Last
	if op.Kind != KindPut {
		return nil
	}
	outcome := op.Outcome
	if op.Last && op.Final == history.Committed {
		outcome = history.Committed // an attempt before it was, as a duplicate has told
	}
	if !first {
		outcome = l.ops[at].outcome().Then(outcome)
	}
	l.ops[at] = putBit | status(outcome)
	return nil
}

// close says that there are no more attempts: whoever was to make another and
// has no record of it may have made it.
func (b *books) close(whole bool) {
	b.whole = whole
	for _, l := range b.clients {
		if at := len(l.ops) - 1; !l.ended && l.ops[at]&putBit != 0 {
			l.ops[at] = putBit | status(l.ops[at].outcome().Then(history.Unknown))
		}
	}
}

// place says what the books know of a key.
type place int

const (
	// foreign: no operation of this run can have written the entity.
	foreign place = iota
	// recorded: the history has its write.
	recorded
	// unrecorded: its write may have begun and has no record.
	unrecorded
)

// find looks a key up; s is its status, if it is recorded.
func (b *books) find(key int64) (p place, s *status) {
	client, seq := SplitKey(key)
	l := b.clients[client]
	switch {
	case l == nil:
		return foreign, nil
	case seq < uint64(len(l.ops)):
		if l.ops[seq]&putBit == 0 {
			return foreign, nil
		}
		return recorded, &l.ops[seq]
	case seq < l.reserved && (!b.whole || l.ended && seq == uint64(len(l.ops))):
		return unrecorded, nil
	default:
		return foreign, nil
	}
}

// there reports whether the entity of this key is there.
func (b *books) there(key int64) bool {
	p, s := b.find(key)
	return p == recorded && *s&thereBit != 0
}
