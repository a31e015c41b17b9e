package postgres

import (
	"testing"
	"time"

	"assay/history"
	"assay/store"
	"assay/workload/bank"
)

// BenchmarkTransfer tells what one transfer of one session costs the client.
func BenchmarkTransfer(b *testing.B) {
	ctx := b.Context()
	db, err := Open(ctx, store.Target{Address: server.Address(), ConnectTimeout: time.Minute}, bank.Schema())
	if err != nil {
		b.Fatal(err)
	}
	opened := bank.Over(db)
	defer opened.Close()
	if err := opened.Create(ctx, store.Marker{Run: "benchmark", Workload: "bank"}); err != nil {
		b.Fatal(err)
	}
	if err := opened.LoadAccounts(ctx, []bank.Account{{ID: 1, Balance: 1 << 40}, {ID: 2}}); err != nil {
		b.Fatal(err)
	}
	if err := opened.FinishLoad(ctx); err != nil {
		b.Fatal(err)
	}
	session, err := opened.Session(ctx)
	if err != nil {
		b.Fatal(err)
	}
	id := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		id++
		if r := session.Transfer(ctx, bank.Transfer{ID: id, Source: 1, Destination: 2, Amount: 1}); r.Outcome != history.Committed {
			b.Fatalf("%+v", r)
		}
	}
	session.Close()
	if err := opened.Drop(ctx); err != nil {
		b.Fatal(err)
	}
}
