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
		bank.Order = false
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

// BenchmarkOrder judges ten million committed transfers of 64 clients over a
// hundred thousand accounts with all checks: versions, balances and times of
// each, twenty thousand audits of eight accounts, and a hundred of all. MiB is
// what the judge keeps; Results takes 8 bytes a transfer more on its way.
func BenchmarkOrder(b *testing.B) {
	const clients, each, accounts = 64, 156_250, 100_000
	for b.Loop() {
		bank := audited(books(accounts))
		bank.Opening = func(int64) int64 { return 1_000_000 }
		bank.Audited = func(_ int, seq uint64) (list []int64) {
			for i := range int64(8) {
				list = append(list, (int64(seq)*13+i*i)%accounts+1)
			}
			return list
		}
		j, err := New(bank)
		if err != nil {
			b.Fatal(err)
		}
		for client := range clients + 2 {
			j.Reserve(history.Reservation{Client: client, UpTo: each})
		}
		replay(j, clients, each, j.Op, nil)
		final := replay(j, clients, each, nil, j.Row)
		for i, a := range final {
			j.Account(int64(i)+1, a.balance, a.version)
		}
		if results := j.Results(); check.Combine(results) != check.Valid {
			b.Fatal(results)
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapInuse)/(1<<20), "MiB-kept")
		b.ReportMetric(float64(m.Sys-m.HeapReleased)/(1<<20), "MiB-of-the-system")
		runtime.KeepAlive(j)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(clients*each), "ns/transfer")
}

// replay does the work of a benchmark in memory and gives its operations, or
// its rows in the order of a table that was filled by the clients.
func replay(j *Judge, clients int, each uint64, op func(*history.Op), row func(Row)) []account {
	state := make([]account, j.books.Accounts)
	for i := range state {
		state[i].balance = j.books.Opening(int64(i) + 1)
	}
	var count uint64
	audit := func(kind uint8, client int, values []int64) {
		if op != nil {
			at := int64(count) * 1000
			op(&history.Op{Client: client, Seq: count / 500, Last: true, Kind: kind, First: at - 500, End: at + 500,
				Outcome: history.Committed, Final: history.Committed, Values: values})
		}
	}
	o := history.Op{Last: true, Kind: kindTransfer, Outcome: history.Committed, Final: history.Committed, Values: make([]int64, 4)}
	for seq := range each {
		for client := range clients {
			id := j.books.ID(client, seq)
			s, d, a := j.books.Expect(id)
			from, to := &state[s-1], &state[d-1]
			from.balance, from.version = from.balance-a, from.version+1
			to.balance, to.version = to.balance+a, to.version+1
			if count++; op != nil {
				o.Client, o.Seq = client, seq
				o.First, o.End = int64(count)*1000-30_000, int64(count)*1000+30_000
				copy(o.Values, []int64{from.balance, from.version, to.balance, to.version})
				op(&o)
			} else {
				row(Row{id, s, d, a, from.version, to.version})
			}
			if op == nil || count%500 != 0 {
				continue
			}
			var values []int64
			for _, id := range j.books.Audited(clients, count/500) {
				values = append(values, state[id-1].balance, state[id-1].version)
			}
			audit(kindAudit, clients, values)
			if count%100_000 == 0 {
				audit(kindFullAudit, clients+1, []int64{j.books.Accounts, j.books.Accounts * j.books.Opening(1), int64(count) * 2})
			}
		}
	}
	return state
}
