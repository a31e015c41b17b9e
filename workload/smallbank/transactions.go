package smallbank

import (
	"maps"
	"slices"

	"assay/check/cycle"
	"assay/history"
	"assay/workload"
)

// An account is a register of check/cycle whose value is the id of its writer. Every write
// follows a read and has a value of its own, so the order of all versions is known.

// transaction, on the second reading, enters an operation for check/cycle once: by its committed
// attempt or its last. The journal decides unknown operations.
func (j *judge) transaction(op *history.Op) error {
	if op.Outcome != history.Committed && !op.Last {
		return nil
	}
	o := j.operations.At(workload.OperationID(op.Client, op.Seq))
	t := cycle.Txn{ID: o.ID, Process: int32(op.Client), Invoke: op.Start, Complete: op.End, Outcome: history.Committed}
	if op.Outcome == history.Committed {
		delete(j.entries, o.ID)
		r := resultFrom(op.Values)
		j.result(&o, &r)
		return j.add(t)
	}
	if !o.Writes() {
		return nil
	}
	t.Invoke = op.First
	e, entered := j.entries[o.ID]
	delete(j.entries, o.ID)
	switch {
	case op.Final == history.Committed && entered: // by an earlier attempt
		j.entry(&o, e)
	case op.Final == history.Unknown && entered:
		j.entry(&o, e)
		j.endless(&t)
	case op.Final == history.Committed || op.Final == history.Unknown && j.missing != "":
		// Without its row it is not known what it has overwritten, but reads may have its value.
		j.entry(&o, Entry{Previous: [3]int64{unread, unread, unread}})
		t.Outcome = history.Unknown
	default:
		j.entry(&o, Entry{Previous: [3]int64{unread, unread, unread}})
		t.Outcome = history.Failed
	}
	return j.add(t)
}

// unrecorded enters operations that have a row but no record, because the run was killed.
func (j *judge) unrecorded() error {
	for _, id := range slices.Sorted(maps.Keys(j.entries)) {
		o := j.operations.At(id)
		if !o.Writes() {
			continue
		}
		j.entry(&o, j.entries[id])
		t := cycle.Txn{ID: id, Outcome: history.Committed}
		j.endless(&t)
		if err := j.add(t); err != nil {
			return err
		}
	}
	return nil
}

// endless makes a transaction end after all others in its own session, as its end is not known.
func (j *judge) endless(t *cycle.Txn) {
	j.alone++
	t.Process, t.Complete = -1-j.alone, j.ended+1
}

func (j *judge) add(t cycle.Txn) error {
	t.Ops = j.steps
	if err := j.cycle.Add(t); err != nil {
		return &history.FormatError{Path: j.evidence.History, Reason: err.Error()}
	}
	j.steps = j.steps[:0]
	return nil
}

// result adds the steps of an acknowledged operation.
func (j *judge) result(o *Operation, r *Result) {
	for n := 0; n < len(r.Read) && o.Reads(); n++ {
		j.read(o.accounts()[n], r.Read[n].Writer)
	}
	if o.Writes() {
		j.entry(o, EntryOf(o, r))
	}
}

// unread marks an unknown previous writer.
const unread = -2

// entry adds the steps that a journal row tells: a read of each overwritten value.
func (j *judge) entry(o *Operation, e Entry) {
	for _, n := range o.written() {
		j.update(o.accounts()[n], e.Previous[n], o.ID)
	}
}

// update adds a write after a read of the overwritten value, unless that read is there.
func (j *judge) update(account, previous, id int64) {
	if previous != unread {
		j.read(account, previous)
	}
	j.steps = append(j.steps, cycle.Op{Kind: cycle.Write, Key: j.key(account), Value: id})
}

func (j *judge) read(account, writer int64) {
	step := cycle.Op{Kind: cycle.ReadValue, Key: j.key(account), Value: writer}
	if writer == Nobody {
		step = cycle.Op{Kind: cycle.ReadNothing, Key: step.Key}
	}
	same := func(s cycle.Op) bool { return s.Kind == step.Kind && s.Key == step.Key && s.Value == step.Value }
	if !slices.ContainsFunc(j.steps, same) {
		j.steps = append(j.steps, step)
	}
}

func (j *judge) key(account int64) int64 {
	return j.cycle.Symbol(accountName(account))
}
