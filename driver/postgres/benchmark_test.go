package postgres

import (
	"testing"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// BenchmarkTransfer tells what one transfer of one session costs the client.
func BenchmarkTransfer(b *testing.B) {
	ctx := b.Context()
	db, err := Open(ctx, workload.Target{Address: server.Address(), ConnectTimeout: time.Minute}, bank.Schema())
	if err != nil {
		b.Fatal(err)
	}
	store := bank.Over(db)
	defer store.Close()
	if err := store.Create(ctx, workload.Marker{Run: "benchmark", Workload: "bank"}); err != nil {
		b.Fatal(err)
	}
	if err := store.LoadAccounts(ctx, []bank.Account{{ID: 1, Balance: 1 << 40}, {ID: 2}}); err != nil {
		b.Fatal(err)
	}
	if err := store.FinishLoad(ctx); err != nil {
		b.Fatal(err)
	}
	session, err := store.Session(ctx)
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
	if err := store.Drop(ctx); err != nil {
		b.Fatal(err)
	}
}
