package mem

import (
	"slices"
	"testing"

	"assay/workload/bank"
)

// The opening balance and the four accounts of a bench.
const opening = 1000

var four = []int64{1, 2, 3, 4}

func (b *bench) audit(t *testing.T, ids ...int64) []bank.State {
	t.Helper()
	states := make([]bank.State, len(ids))
	if err := b.store.(bank.Auditor).Audit(t.Context(), ids, states); err != nil {
		t.Fatal(err)
	}
	return states
}

func (b *bench) auditAll(t *testing.T) bank.Totals {
	t.Helper()
	all, err := b.store.(bank.Auditor).AuditAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// states of four accounts, in the order balance and version.
func states(values ...int64) (s []bank.State) {
	for i := 0; i < len(values); i += 2 {
		s = append(s, bank.State{Balance: values[i], Version: values[i+1]})
	}
	return s
}

// TestAuditBugsNeedAnOccasion: where no money has moved there is nothing to be
// seen wrongly, and nothing is counted.
func TestAuditBugsNeedAnOccasion(t *testing.T) {
	for _, bug := range Bugs() {
		if bug.audit == nil {
			continue
		}
		b := injected(t, bug.Name, 1)
		for range 3 {
			if got := b.audit(t, four...); !slices.Equal(got, states(opening, 0, opening, 0, opening, 0, opening, 0)) {
				t.Errorf("%s: read %+v", bug.Name, got)
			}
			if got := b.auditAll(t); got != (bank.Totals{Accounts: 4, Balance: 4 * opening}) {
				t.Errorf("%s: read %+v in all", bug.Name, got)
			}
		}
		if b.armed[0].strikes != 0 {
			t.Errorf("%s: struck %d times", bug.Name, b.armed[0].strikes)
		}
	}
}

// TestAuditInTheMiddle has both forms of a dirty read, and the credit that a
// full audit misses.
func TestAuditInTheMiddle(t *testing.T) {
	forms(t, "dirty-read", []string{"half a debit", "a debit alone"}, func(b *bench) string {
		b.do(1, 2, 100)
		b.do(1, 3, 50)
		if got := b.audit(t, 4, 2); !slices.Equal(got, states(opening, 0, 1100, 1)) {
			t.Errorf("read %+v of accounts that no transfer is between", got)
		}
		if all := b.auditAll(t); all != (bank.Totals{Accounts: 4, Balance: 4*opening - 50, Versions: 3}) {
			t.Errorf("read %+v in all", all)
		}
		got := b.audit(t, four...)
		if b.armed[0].strikes != 2 {
			t.Errorf("struck %d times, want 2", b.armed[0].strikes)
		}
		switch {
		case slices.Equal(got, states(850, 1, 1100, 1, 1050, 1, opening, 0)):
			return "half a debit"
		case slices.Equal(got, states(850, 2, 1100, 1, opening, 0, opening, 0)):
			return "a debit alone"
		default:
			t.Errorf("read %+v", got)
			return "something else"
		}
	})
}

// TestAuditWithoutSnapshot: what was read before the second account of the
// transfer is as it was before the transfer.
func TestAuditWithoutSnapshot(t *testing.T) {
	b := injected(t, "read-skew", 1)
	b.do(4, 3, 1)
	b.do(1, 3, 100)
	b.do(4, 2, 10)
	// The last transfer is between 4 and 2: all but the last of these is from
	// before it. Then 2 is not read, and the transfer from 1 to 3 comes between.
	if got := b.audit(t, four...); !slices.Equal(got, states(900, 1, opening, 0, 1101, 2, 989, 2)) {
		t.Errorf("read %+v", got)
	}
	if got := b.audit(t, 4, 3, 1); !slices.Equal(got, states(999, 1, 1001, 1, 900, 1)) {
		t.Errorf("read %+v", got)
	}
	if all := b.auditAll(t); all.Versions != 5 || all.Balance != 4*opening+10 && all.Balance != 4*opening-10 {
		t.Errorf("read %+v in all", all)
	}
	if b.armed[0].strikes != 3 {
		t.Errorf("struck %d times", b.armed[0].strikes)
	}
}

// TestAuditOfThePast: a transfer is missed only once its client has gone on and
// another audit was done after that.
func TestAuditOfThePast(t *testing.T) {
	b := injected(t, "stale-read", 1)
	b.do(1, 2, 100)
	now := states(900, 1, 1100, 1, opening, 0, opening, 0)
	if got := b.audit(t, four...); !slices.Equal(got, now) {
		t.Errorf("a transfer whose answer may not have come was missed: %+v", got)
	}
	b.do(3, 9, 1) // rejected; but its client has the answer to the one before
	if got := b.audit(t, four...); !slices.Equal(got, now) {
		t.Errorf("a transfer was missed that may have been answered after the audit began: %+v", got)
	}
	if got := b.audit(t, 4, 3); !slices.Equal(got, states(opening, 0, opening, 0)) || b.armed[0].strikes != 0 {
		t.Errorf("read %+v after %d strikes, of accounts that have not changed", got, b.armed[0].strikes)
	}
	if got := b.audit(t, four...); !slices.Equal(got, states(opening, 0, opening, 0, opening, 0, opening, 0)) || b.armed[0].strikes != 1 {
		t.Errorf("read %+v after %d strikes, want the state before the transfer", got, b.armed[0].strikes)
	}
	// The moment moves on, with what has changed since.
	for range 2 * maxPast {
		b.audit(t, four...)
	}
	if got := b.audit(t, four...); !slices.Equal(got, now) {
		t.Errorf("read %+v long after", got)
	}
}

// TestAuditOfAborted: the debit of what was rolled back is seen once, by who
// reads both accounts, and not after the account has changed.
func TestAuditOfAborted(t *testing.T) {
	b := injected(t, "aborted-read", 1)
	b.do(1, 2, 100)
	if shape(b.read(t)) != "" || b.armed[0].strikes != 0 {
		t.Error("the transfer was done, or counted before anybody saw it")
	}
	untouched := states(opening, 0, opening, 0, opening, 0, opening, 0)
	if got := b.audit(t, 1, 3, 4); !slices.Equal(got, untouched[:3]) {
		t.Errorf("one account: %+v", got)
	}
	if got := b.audit(t, four...); !slices.Equal(got, states(900, 1, opening, 0, opening, 0, opening, 0)) {
		t.Errorf("read %+v", got)
	}
	if got := b.audit(t, four...); !slices.Equal(got, untouched) || b.armed[0].strikes != 1 {
		t.Errorf("then %+v after %d strikes", got, b.armed[0].strikes)
	}
	b.do(3, 4, 7)
	if all := b.auditAll(t); all != (bank.Totals{Accounts: 4, Balance: 4*opening - 7, Versions: 1}) {
		t.Errorf("read %+v in all", all)
	}
	b.do(1, 2, 100)
	b.bank.move(1, 1)
	if got := b.audit(t, 1, 2); !slices.Equal(got, states(1001, 1, opening, 0)) {
		t.Errorf("an account that has changed since: %+v", got)
	}
	for range 3 * maxGhosts {
		b.do(1, 2, 100)
	}
	if len(b.ghosts) > maxGhosts {
		t.Errorf("%d ghosts wait", len(b.ghosts))
	}
}

// TestAuditOfAFork: the second audit sees the second transfer and not the
// first, which the first audit saw.
func TestAuditOfAFork(t *testing.T) {
	b := injected(t, "long-fork", 1)
	b.do(1, 2, 100)
	b.audit(t, four...)
	b.do(1, 3, 10) // comes after the first transfer, so that it would be missed with it
	if got := b.audit(t, four...); !slices.Equal(got, states(890, 2, 1100, 1, 1010, 1, opening, 0)) || b.armed[0].strikes != 0 {
		t.Errorf("read %+v after %d strikes", got, b.armed[0].strikes)
	}
	b.do(2, 4, 5)
	if got := b.audit(t, four...); !slices.Equal(got, states(900, 1, 1095, 2, opening, 0, 1005, 1)) || b.armed[0].strikes != 1 {
		t.Errorf("read %+v after %d strikes, want the last transfer and not the one before", got, b.armed[0].strikes)
	}
}

// TestTheTrailIsBounded, and kept only where it is needed.
func TestTheTrailIsBounded(t *testing.T) {
	b := newBench(t, Options{Inject: []Injection{{"read-skew", 1e-9}}}, 4)
	for range 5 * maxTrail {
		b.do(1, 2, 1)
		b.do(2, 1, 1)
	}
	if n := len(b.trail); n < maxTrail || n > 2*maxTrail {
		t.Errorf("the trail has %d transfers", n)
	}
	if _, _, ok := b.trail.last(3); ok {
		t.Error("an account was found that no transfer touched")
	}
	honest := newBench(t, Options{}, 4)
	honest.mixed(50)
	honest.audit(t, four...)
	if len(honest.trail)+len(honest.past.was)+len(honest.past.answered) > 0 {
		t.Error("an honest database looks back")
	}
}

// TestStrikesAreCounted like the rows of a table, and anew with Create.
func TestStrikesAreCounted(t *testing.T) {
	b := injected(t, "torn-transfer", 1)
	b.do(1, 2, 100)
	b.do(1, 9, 100)
	count := func() int64 {
		size, err := b.store.Size(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n, there := size.Rows[StrikesOf("torn-transfer")]
		if !there || len(size.Rows) != 3 {
			t.Errorf("rows %v", size.Rows)
		}
		return n
	}
	if n := count(); n != 1 {
		t.Errorf("%d strikes, want 1", n)
	}
	b.reset()
	if n := count(); n != 0 {
		t.Errorf("%d strikes in an empty database", n)
	}
}
