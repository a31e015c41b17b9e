package availability

import (
	"fmt"
	"math"
	"sort"

	"assay/history"
)

// status is what is known of the row of one key: in the lower two bits what
// its insert ended as, above whether the row is there.
type status uint8

const (
	outcomeBits status = 3
	thereBit    status = 4
)

func (s status) outcome() history.Outcome { return history.Outcome(s & outcomeBits) }
func (s status) there() bool              { return s&thereBit != 0 }

// without reports whether the insert has certainly left no row.
func (s status) without() bool {
	return s.outcome() == history.Failed || s.outcome() == history.Rejected
}

// ledger is one writer's keys, in the order of operations and attempts.
type ledger struct {
	keys []status
	// starts is when each key's first attempt began, in whole milliseconds
	// since the start of the run, which does for 49 days.
	starts []uint32
	// several are the operations with more than one key.
	several []several
	// ops is how many operations began, and ended whether the last of them
	// did. reserved is the first number that none can have.
	ops      uint64
	attempts int // of the last operation
	ended    bool
	reserved uint64
	// reads is true if this is no writer but a reader, whose numbers make no
	// keys.
	reads bool
}

// several is an operation with more than one key, and how many keys beyond one
// each there are up to and with it.
type several struct {
	seq   uint64
	extra int
}

// books is the account of all writers of a run.
type books struct {
	policy  Policy
	writers map[int]*ledger
	// unrecorded are rows that may be there although the history has no record
	// of their insert, which was cut off. There are at most as many as were
	// reserved.
	unrecorded map[int64]bool
	// whole is true if the history was closed in order: then at most the
	// operation that each client was in has no record.
	whole bool
}

func newBooks(policy Policy) *books {
	return &books{policy: policy, writers: map[int]*ledger{}, unrecorded: map[int64]bool{}}
}

func (b *books) writer(client int) *ledger {
	w := b.writers[client]
	if w == nil {
		w = &ledger{ended: true}
		b.writers[client] = w
	}
	return w
}

// insert enters one attempt. Those of one client come in their order.
func (b *books) insert(op *history.Op) error {
	w := b.writer(op.Client)
	if w.ended {
		w.ops, w.attempts = w.ops+1, 0
	}
	if op.Seq != w.ops-1 || op.Attempt != w.attempts+1 {
		return fmt.Errorf("operation %d, attempt %d of client %d is not in its place", op.Seq, op.Attempt, op.Client)
	}
	if op.Client > MaxClient {
		return fmt.Errorf("client %d cannot have made keys", op.Client)
	}
	w.attempts, w.ended = op.Attempt, op.Last
	outcome := op.Outcome
	if op.Last && op.Final == history.Committed && b.policy == PolicyIdempotent {
		outcome = history.Committed // an attempt before it was, as a duplicate has told
	}
	switch {
	case op.Attempt == 1:
		w.keys = append(w.keys, status(outcome))
		w.starts = append(w.starts, uint32(min(max(op.Start, 0)/1e6, math.MaxUint32)))
	case b.policy == PolicyIdempotent:
		last := &w.keys[len(w.keys)-1]
		*last = status(last.outcome().Then(outcome))
	default:
		w.keys = append(w.keys, status(outcome))
		w.starts = append(w.starts, uint32(min(max(op.Start, 0)/1e6, math.MaxUint32)))
		w.another(op.Seq)
	}
	return nil
}

// close says that there are no more attempts: whoever was to make another and
// has no record of it may have made it.
func (b *books) close(whole bool) {
	b.whole = whole
	for _, w := range b.writers {
		if !w.ended && b.policy == PolicyIdempotent {
			last := &w.keys[len(w.keys)-1]
			*last = status(last.outcome().Then(history.Unknown))
		}
	}
}

// another notes that an operation has one key more.
func (w *ledger) another(seq uint64) {
	extra := 0
	if n := len(w.several); n > 0 {
		extra = w.several[n-1].extra
		if w.several[n-1].seq == seq {
			w.several[n-1].extra++
			return
		}
	}
	w.several = append(w.several, several{seq, extra + 1})
}

// span returns where the keys of an operation are.
func (w *ledger) span(seq uint64) (first, end int) {
	i := sort.Search(len(w.several), func(i int) bool { return w.several[i].seq >= seq })
	before := 0
	if i > 0 {
		before = w.several[i-1].extra
	}
	first = int(seq) + before
	end = first + 1
	if i < len(w.several) && w.several[i].seq == seq {
		end += w.several[i].extra - before
	}
	return first, end
}

// place says what the books know of a key.
type place int

const (
	// foreign: no attempt of this run can have written the row.
	foreign place = iota
	// recorded: the history has its insert.
	recorded
	// unrecorded: its insert may have begun and has no record.
	unrecorded
)

// find looks a key up; w and at say where it is, if it is recorded.
func (b *books) find(key int64) (p place, w *ledger, at int) {
	client, seq, attempt, ok := SplitKey(key)
	if w = b.writers[client]; !ok || w == nil || w.reads || (attempt == 0) != (b.policy == PolicyIdempotent) {
		return foreign, nil, 0
	}
	if seq < w.ops {
		first, end := w.span(seq)
		at := first + max(attempt-1, 0)
		if at < end {
			return recorded, w, at
		}
		if seq == w.ops-1 && !w.ended && (!b.whole || attempt == w.attempts+1) {
			return unrecorded, nil, 0 // an attempt that never came back
		}
		return foreign, nil, 0
	}
	next := seq == w.ops && w.ended && attempt <= 1
	if seq < w.reserved && (next || !b.whole && (attempt <= 1 || b.repeats())) {
		return unrecorded, nil, 0
	}
	return foreign, nil, 0
}

// repeats reports whether an operation can have more than one key.
func (b *books) repeats() bool { return b.policy == PolicyRetry }

// there reports whether the row of this key is there.
func (b *books) there(key int64) bool {
	p, w, at := b.find(key)
	return p == recorded && w.keys[at].there() || p == unrecorded && b.unrecorded[key]
}
