package ledger

import (
	"runtime"
	"testing"

	"assay/check"
	"assay/history"
)

// BenchmarkJudge judges ten million committed transfers of 64 clients over a
// hundred thousand accounts; the journal comes in another order than the
// history. ns/transfer is over history, journal, accounts and results.
func BenchmarkJudge(b *testing.B) {
	const clients, each, accounts = 64, 156_250, 100_000
	for b.Loop() {
		bank := books(accounts)
		bank.Opening = func(int64) int64 { return 1_000_000 }
		j, err := New(bank)
		if err != nil {
			b.Fatal(err)
		}
		versions := make([]int64, accounts+1)
		balances := make([]int64, accounts+1)
		for client := range clients {
			j.Reserve(history.Reservation{Client: client, UpTo: each})
		}
		op := history.Op{Last: true, Kind: kindTransfer, Outcome: history.Committed, Final: history.Committed, Values: make([]int64, 4)}
		for seq := range uint64(each) {
			for client := range clients {
				op.Client, op.Seq = client, seq
				op.Values[1], op.Values[3] = int64(seq), int64(client)
				j.Op(&op)
			}
		}
		for client := range clients {
			for i := range uint64(each) {
				seq := i * 7919 % each
				id := j.books.ID(client, seq)
				s, d, a := j.books.Expect(id)
				versions[s]++
				versions[d]++
				balances[s] -= a
				balances[d] += a
				j.Row(Row{id, s, d, a, int64(seq), int64(client)})
			}
		}
		for id := int64(1); id <= accounts; id++ {
			j.Account(id, 1_000_000+balances[id], versions[id])
		}
		if results := j.Results(); check.Combine(results) != check.Valid {
			b.Fatal(results)
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapInuse)/(1<<20), "MiB-kept")
		runtime.KeepAlive(j)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(clients*each), "ns/transfer")
}
