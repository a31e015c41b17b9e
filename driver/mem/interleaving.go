package mem

import (
	"context"
	"fmt"

	"assay/history"
	"assay/workload"
	"assay/workload/interleaving"
)

var _ interleaving.Store = (*isolationStore)(nil)

func (s *isolationStore) Levels() []interleaving.Level {
	return []interleaving.Level{{Name: level}}
}

func (s *isolationStore) Interleaved(context.Context) (interleaving.Session, error) {
	return &interleavedSession{s}, s.ready()
}

type interleavedSession struct{ *isolationStore }

func (n *interleavedSession) Close() {}

// Waiting implements interleaving.Session: nothing ever waits.
func (n *interleavedSession) Waiting(context.Context) (waiting, known bool, err error) {
	return false, true, nil
}

func (n *interleavedSession) Transact(ctx context.Context, _ bool, work func(interleaving.Do) error) workload.Reply {
	if err := n.d.lock(true); err != nil {
		return workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err, Broken: true}
	}
	x := n.d.begin()
	n.d.mu.Unlock()
	err := work(func(_ context.Context, o interleaving.Operation) ([]interleaving.Row, error) {
		n.d.mu.Lock()
		defer n.d.mu.Unlock()
		return n.interleaved(x, o)
	})
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return x.finish(workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err})
	}
	return x.finish(committed())
}

// interleaved does one operation. The caller holds the lock.
func (n *interleavedSession) interleaved(x *transaction, o interleaving.Operation) (rows []interleaving.Row, err error) {
	where := func(interleaving.Row) bool { return true }
	switch o.Action {
	case interleaving.Read, interleaving.Set:
		where = func(r interleaving.Row) bool { return r.ID == o.ID }
	case interleaving.ReadEqual, interleaving.DeleteEqual:
		where = func(r interleaving.Row) bool { return r.Value == o.Value }
	case interleaving.ReadMultiple:
		where = func(r interleaving.Row) bool { return r.Value%o.Value == 0 }
	case interleaving.Insert:
		put(x, n.registers, o.ID, o.Value)
		return nil, nil
	}
	scan(x, n.registers, func(id, value int64) {
		if r := (interleaving.Row{ID: id, Value: value}); where(r) {
			rows = append(rows, r)
		}
	})
	for _, r := range rows {
		switch o.Action {
		case interleaving.Set:
			put(x, n.registers, r.ID, o.Value)
		case interleaving.AddAll:
			put(x, n.registers, r.ID, r.Value+o.Value)
		case interleaving.DeleteEqual, interleaving.DeleteAll:
			remove(x, n.registers, r.ID)
		case interleaving.Read, interleaving.ReadAll, interleaving.ReadEqual, interleaving.ReadMultiple:
		default:
			return nil, fmt.Errorf("mem: no operation has the action %d", o.Action)
		}
	}
	return rows, nil
}

// scan reads all rows of a table, of which none may have changed when the
// transaction commits, whichever the caller wanted.
func scan[R any](x *transaction, t *table[int64, R], give func(key int64, row R)) {
	snapshot := x.snapshot
	x.valid = append(x.valid, func() bool {
		for _, v := range t.rows {
			if max(v.commit, -v.commit) > snapshot {
				return false
			}
		}
		return true
	})
	keys := map[int64]bool{}
	for key := range t.rows {
		keys[key] = true
	}
	for c := range x.own {
		if own, is := c.(cell[int64, R]); is && own.t == t {
			keys[own.key] = true
		}
	}
	for key := range keys {
		if row, found := get(x, t, key); found {
			give(key, row)
		}
	}
}
