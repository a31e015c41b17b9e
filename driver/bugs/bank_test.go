package bugs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// bench is a database with bugs, four accounts of 1000 each and one session.
type bench struct {
	*bankStore
	session bank.Session
	ledger  *drivertest.Transfers
	seq     uint64
}

const opening = 1000

func newBench(t testing.TB, e engine, seed uint64, seeded ...Seeded) *bench {
	t.Helper()
	b := &bench{bankStore: opened(t, e, bank.Name, e.bank, seed, seeded...).(*bankStore)}
	var accounts []bank.Account
	for id := int64(1); id <= 4; id++ {
		accounts = append(accounts, bank.Account{ID: id, Balance: opening})
	}
	b.ledger = drivertest.NewTransfers(accounts)
	err := errors.Join(b.Create(t.Context(), workload.Marker{}), b.LoadAccounts(t.Context(), accounts), b.FinishLoad(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if b.session, err = b.Session(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.session.Close)
	return b
}

// do sends a transfer under a fresh id and records it.
func (b *bench) do(source, destination, amount int64) bank.Reply {
	b.seq++
	tr := bank.Transfer{ID: bank.TransferID(0, b.seq), Source: source, Destination: destination, Amount: amount}
	r := b.session.Transfer(context.Background(), tr)
	b.ledger.Record(tr, r)
	return r
}

// mixed does n transfers among the accounts, some beyond the funds.
func (b *bench) mixed(n int) {
	for i := range int64(n) {
		b.do(1+i%4, 1+(i+1+i/4%3)%4, 1+i*37%1500)
	}
}

func (b *bench) read(t *testing.T) drivertest.Snapshot {
	t.Helper()
	read, err := drivertest.ReadAll(t.Context(), b.bankStore)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func (b *bench) strikes(t *testing.T) int64 {
	t.Helper()
	size, err := b.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return size.Rows[StrikesOf(b.active[0].Name)]
}

// forms runs one case under many seeds and wants it to take exactly the forms
// named; on a real database under fewer, which may not show all.
func forms(t *testing.T, bug string, want []string, run func(*bench) string) {
	t.Helper()
	seen := map[string]bool{}
	for seed := range uint64(40) {
		seen[run(newBench(t, inMemory(), seed, Seeded{bug, 1}))] = true
	}
	for _, form := range want {
		if !seen[form] {
			t.Errorf("%s: never did %s", bug, form)
		}
	}
	for seed := range uint64(2) {
		seen[run(newBench(t, onSQLite(), seed, Seeded{bug, 1}))] = true
	}
	for form := range seen {
		if !slices.Contains(want, form) {
			t.Errorf("%s: did %s", bug, form)
		}
	}
}

// shape says in one word what a transfer of 100 from account 1 to 2 left.
func shape(s drivertest.Snapshot) string {
	one, two := s.Account(1), s.Account(2)
	parts := []string{}
	for name, there := range map[string]bool{
		"debit":          one.Balance == 900 && one.Version == 1,
		"two debits":     one.Balance == 800 && one.Version == 2,
		"credit":         two.Balance == 1100 && two.Version == 1,
		"two credits":    two.Balance == 1200 && two.Version == 2,
		"credit's trace": two.Balance == 1000 && two.Version == 1,
		"row":            len(s.Entries) == 1,
		"two rows":       len(s.Entries) == 2,
	} {
		if there {
			parts = append(parts, name)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "+")
}

const whole = "credit+debit+row"

// TestBugsInEffect wants each bug to leave what its Doc says.
func TestBugsInEffect(t *testing.T) {
	for bug, c := range map[string]struct {
		outcome history.Outcome
		forms   []string
	}{
		"torn-transfer":          {history.Committed, []string{"credit's trace+debit+row"}},
		"partial-rollback":       {history.Failed, []string{"debit", "credit", "row"}},
		"duplicate-apply":        {history.Committed, []string{"credit+debit+two rows", "two credits+two debits+two rows"}},
		"moved-twice":            {history.Committed, []string{"row+two credits+two debits"}},
		"lost-update":            {history.Committed, []string{whole}}, // there is nothing to be overwritten
		"negative-balance":       {history.Committed, []string{whole}}, // there are funds
		"aborted-read":           {history.Failed, []string{""}},
		"split-brain":            {history.Committed, []string{"", whole}},
		"reported-never-applied": {history.Committed, []string{""}},
		"failed-but-applied":     {history.Failed, []string{whole}},
		"altered-row":            {history.Committed, []string{whole}},
		"lost-ack":               {history.Committed, []string{whole}}, // until the next call
		"late-apply":             {history.Unknown, []string{""}},      // until later
	} {
		forms(t, bug, c.forms, func(b *bench) string {
			if r := b.do(1, 2, 100); r.Outcome != c.outcome {
				t.Errorf("%s: %+v, want %v", bug, r, c.outcome)
			}
			return shape(b.read(t))
		})
	}
}

// TestWhatIsShownIsOneState: after a bug all answers, audits and both members go on
// from the same state, row by row.
func TestWhatIsShownIsOneState(t *testing.T) {
	for _, bug := range []string{"moved-twice", "duplicate-apply", "lost-ack", "reported-never-applied", "extra-row", "failed-but-applied"} {
		for _, e := range []engine{inMemory(), onSQLite()} {
			b := newBench(t, e, 1, Seeded{bug, 0.2})
			b.mixed(200)
			if err := b.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			states := make([]bank.State, 4)
			all, err := b.AuditAll(t.Context())
			if err = errors.Join(err, b.Audit(t.Context(), []int64{1, 2, 3, 4}, states)); err != nil {
				t.Fatal(err)
			}
			read := b.read(t)
			var sum bank.State
			given := map[[2]int64]int{}
			for _, entry := range read.Entries {
				given[[2]int64{entry.Source, entry.SourceVersion}]++
				given[[2]int64{entry.Destination, entry.DestinationVersion}]++
			}
			for i, a := range read.Accounts {
				if states[i] != (bank.State{Balance: a.Balance, Version: a.Version}) {
					t.Errorf("%s on %s: audited %+v, read %+v", bug, e.name, states[i], a)
				}
				sum.Balance, sum.Version = sum.Balance+a.Balance, sum.Version+a.Version
				for version := int64(1); version <= a.Version; version++ {
					if n := given[[2]int64{a.ID, version}]; n != 1 && bug != "moved-twice" && bug != "duplicate-apply" {
						t.Errorf("%s on %s: version %d of account %d was given %d times", bug, e.name, version, a.ID, n)
					}
				}
			}
			if all != (bank.Totals{Accounts: 4, Balance: sum.Balance, Versions: sum.Version}) || sum.Balance != 4*opening || b.strikes(t) < 5 {
				t.Errorf("%s on %s: %+v in all, accounts %+v", bug, e.name, all, read.Accounts)
			}
		}
	}
}

func TestPartialRollbackOfRejection(t *testing.T) {
	forms(t, "partial-rollback", []string{"credit", "row"}, func(b *bench) string {
		b.active[0].probability = 1e-300
		b.do(1, 3, 950)
		b.active[0].probability = 1
		if r := b.do(1, 2, 100); r.Outcome != history.Rejected {
			t.Errorf("%+v, want rejected", r)
		}
		s := b.read(t)
		s.Entries = slices.DeleteFunc(s.Entries, func(e bank.Entry) bool { return e.Destination == 3 })
		return shape(s)
	})
}

func TestNegativeBalance(t *testing.T) {
	for _, e := range []engine{inMemory(), onSQLite()} {
		b := newBench(t, e, 1, Seeded{"negative-balance", 1})
		if r := b.do(1, 2, 1500); r.Outcome != history.Committed || r.Source != (bank.State{Balance: -500, Version: 1}) {
			t.Errorf("%+v, want a balance of -500", r)
		}
		if r := b.do(1, 9, 1); r.Outcome != history.Rejected {
			t.Errorf("to a missing account: %+v, want rejected", r)
		}
		if r := b.do(2, 1, 700); r.Source != (bank.State{Balance: 1800, Version: 2}) || r.Destination != (bank.State{Balance: 200, Version: 2}) {
			t.Errorf("then %+v", r)
		}
		if problems := b.ledger.Problems(b.read(t)); !slices.Equal(problems, []string{"account 1: -500 after version 1"}) {
			t.Errorf("beside the overdraft: %q", problems)
		}
	}
}

// TestLostUpdateRepeatsAVersion: each strike is one version that was given
// twice, on whichever side of the transfer.
func TestLostUpdateRepeatsAVersion(t *testing.T) {
	for _, e := range []engine{inMemory(), onSQLite()} {
		b := newBench(t, e, 1, Seeded{"lost-update", 0.3})
		b.mixed(300)
		versions := map[[2]int64]int64{}
		for _, e := range b.read(t).Entries {
			versions[[2]int64{e.Source, e.SourceVersion}]++
			versions[[2]int64{e.Destination, e.DestinationVersion}]++
		}
		var repeated int64
		for _, n := range versions {
			repeated += n - 1
		}
		if strikes := b.strikes(t); repeated != strikes || strikes < 20 {
			t.Errorf("%d versions were given twice and the bug struck %d times", repeated, strikes)
		}
	}
}

// TestLostUpdateNeedsFunds: what a transfer overwrites may be what it lives on.
func TestLostUpdateNeedsFunds(t *testing.T) {
	b := newBench(t, inMemory(), 1, Seeded{"lost-update", 1})
	b.do(2, 1, 600)
	if r := b.do(1, 3, 1200); r.Source != (bank.State{Balance: 400, Version: 2}) || b.strikes(t) != 0 {
		t.Errorf("%+v after %d strikes: without the credit there were no funds", r, b.strikes(t))
	}
	if r := b.do(1, 4, 300); r.Source != (bank.State{Balance: 1300, Version: 2}) || b.strikes(t) != 1 {
		t.Errorf("%+v after %d strikes, want the last debit overwritten", r, b.strikes(t))
	}
}

func TestLostAckIsLostWithTheNextCall(t *testing.T) {
	for _, e := range []engine{inMemory(), onSQLite()} {
		for name, next := range map[string]func(*bench) error{
			"transfer": func(b *bench) error { b.do(3, 9, 1); return nil }, // rejected
			"settle":   func(b *bench) error { return b.Settle(t.Context()) },
		} {
			b := newBench(t, e, 1, Seeded{"lost-ack", 1})
			r := b.do(1, 2, 100)
			if r.Source != (bank.State{Balance: 900, Version: 1}) || shape(b.read(t)) != whole {
				t.Errorf("%s: acknowledged %+v, there is %s", name, r, shape(b.read(t)))
			}
			if err := next(b); err != nil {
				t.Fatal(err)
			}
			read := b.read(t)
			if got := shape(read); got != "" || read.Account(1).Version != 0 {
				t.Errorf("%s: %s is left", name, got)
			}
			if problems := strings.Join(b.ledger.Problems(read), "\n"); !strings.Contains(problems, "committed, no row") {
				t.Errorf("%s: found %q", name, problems)
			}
		}
	}
}

// TestLateApplyIsValid: late transfers come by themselves or with Settle, and
// nothing is wrong with them.
func TestLateApplyIsValid(t *testing.T) {
	for _, e := range []engine{inMemory(), onSQLite()} {
		b := newBench(t, e, 3, Seeded{"late-apply", 0.5})
		b.mixed(300)
		waiting, before := len(b.late), len(b.read(t).Entries)
		if waiting == 0 || waiting > maxLate {
			t.Errorf("%d are waiting, want some and at most %d", waiting, maxLate)
		}
		read := b.ledger.Check(t.Context(), t, b.bankStore)
		if len(b.late) != 0 || len(read.Entries) <= before || before <= b.ledger.Count(history.Committed) {
			t.Errorf("Settle left %d waiting; %d rows before, %d after", len(b.late), before, len(read.Entries))
		}
	}
}

// TestSplitBrain: each strike leaves one row that only one member has, on either.
func TestSplitBrain(t *testing.T) {
	for _, e := range []engine{inMemory(), onSQLite()} {
		b := newBench(t, e, 2, Seeded{"split-brain", 0.1})
		b.mixed(500)
		members, unreachable, err := b.Replicas(t.Context())
		if err != nil || len(unreachable) != 0 || len(members) != 2 || !members[0].Primary || members[1].Primary {
			t.Fatalf("members %+v, unreachable %v, error %v", members, unreachable, err)
		}
		rows := map[int64]int{}
		for i, member := range members {
			count := func(e bank.Entry) error { rows[e.ID] += 1 - 2*i; return nil }
			err := errors.Join(b.CatchUp(t.Context(), member), b.ReadReplica(t.Context(), member, func(bank.Account) error { return nil }, count))
			if err != nil {
				t.Fatal(err)
			}
		}
		var alone [2]int64
		for _, n := range rows {
			if n != 0 {
				alone[(n+1)/2]++
			}
		}
		if strikes := b.strikes(t); alone[0]+alone[1] != strikes || alone[0] < 5 || alone[1] < 5 {
			t.Errorf("%d rows are on one member alone, after %d strikes", alone, strikes)
		}
	}
}

// TestEveryBugIsConvicted: with each bug at work that is in the data the suite's
// ledger finds something wrong, unless there is nothing wrong with it.
func TestEveryBugIsConvicted(t *testing.T) {
	for _, bug := range bankBugs() {
		if bug.acts.audit != nil || bug.Check == checkReplicas {
			continue
		}
		for _, e := range []engine{inMemory(), onSQLite()} {
			for _, chance := range []float64{1, 0.05} {
				if chance < 1 && bug.acts.truncates {
					continue // there is but one read
				}
				b := newBench(t, e, 11, Seeded{bug.Name, chance})
				b.mixed(200)
				if err := b.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
				problems := b.ledger.Problems(b.read(t))
				negative := bug.Name == "negative-balance" // right, but for the sign
				if convicted := len(problems) > 0; convicted != (bug.Check != "") && !negative {
					t.Errorf("%s on %s at %v: convicted %v: %.300q", bug.Name, e.name, chance, convicted, problems)
				}
			}
		}
	}
}

// TestDifferencesAreBounded: with as many as may be remembered nothing strikes.
func TestDifferencesAreBounded(t *testing.T) {
	b := newBench(t, inMemory(), 1, Seeded{"altered-row", 1})
	b.differences = maxDifferences
	b.do(1, 2, 100)
	if n := b.strikes(t); n != 0 {
		t.Errorf("%d strikes", n)
	}
	for range 5 * maxLog {
		b.log.add(commit{})
	}
	if n := len(b.log.entries); n < maxLog || n > 2*maxLog {
		t.Errorf("the log has %d transfers", n)
	}
}
