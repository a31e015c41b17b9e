package isolation

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"assay/check/cycle"
	"assay/history"
	"assay/workload"
)

// finalProcess is the process of the transaction that stands for reading the
// database back; no client has it.
const finalProcess = -1

// books turns the files of a run into a history for check/cycle, and takes
// what the other checks want to know.
//
// Each attempt is a transaction of its own. The state that was read back is
// one more, committed, after all others. And an operation that was reserved
// and has no record, because the run was killed in the middle of it, is an
// unknown one if somebody read an element of its: without that the element
// would be garbage, and the database would be convicted of our own end.
type books struct {
	transactions *Transactions
	evidence     Evidence
	state        state
	clients      map[int]*progress
	cycle        cycle.Builder
	// missing are the transactions without a record of which something was
	// read, and the windows of the keys where it was.
	missing map[int64]int64
	// rewritten is true if lists were written as a whole under a model that
	// allows lost updates. Then they are no lists that only grow but registers
	// whose value is their last element.
	rewritten bool

	kept   durability
	groups phantoms
	pairs  skews
	tally  history.Counts

	ended int64 // when the last attempt ended
	ops   []Op
	steps []cycle.Op
}

// progress is how far one client came.
type progress struct {
	reserved uint64
	// seq and attempt are those of its last record, which is the last of its
	// operation if over.
	seq     uint64
	attempt int
	over    bool
	// ended is when that attempt ended.
	ended int64
}

func (b *books) client(number int) *progress {
	p := b.clients[number]
	if p == nil {
		p = &progress{}
		b.clients[number] = p
	}
	return p
}

func (b *books) reserve(r history.Reservation) error {
	p := b.client(r.Client)
	p.reserved = max(p.reserved, r.UpTo)
	return nil
}

// progress is the first look at a record. A client works on one thing after
// the other, so its last record is the end of what is known of it.
func (b *books) progress(op *history.Op) error {
	p := b.client(op.Client)
	p.seq, p.attempt, p.over, p.ended = op.Seq, op.Attempt, op.Last, op.End
	b.ended = max(b.ended, op.End)
	if op.Last {
		b.tally.Add(op.Final, 1)
	}
	return nil
}

// unrecorded says whether an attempt may have been made though it has no
// record: it is beyond the client's last one, and reserved.
func (p *progress) unrecorded(seq uint64, attempt int) bool {
	switch {
	case seq >= p.reserved:
		return false
	case p.attempt == 0: // not one record
		return true
	case seq == p.seq:
		return !p.over && attempt > p.attempt
	default:
		return seq > p.seq
	}
}

// op is the second look at a record.
func (b *books) op(op *history.Op) error {
	if op.Error == workload.ClassBeyond {
		return nil // nothing was sent
	}
	ops, results, err := Decode(op.Values, b.ops)
	if err != nil || op.Outcome == history.Committed && !results {
		return b.malformed(op.Client, op.Seq, errors.Join(errRecord, err))
	}
	b.ops = ops
	outcome := op.Outcome
	if outcome == history.Committed && b.evidence.Losses.Uncertain(op.Start, op.End) {
		outcome = history.Unknown // it may be lost, and what it read too
	}
	committed := outcome == history.Committed
	switch kindOf(ops) {
	case KindPredicate:
		if committed {
			b.groups.look(op, ops)
		}
		return nil
	case KindPairs:
		if committed {
			b.pairs.look(op, ops)
		}
		return nil
	}
	b.kept.look(op, ops)
	return b.add(cycle.Txn{
		ID:      TransactionID(op.Client, op.Seq, op.Attempt),
		Process: int32(op.Client), Invoke: op.Start, Complete: op.End, Outcome: outcome,
	}, ops)
}

func (b *books) malformed(client int, seq uint64, err error) error {
	return &history.FormatError{Path: b.evidence.History, Reason: fmt.Sprintf("operation %d of client %d: %v", seq, client, err)}
}

// add enters a transaction with these operations.
func (b *books) add(t cycle.Txn, ops []Op) error {
	b.steps = b.steps[:0]
	for i := range ops {
		b.steps = append(b.steps, b.step(&ops[i], t.Outcome == history.Committed))
	}
	t.Ops = b.steps
	if err := b.cycle.Add(t); err != nil {
		return &history.FormatError{Path: b.evidence.History, Reason: err.Error()}
	}
	return nil
}

// step puts one operation into the words of check/cycle. What a transaction
// read counts only if it was committed.
func (b *books) step(o *Op, committed bool) cycle.Op {
	switch {
	case o.Kind == Append || o.Kind == AppendByRewrite:
		if b.rewritten {
			return cycle.Op{Kind: cycle.Write, Key: o.Key, Value: o.Value}
		}
		return cycle.Op{Kind: cycle.Append, Key: o.Key, Value: o.Value}
	case o.Kind == Write:
		return cycle.Op{Kind: cycle.Write, Key: o.Key, Value: o.Value}
	case !committed || o.Kind == ReadValue && !o.Found || o.Kind == ReadList && len(o.List) == 0:
		return cycle.Op{Kind: cycle.ReadNothing, Key: o.Key}
	case o.Kind == ReadValue:
		return cycle.Op{Kind: cycle.ReadValue, Key: o.Key, Value: b.element(o.Key, o.Value)}
	case b.rewritten:
		return cycle.Op{Kind: cycle.ReadValue, Key: o.Key, Value: b.element(o.Key, o.List[len(o.List)-1])}
	}
	for i, v := range o.List {
		o.List[i] = b.element(o.Key, v)
	}
	return cycle.Op{Kind: cycle.ReadList, Key: o.Key, List: o.List}
}

// element takes note of one that was read from a key, and returns the number
// by which check/cycle knows it.
func (b *books) element(key, v int64) int64 {
	client, seq, attempt, _, ok := SplitElement(v)
	if !ok {
		return b.number(v)
	}
	if p := b.clients[client]; p != nil && p.unrecorded(seq, attempt) && key >= 0 {
		b.missing[TransactionID(client, seq, attempt)] = b.transactions.WindowOf(key)
	}
	return v
}

// number returns a name for what no client can have made, since check/cycle
// does not take all numbers.
func (b *books) number(v int64) int64 {
	if v >= 0 {
		return v
	}
	return b.cycle.Symbol(strconv.FormatInt(v, 10))
}

// addState enters what was read back, with all that should have been there
// and was not.
func (b *books) addState() error {
	if b.state.missing != "" {
		return nil
	}
	steps := make([]cycle.Op, 0, len(b.state.lists)+len(b.state.values))
	for _, l := range b.state.lists {
		o := Op{Kind: ReadList, Key: b.foreign(l.key, l.key&1 != 0, "list"), List: b.state.elements[l.from:l.to]}
		steps = append(steps, b.step(&o, true))
	}
	for _, r := range b.state.values {
		o := Op{Kind: ReadValue, Key: b.foreign(r.key, r.key&1 == 0, "register"), Value: r.value, Found: true}
		steps = append(steps, b.step(&o, true))
	}
	for _, key := range b.kept.absent() {
		steps = append(steps, cycle.Op{Kind: cycle.ReadNothing, Key: key})
	}
	if len(steps) == 0 {
		return nil
	}
	err := b.cycle.Add(cycle.Txn{
		ID: -1, Process: finalProcess, Invoke: b.ended + 1, Complete: b.ended + 1,
		Outcome: history.Committed, Ops: steps,
	})
	if err != nil {
		return &history.FormatError{Path: b.evidence.State, Reason: err.Error()}
	}
	return nil
}

// foreign returns the key, or a name for one that is none of ours.
func (b *books) foreign(key int64, foreign bool, what string) int64 {
	if !foreign && key >= 0 {
		return key
	}
	return b.cycle.Symbol(what + " " + strconv.FormatInt(key, 10))
}

// addMissing enters the transactions without a record of which something was
// read. They began after the client's last record.
func (b *books) addMissing() error {
	ids := make([]int64, 0, len(b.missing))
	for id := range b.missing {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	operations := map[int64]bool{}
	for _, id := range ids {
		client, seq, attempt, _, _ := SplitElement(id)
		ops, err := b.transactions.At(client, seq, attempt, b.missing[id], b.ops)
		if err != nil {
			continue // no operation can have used that key
		}
		b.ops = ops
		if kind := kindOf(ops); kind != KindAppend && kind != KindRegister {
			continue
		}
		operations[TransactionID(client, seq, 0)] = true
		err = b.add(cycle.Txn{ID: id, Process: int32(client), Invoke: b.clients[client].ended}, ops)
		if err != nil {
			return err
		}
	}
	b.tally.Unknown += int64(len(operations))
	return nil
}
