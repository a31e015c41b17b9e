package ledger

import (
	"math"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
)

func earlier(r run, keep func(Row) bool) run {
	r = r.clone()
	r.books.Earlier, r.books.AuditKind, r.books.FullAuditKind = true, 0, 0
	r.rows = slices.DeleteFunc(r.rows, func(row Row) bool { return !keep(row) })
	for i := range r.accounts {
		a := &r.accounts[i]
		a.balance, a.version = r.books.Opening(a.id), 0
		for _, row := range r.rows {
			if row.Source == a.id {
				a.balance, a.version = a.balance-row.Amount, a.version+1
			}
			if row.Destination == a.id {
				a.balance, a.version = a.balance+row.Amount, a.version+1
			}
		}
	}
	return r
}

func restoredWithout(t *testing.T, s testHistory, b Backup, missing ...int) (check.Result, Moment) {
	t.Helper()
	r := earlier(s.run(), func(row Row) bool { return !slices.Contains(missing, int(row.ID>>40)) })
	b.Name = "backup 1"
	return r.judge(t).Restored(b)
}

func TestRestoredStates(t *testing.T) {
	own := Backup{Begun: 15, Target: -1}
	apart := testHistory{give(1, 1, 2, 1, 0, 10), give(3, 1, 4, 1, 20, 30), give(5, 1, 6, 1, 5000, 6000)}
	chained := testHistory{give(1, 1, 2, 1, 0, 100), give(1, 2, 3, 1, 0, 100), give(4, 1, 5, 1, 0, 100)}
	atOnce := testHistory{give(1, 1, 2, 1, 0, 10), give(3, 1, 4, 1, 5, 30)}
	unknown := testHistory{give(1, 1, 2, 1, 0, 10).but(func(d *testOp) { d.outcome = history.Unknown }), give(3, 1, 4, 1, 20, 30)}
	for _, c := range []struct {
		name    string
		history testHistory
		backup  Backup
		missing []int
		kind    string // of the only evidence; empty if it is valid
		moment  Moment
	}{
		{"whole", apart, own, nil, "", Moment{5000, math.MaxInt64, 0, 0}},
		{"empty", apart, own, []int{0, 1, 2}, "", Moment{math.MinInt64, 10, 3, 1}},
		{"the last is missing", apart, own, []int{2}, "", Moment{20, 6000, 1, 0}},
		{"the first is missing", apart, own, []int{0}, kindNoMoment, Moment{5000, 10, 1, 1}},
		{"the first is missing, and was under way still", atOnce, own, []int{0}, "", Moment{5, 10, 1, 1}},
		{"the first is missing, and was never acknowledged", unknown, own, []int{0}, "", Moment{20, math.MaxInt64, 0, 0}},
		{"what came before it on the account is missing", chained, own, []int{0}, KindMissingVersion, Moment{0, 100, 1, 0}},
		{"what came after it on the account is missing", chained, own, []int{1}, "", Moment{0, 100, 1, 0}},
		{"acknowledged before the target and missing", apart, Backup{Begun: 5, Target: 31}, []int{1, 2}, kindBeforeTarget, Moment{0, 30, 2, 0}},
		{"acknowledged at the target and missing", apart, Backup{Begun: 5, Target: 30}, []int{1, 2}, "", Moment{0, 30, 2, 0}},
		{"started after the target and there", apart, Backup{Begun: 5, Target: 3999}, nil, kindAfterTarget, Moment{5000, math.MaxInt64, 0, 0}},
		{"acknowledged by the only node before its backup", apart, Backup{Begun: 15, Target: -1, Alone: true}, []int{0, 1, 2}, kindBeforeBackup, Moment{math.MinInt64, 10, 3, 1}},
		{"acknowledged by the only node as its backup is begun", apart, Backup{Begun: 10, Target: -1, Alone: true}, []int{0, 1, 2}, "", Moment{math.MinInt64, 10, 3, 0}},
		{"started within the grain of the target and there", apart, Backup{Begun: 5, Target: 4000}, nil, "", Moment{5000, math.MaxInt64, 0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, m := restoredWithout(t, c.history, c.backup, c.missing...)
			if m != c.moment {
				t.Errorf("moment %+v, want %+v", m, c.moment)
			}
			switch {
			case c.kind == "" && (r.Verdict != check.Valid || !strings.Contains(r.Detail, "of one moment")):
				t.Errorf("%v: %s %v", r.Verdict, r.Detail, r.Evidence)
			case c.kind != "" && (r.Verdict != check.Violated || r.Found != 1 || r.Evidence[0].Kind != c.kind || !strings.HasPrefix(r.Evidence[0].Text, "backup 1: ")):
				t.Errorf("%v: %s %v", r.Verdict, r.Detail, r.Evidence)
			}
		})
	}
}

// One of the accounts is older than the rows.
func TestHalfATransferIsRestored(t *testing.T) {
	s := testHistory{give(1, 1, 2, 1, 0, 10), give(3, 1, 4, 1, 20, 30)}
	r := earlier(s.run(), func(row Row) bool { return row.ID>>40 == 0 })
	r.accounts[1] = held{2, opening, 0}
	got, _ := r.judge(t).Restored(Backup{Name: "backup 1", Target: -1})
	if got.Verdict != check.Violated || !has(got, kindSum) || !has(got, kindBalance) || !has(got, kindVersion) || got.Found != 3 {
		t.Errorf("%v: %s %v", got.Verdict, got.Detail, got.Evidence)
	}
}

func TestAStateThatWasNotReadWhole(t *testing.T) {
	r := earlier(testHistory{give(1, 1, 2, 1, 0, 10)}.run(), func(Row) bool { return true })
	r.incomplete = map[Part]string{Journal: "it was cut", Accounts: "it was cut"}
	if got, m := r.judge(t).Restored(Backup{Name: "backup 1", Target: -1}); got.Verdict != check.Unknown || m != (Moment{}) {
		t.Errorf("%v: %s, %+v", got.Verdict, got.Detail, m)
	}
}

// The state after each operation of random runs is valid. With one transfer taken out of the middle
// it is not.
func TestEveryMomentOfARun(t *testing.T) {
	for seed := range uint64(60) {
		b := newBank(seed, 7)
		for client := range 4 {
			b.reservations = append(b.reservations, history.Reservation{Client: client, UpTo: 40})
		}
		var cuts []int // how many rows there were
		for _, d := range b.schedule(4, 25) {
			b.operate(d)
			cuts = append(cuts, len(b.rows))
		}
		for id := int64(1); id <= 7; id++ {
			b.accounts = append(b.accounts, *b.state[id])
		}
		for _, n := range cuts {
			there := map[int64]bool{}
			for _, row := range b.rows[:n] {
				there[row.ID] = true
			}
			r, m := earlier(b.run, func(row Row) bool { return there[row.ID] }).judge(t).Restored(Backup{Name: "backup 1", Target: -1})
			if r.Verdict != check.Valid {
				t.Fatalf("seed %d, %d rows: %v: %s %v", seed, n, r.Verdict, r.Detail, r.Evidence)
			}
			if want := b.acknowledgedBeyond(there); m.Lacks != want {
				t.Fatalf("seed %d, %d rows: it lacks %d, want %d", seed, n, m.Lacks, want)
			}
		}
		b.takeOneOut(t, seed)
	}
}

func (b *bank) acknowledgedBeyond(there map[int64]bool) (n int64) {
	for _, op := range b.ops {
		if op.Kind == kindTransfer && op.Last && op.Final == history.Committed && !there[b.books.ID(op.Client, op.Seq)] {
			n++
		}
	}
	return n
}

// takeOneOut removes a transfer that another follows on the same account.
func (b *bank) takeOneOut(t *testing.T, seed uint64) {
	t.Helper()
	for i, row := range b.rows {
		if !slices.ContainsFunc(b.rows[i+1:], func(later Row) bool { return later.Source == row.Source || later.Destination == row.Source }) {
			continue
		}
		r, _ := earlier(b.run, func(x Row) bool { return x.ID != row.ID }).judge(t).Restored(Backup{Name: "backup 1", Target: -1})
		if r.Verdict != check.Violated {
			t.Fatalf("seed %d without row %d: %v: %s", seed, row.ID, r.Verdict, r.Detail)
		}
	}
}
