package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
)

// BenchmarkTransfer measures a session's cost of a transfer. The file is in TMPDIR: in memory
// (/dev/shm) only the processor's part remains.
func BenchmarkTransfer(b *testing.B) {
	ctx := b.Context()
	db, err := Open(ctx, store.Target{Address: "sqlite:" + filepath.Join(b.TempDir(), "bank.db")}, bank.Schema())
	expect.NoError(b, err)
	opened := bank.Over(db)
	if err := errors.Join(opened.Create(ctx, store.Marker{Run: "benchmark", Workload: "bank"}),
		opened.LoadAccounts(ctx, []bank.Account{{ID: 1, Balance: 1 << 40}, {ID: 2}}), opened.FinishLoad(ctx)); err != nil {
		b.Fatal(err)
	}
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
	expect.NoError(b, errors.Join(opened.Drop(ctx), opened.Close()))
}
