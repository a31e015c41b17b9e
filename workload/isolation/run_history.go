package isolation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"assay/check/cycle"
	"assay/history"
	"assay/store"
	"assay/workload/definition"
)

// finalProcess does the transaction that stands for reading back.
const finalProcess = -1

// judge turns a run into a history for check/cycle and feeds the other checks.
//
// Each attempt is a transaction. The state read back is one more, committed after all others. A
// reserved operation without a record, because the run was killed, is an unknown transaction if
// an element of it was read: otherwise the database would be convicted of a garbage element that
// is ours.
type judge struct {
	transactions *Transactions
	evidence     definition.Evidence
	state        state
	clients      map[int]*progress
	cycle        cycle.Builder
	// missing are transactions without a record that were read, with the windows of the keys.
	missing map[int64]int64
	// rewritten: lists are registers that hold their last element.
	rewritten bool

	durability durability
	goneReads  goneReads
	phantoms   phantoms
	skews      skews
	tally      history.Counts

	ended int64 // when the last attempt ended
	ops   []Op
	steps []cycle.Op
}

type progress struct {
	reserved uint64
	// seq and attempt are of the last record; over is true if it ended its operation.
	seq     uint64
	attempt int
	over    bool
	ended   int64
}

func newJudge(t *Transactions, model cycle.Model, e definition.Evidence) *judge {
	j := &judge{
		transactions: t, evidence: e, clients: map[int]*progress{}, missing: map[int64]int64{},
		rewritten: t.config.Rewrite && !forbidsLostUpdates(model),
	}
	j.goneReads.unanswered = map[int64]struct{}{}
	j.durability = durability{model: model, state: &j.state, forgiven: j.rewritten, losses: e.Losses, gone: map[int64]struct{}{}}
	return j
}

func (j *judge) read() error {
	if err := j.readState(); err != nil {
		return err
	}
	if _, err := history.Read(j.evidence.History, history.Visitor{Op: j.progress, Reservation: j.reserve}); err != nil {
		return err
	}
	if _, err := history.Read(j.evidence.History, history.Visitor{Op: j.op}); err != nil {
		return err
	}
	if err := j.addState(); err != nil {
		return err
	}
	return j.addMissing()
}

func (j *judge) readState() error {
	why, err := history.WhyMissing(Replay(j.evidence.State, j.state.list, j.state.register))
	if why != "" {
		j.state = state{missing: why}
	} else {
		j.state.inFlight = j.evidence.InFlight
	}
	j.state.sort()
	return err
}

func (j *judge) client(number int) *progress {
	p := j.clients[number]
	if p == nil {
		p = &progress{}
		j.clients[number] = p
	}
	return p
}

func (j *judge) reserve(r history.Reservation) error {
	p := j.client(r.Client)
	p.reserved = max(p.reserved, r.UpTo)
	return nil
}

// progress takes a record on the first reading. It keeps each client's last record.
func (j *judge) progress(op *history.Op) error {
	p := j.client(op.Client)
	p.seq, p.attempt, p.over, p.ended = op.Seq, op.Attempt, op.Last, op.End
	j.ended = max(j.ended, op.End)
	if op.Outcome == history.Unknown && j.goneReads.leave {
		j.goneReads.unanswered[TransactionID(op.Client, op.Seq, op.Attempt)] = struct{}{}
	}
	if op.Last {
		j.tally.Add(op.Final, 1)
	}
	return nil
}

// unrecorded reports whether a reserved attempt after the last record may have been made.
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
func (j *judge) op(op *history.Op) error {
	if op.Error == store.ClassBeyond {
		return nil // nothing was sent
	}
	ops, results, err := Decode(op.Values, j.ops)
	if err != nil || op.Outcome == history.Committed && !results {
		return &history.FormatError{Path: j.evidence.History,
			Reason: fmt.Sprintf("operation %d of client %d: %v", op.Seq, op.Client, errors.Join(errRecord, err))}
	}
	j.ops = ops
	outcome := op.Outcome
	if outcome == history.Committed && j.evidence.Losses.Uncertain(op.Start, op.End) {
		outcome = history.Unknown // it may be lost, and what it read too
	}
	if outcome == history.Committed && j.leftOut(op, ops) {
		outcome = history.Unknown
	}
	committed := outcome == history.Committed
	switch kindOf(ops) {
	case KindPredicate:
		if committed {
			j.phantoms.look(op, ops)
		}
		return nil
	case KindPairs:
		if committed {
			j.skews.look(op, ops)
		}
		return nil
	}
	j.durability.look(op, ops)
	return j.add(cycle.Txn{
		ID:      TransactionID(op.Client, op.Seq, op.Attempt),
		Process: int32(op.Client), Invoke: op.Start, Complete: op.End, Outcome: outcome,
	}, ops)
}

func (j *judge) add(t cycle.Txn, ops []Op) error {
	j.steps = j.steps[:0]
	for i := range ops {
		j.steps = append(j.steps, j.step(&ops[i], t.Outcome == history.Committed))
	}
	t.Ops = j.steps
	return j.enter(t, j.evidence.History)
}

// enter enters a transaction from the file at path.
func (j *judge) enter(t cycle.Txn, path string) error {
	if err := j.cycle.Add(t); err != nil {
		return &history.FormatError{Path: path, Reason: err.Error()}
	}
	return nil
}

// step translates an operation for check/cycle. Reads count only if committed.
func (j *judge) step(o *Op, committed bool) cycle.Op {
	switch {
	case o.Kind == Append || o.Kind == AppendByRewrite:
		if j.rewritten {
			return cycle.Op{Kind: cycle.Write, Key: o.Key, Value: o.Value}
		}
		return cycle.Op{Kind: cycle.Append, Key: o.Key, Value: o.Value}
	case o.Kind == Write:
		return cycle.Op{Kind: cycle.Write, Key: o.Key, Value: o.Value}
	case !committed || o.Kind == ReadValue && !o.Found || o.Kind == ReadList && len(o.List) == 0:
		return cycle.Op{Kind: cycle.ReadNothing, Key: o.Key}
	case o.Kind == ReadValue:
		return cycle.Op{Kind: cycle.ReadValue, Key: o.Key, Value: j.element(o.Key, o.Value)}
	case j.rewritten:
		return cycle.Op{Kind: cycle.ReadValue, Key: o.Key, Value: j.element(o.Key, o.List[len(o.List)-1])}
	}
	for i, v := range o.List {
		o.List[i] = j.element(o.Key, v)
	}
	return cycle.Op{Kind: cycle.ReadList, Key: o.Key, List: o.List}
}

// element notes an element that was read from a key, and returns check/cycle's number for it.
func (j *judge) element(key, v int64) int64 {
	client, seq, attempt, _, ok := SplitElement(v)
	if !ok {
		return j.number(v)
	}
	if p := j.clients[client]; p != nil && p.unrecorded(seq, attempt) && key >= 0 {
		j.missing[TransactionID(client, seq, attempt)] = j.transactions.WindowOf(key)
	}
	return v
}

// number names elements that no client can have made: check/cycle does not take all numbers.
func (j *judge) number(v int64) int64 {
	if v >= 0 {
		return v
	}
	return j.cycle.Symbol(strconv.FormatInt(v, 10))
}

// addState enters the state as a read, also of the missing keys.
func (j *judge) addState() error {
	if j.state.missing != "" {
		return nil
	}
	steps := make([]cycle.Op, 0, len(j.state.lists)+len(j.state.values))
	for _, l := range j.state.lists {
		o := Op{Kind: ReadList, Key: j.key(l.key, l.key&1 == 0, "list"), List: j.state.elements[l.from:l.to]}
		steps = append(steps, j.step(&o, true))
	}
	for _, r := range j.state.values {
		o := Op{Kind: ReadValue, Key: j.key(r.key, r.key&1 != 0, "register"), Value: r.value, Found: true}
		steps = append(steps, j.step(&o, true))
	}
	for _, key := range slices.Sorted(maps.Keys(j.durability.gone)) {
		steps = append(steps, cycle.Op{Kind: cycle.ReadNothing, Key: key})
	}
	if len(steps) == 0 {
		return nil
	}
	return j.enter(cycle.Txn{
		ID: -1, Process: finalProcess, Invoke: j.ended + 1, Complete: j.ended + 1,
		Outcome: history.Committed, Ops: steps,
	}, j.evidence.State)
}

// key names keys that no list or register of the run has.
func (j *judge) key(key int64, possible bool, what string) int64 {
	if possible && key >= 0 {
		return key
	}
	return j.cycle.Symbol(what + " " + strconv.FormatInt(key, 10))
}

// addMissing enters the transactions of missing. They began after their client's last record.
func (j *judge) addMissing() error {
	operations := map[int64]bool{}
	for _, id := range slices.Sorted(maps.Keys(j.missing)) {
		client, seq, attempt, _, _ := SplitElement(id)
		ops, ok := j.transactions.At(client, seq, attempt, j.missing[id], j.ops)
		if !ok {
			continue // no operation can have used that key
		}
		j.ops = ops
		if kind := kindOf(ops); kind != KindAppend && kind != KindRegister {
			continue
		}
		operations[TransactionID(client, seq, 0)] = true
		if err := j.add(cycle.Txn{ID: id, Process: int32(client), Invoke: j.clients[client].ended}, ops); err != nil {
			return err
		}
	}
	j.tally.Unknown += int64(len(operations))
	return nil
}
