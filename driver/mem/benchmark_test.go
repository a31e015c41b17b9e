package mem

import (
	"context"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

func ledgerSchema() store.Schema {
	return store.Schema{Workload: "ledger", Transactions: true, Tables: []store.Table{
		{Name: "account", Columns: store.Integers("id", "balance", "version"), Floors: []store.Minimum{{Name: "account_balance", Column: "balance"}}},
		{Name: "transfer", Columns: store.Integers("id", "source", "destination", "amount", "source_version", "destination_version")},
	}}
}

func ledgerStatements() []store.Statement {
	return []store.Statement{
		{Name: "move", Verb: store.Update, Table: "account", Columns: []string{"balance", "version"}, Where: store.Where("id"),
			Set: []store.Assignment{store.Add("balance", store.Parameter(2)), store.Add("version", store.Number(1))}},
		{Name: "journal", Verb: store.Insert, Table: "transfer", Columns: []string{"id", "source", "destination", "amount", "source_version", "destination_version"},
			Values: []store.Expression{store.Parameter(1), store.Parameter(2), store.Parameter(3), store.Parameter(4),
				store.Left("account", "version", store.Parameter(2)), store.Left("account", "version", store.Parameter(3))}},
		{Name: "read", Verb: store.Read, Table: "account", Columns: []string{"balance", "version"}, Where: store.Where("id")},
	}
}

// ledger has accounts 1 to n of 1000 each, one session and the batch of a transfer.
type ledger struct {
	*Database
	*session
	store.Batch
}

func newLedger(t testing.TB, address string, n int) *ledger {
	db := openSchema(t, address, ledgerSchema())
	rows := store.Rows{Table: "account", Columns: []string{"id", "balance", "version"}, Count: n,
		Row: func(i int, into []store.Value) []store.Value {
			return append(into, store.OfInts(int64(i+1), 1000, 0)...)
		}}
	expect.NoError(t, db.Load(t.Context(), rows))
	l := &ledger{Database: db, session: sessionOf(t, db, ledgerStatements()...)}
	var balance, version int64
	into := []any{&balance, &version}
	state := func(row store.Row) error { return row.Scan(into...) }
	l.Calls = []store.Call{
		{Statement: 0, Parameters: make([]store.Value, 2), Row: state},
		{Statement: 0, Parameters: make([]store.Value, 2), Row: state},
		{Statement: 1, Parameters: make([]store.Value, 4)},
	}
	return l
}

func (l *ledger) move(ctx context.Context, id, source, destination, amount int64) store.Reply {
	calls := l.Calls
	calls[0].Parameters[0].Number, calls[0].Parameters[1].Number = source, -amount
	calls[1].Parameters[0].Number, calls[1].Parameters[1].Number = destination, amount
	for i, n := range []int64{id, source, destination, amount} {
		calls[2].Parameters[i].Number = n
	}
	return l.session.Batch(ctx, &l.Batch)
}

func BenchmarkBatch(b *testing.B) {
	l := newLedger(b, "mem://", 10_000)
	b.ReportAllocs()
	var seq int64
	for b.Loop() {
		seq++
		if r := l.move(b.Context(), seq, 1+seq*7919%10_000, 1+(seq*7919+5)%10_000, 1); r.Outcome != history.Committed && r.Violated != store.Floor {
			b.Fatal(r)
		}
	}
}
