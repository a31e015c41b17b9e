package ledger

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"assay/check"
	"assay/history"
)

func (p *puzzle) alter() {
	for i := range p.ops {
		if op := &p.ops[i]; op.Kind == kindAudit && p.rng.IntN(2) == 0 {
			op.Values[p.rng.IntN(len(op.Values))] += p.rng.Int64N(5) - 2
		}
	}
	for i := range p.rng.IntN(5) {
		first, end := p.span(p.rng.Int64N(int64(len(p.rows)) * 10))
		op := history.Op{Client: i % 3, Seq: 70 + uint64(i), Attempt: 1, Last: true, Kind: kindFullAudit, First: first, End: end,
			Outcome: history.Committed, Final: history.Committed}
		op.Values = []int64{p.books.Accounts, p.books.Accounts * opening, 2 * p.rng.Int64N(int64(len(p.rows))+1)}
		if p.rng.IntN(3) == 0 {
			op.Values[p.rng.IntN(3)] += p.rng.Int64N(7) - 3
		}
		p.ops = append(p.ops, op)
	}
}

// reading returns the error in an audit's readings, each account alone, for the lowest account; ""
// if there is none.
func (p *puzzle) reading(op history.Op) string {
	audited := p.books.Audited(op.Client, op.Seq)
	for _, account := range slices.Sorted(slices.Values(audited)) {
		i := slices.Index(audited, account)
		balance, version := op.Values[2*i], op.Values[2*i+1]
		top := int64(0)
		for _, r := range p.rows {
			if r.Source == account || r.Destination == account {
				top++
			}
		}
		switch {
		case version < 0 || version > top:
			return KindNoSuchVersion
		case balance != p.balance(account, version):
			return KindDirtyRead
		}
	}
	return ""
}

// readingAll returns the error in an audit of all accounts.
func (p *puzzle) readingAll(op history.Op) string {
	var least, most int64 // transfers that it must and can have seen
	for _, v := range p.vertices() {
		if !v.audit && v.end < op.First {
			least++
		}
		if !v.audit && v.first <= op.End {
			most++
		}
	}
	count, sum, versions := op.Values[0], op.Values[1], op.Values[2]
	switch {
	case count != p.books.Accounts:
		return KindAuditCount
	case sum != p.books.Accounts*opening:
		return KindAuditSum
	case versions < 0 || versions%2 != 0 || versions/2 > int64(len(p.rows)):
		return KindAuditVersions
	case versions/2 < least:
		return KindStaleRead
	case versions/2 > most:
		return KindFutureRead
	}
	return ""
}

// The findings on balances and versions that audits read agree with the journal, audit by audit.
func TestReadingsAreJudgedExactly(t *testing.T) {
	count := map[string]int{}
	for seed := range uint64(2000) {
		p := newPuzzle(seed)
		p.alter()
		want := map[string]string{}
		for _, op := range p.ops {
			kind := ""
			switch op.Kind {
			case kindAudit:
				kind = p.reading(op)
			case kindFullAudit:
				kind = p.readingAll(op)
			}
			if kind != "" {
				want[fmt.Sprint(op.Client, op.Seq)] = kind
				count[kind]++
			}
		}
		snapshots := p.results(t)["snapshots"]
		got := map[string]string{}
		for _, e := range snapshots.Evidence {
			if _, local := e.Fields["operation"]; local {
				got[fmt.Sprint(e.Fields["client"], e.Fields["operation"])] = e.Kind
			}
		}
		if !maps.Equal(got, want) || len(want) > 0 && snapshots.Verdict != check.Violated || snapshots.Found > check.MaxEvidence {
			t.Fatalf("seed %d: told %v, want %v\n%v\n%+v\n%+v", seed, got, want, snapshots, p.rows, p.ops)
		}
	}
	for _, kind := range []string{KindNoSuchVersion, KindDirtyRead, KindAuditCount, KindAuditSum, KindAuditVersions, KindStaleRead, KindFutureRead} {
		if count[kind] < 50 {
			t.Errorf("%s came up %d times only", kind, count[kind])
		}
	}
}

// A row with an id that no client makes excuses only the accounts that it names, and not those of
// the id's transfer.
func TestAForeignRowExcusesItsAccountsOnly(t *testing.T) {
	gap := testHistory{give(1, 1, 3, 1, 0, 9), give(1, 3, 3, 2, 0, 9).but(unheard)}
	for account, want := range map[int64]string{1: "", 5: "order:missing-version"} {
		r := gap.run()
		if s, _, _ := r.books.Expect(-5); s != 1 {
			t.Fatalf("the books have account %d for -5", s)
		}
		r.rows = append(r.rows, Row{-5, account, 6, 0, 9, 9})
		results := r.results(t)
		delete(results, "transfers")
		delete(results, "accounts")
		if got := convictions(results); got != want {
			t.Errorf("it names account %d: convicted of %q, want %q: %v", account, got, want, results)
		}
	}
}

// Config may name an account that was never loaded; the other side still counts.
func TestTransfersWithAnAccountThatIsNotThere(t *testing.T) {
	for _, account := range []int64{storyAccounts + 1, 99, 0, -1, math.MaxInt64} {
		for version, want := range map[int64]string{1: "", 2: "order:missing-version"} {
			r := testHistory{give(account, 1, 2, version, 0, 9), give(3, 1, account, 1, 0, 9), read(10, 20, 3, 1)}.run()
			results := r.results(t)
			delete(results, "accounts")
			if got := convictions(results); got != want {
				t.Errorf("account %d, version %d: convicted of %q, want %q: %v", account, version, got, want, results)
			}
		}
	}
}

// A transfer with an unknown account does not hide a stale order.
func TestAWayBesideAnAccountThatIsNotThere(t *testing.T) {
	for _, account := range []int64{99, 4} {
		got := testHistory{give(account, 1, 1, 2, 0, 9), give(3, 1, 1, 1, 10, 20)}.run().results(t)["order"]
		if got.Found != 1 || got.Evidence[0].Kind != KindStaleOrder || got.Evidence[0].Fields["steps"] != 1 {
			t.Errorf("account %d: %v", account, got)
		}
	}
}

func TestEntriesAreBounded(t *testing.T) {
	for number, tooMany := range map[uint32]int64{maxBlocks: 1, maxBlocks - 1: 0} {
		j := testHistory{give(1, 1, 2, 1, 0, 9)}.run().judge(t)
		j.proof = nil
		before := j.entries.len()
		j.addEntry(Row{1, 1, 2, 5, 1, 1}, &block{page: new(page), number: number}, 7)
		added := j.entries.len() - before
		if j.entries.tooMany != tooMany || int64(added) != 1-tooMany {
			t.Errorf("block %d: %d too many, %d added", number, j.entries.tooMany, added)
		}
		if added == 1 && j.entries.owners[before] != number<<blockBits|7 {
			t.Errorf("the owner is %x", j.entries.owners[before])
		}
	}
}
