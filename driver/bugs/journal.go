package bugs

import (
	"context"
	"slices"

	"assay/workload"
	"assay/workload/journal"
)

// rowKey is a row of one of a workload's tables.
type rowKey struct {
	table int
	key   int64
}

// journalStore is what the wrappers of workloads with a journal have in common.
type journalStore[N journal.Session] struct {
	*rowStore[N, rowKey, journal.Row]
	inner journal.Store[N]
	// shifts are added to the balances of rows.
	shifts map[rowKey]int64
}

// journalShape is what a journalStore must know of a workload's tables.
type journalShape struct {
	// balance is the column of the balance by table; amount that of the amount in the
	// journal.
	balance []int
	amount  int
}

func newJournalStore[N journal.Session](inner journal.Store[N], all []bugOf[callKinds], seeded []Seeded, seed uint64,
	shape journalShape, wrap func(N) N) *journalStore[N] {
	s := &journalStore[N]{inner: inner}
	t := newTrial(inner, inner.Create, all, seeded, seed)
	keyOf := func(r journal.Row) rowKey { return rowKey{r.Table, r.Values[0]} }
	changed := func(r journal.Row, column int, by int64) journal.Row {
		r.Values = slices.Clone(r.Values)
		r.Values[column] += by
		return r
	}
	s.rowStore = newRowStore(t, rowAccess[N, rowKey, journal.Row]{
		session: inner.Session, wrap: wrap, key: keyOf,
		read: func(ctx context.Context, give func(journal.Row) error) error {
			return inner.Read(ctx, func(r journal.Row) error {
				if by := s.shifts[keyOf(r)]; by != 0 {
					r = changed(r, shape.balance[r.Table], by)
				}
				return give(r)
			})
		},
		altered: func(r journal.Row) journal.Row { return changed(r, shape.amount, 1) },
		foreign: func(r journal.Row) journal.Row {
			r.Values = slices.Clone(r.Values)
			r.Values[0] = workload.OperationID(workload.MaxClient, t.calls)
			return r
		},
	})
	reset := t.reset
	t.reset = func() { reset(); s.shifts = map[rowKey]int64{} }
	t.reset()
	return s
}

// shift has a balance be another one whenever all is read.
func (s *journalStore[N]) shift(table int, key, by int64) {
	s.shifts[rowKey{table, key}] += by
	s.differences++
}

func (s *journalStore[N]) LoadRows(ctx context.Context, table int, rows [][]int64) error {
	return s.inner.LoadRows(ctx, table, rows)
}

func (s *journalStore[N]) FinishLoad(ctx context.Context) error { return s.inner.FinishLoad(ctx) }
