package postgres

import (
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
)

func BenchmarkTransfer(b *testing.B) {
	ctx := b.Context()
	db, err := Open(ctx, store.Target{Address: server.Address(), ConnectTimeout: time.Minute}, bank.Schema())
	expect.NoError(b, err)
	opened := bank.Over(db)
	defer opened.Close()
	expect.NoError(b, opened.Create(ctx, store.Marker{Run: "benchmark", Workload: "bank"}))
	expect.NoError(b, opened.LoadAccounts(ctx, []bank.Account{{ID: 1, Balance: 1 << 40}, {ID: 2}}))
	expect.NoError(b, opened.FinishLoad(ctx))
	session, err := opened.Session(ctx)
	expect.NoError(b, err)
	id := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		id++
		if r := session.Transfer(ctx, bank.Transfer{ID: id, Source: 1, Destination: 2, Amount: 1}); r.Outcome != history.Committed {
			b.Fatalf("%+v", r)
		}
	}
	session.Close()
	expect.NoError(b, opened.Drop(ctx))
}
