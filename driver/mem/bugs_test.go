package mem

import (
	"slices"
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/history"
	"assay/workload/bank"
)

// injected returns a bench on which a bug always strikes.
func injected(t *testing.T, bug string, seed uint64) *bench {
	t.Helper()
	return newBench(t, Options{Seed: seed, Inject: []Injection{{bug, 1}}}, 4)
}

// seeds is how many are tried where a bug has several forms; each must come.
const seeds = 40

// forms runs one case under many seeds and wants it to take exactly the forms
// named.
func forms(t *testing.T, bug string, want []string, run func(*bench) string) {
	t.Helper()
	seen := map[string]bool{}
	for seed := range uint64(seeds) {
		seen[run(injected(t, bug, seed))] = true
	}
	for form := range seen {
		if !slices.Contains(want, form) {
			t.Errorf("%s: did %s", bug, form)
		}
	}
	for _, form := range want {
		if !seen[form] {
			t.Errorf("%s: never did %s", bug, form)
		}
	}
}

// total is the sum of the balances.
func total(s drivertest.Snapshot) int64 {
	var sum int64
	for _, a := range s.Accounts {
		sum += a.Balance
	}
	return sum
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

func TestWithoutBugs(t *testing.T) {
	b := newBench(t, Options{}, 4)
	b.do(1, 2, 100)
	if got := shape(b.read(t)); got != whole {
		t.Errorf("an honest transfer left %s", got)
	}
	b.mixed(500)
	b.ledger.Check(t.Context(), t, b.store)
	if b.ledger.Count(history.Committed) < 100 || b.ledger.Count(history.Rejected) < 10 {
		t.Error("the mixture is not one")
	}
}

// TestBugsInEffect wants each bug to leave what its Doc says.
func TestBugsInEffect(t *testing.T) {
	cases := map[string]struct {
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
	}
	for bug, c := range cases {
		forms(t, bug, c.forms, func(b *bench) string {
			if r := b.do(1, 2, 100); r.Outcome != c.outcome {
				t.Errorf("%s: %+v, want %v", bug, r, c.outcome)
			}
			return shape(b.read(t))
		})
	}
}

func TestPartialRollbackOfRejection(t *testing.T) {
	forms(t, "partial-rollback", []string{"credit", "row"}, func(b *bench) string {
		b.bank.account(1).balance = 50
		if r := b.do(1, 2, 100); r.Outcome != history.Rejected {
			t.Errorf("%+v, want rejected", r)
		}
		return shape(b.read(t))
	})
}

func TestNegativeBalance(t *testing.T) {
	b := injected(t, "negative-balance", 1)
	if r := b.do(1, 2, 1500); r.Outcome != history.Committed || r.Source.Balance != -500 {
		t.Errorf("%+v, want a balance of -500", r)
	}
	if r := b.do(1, 9, 1); r.Outcome != history.Rejected {
		t.Errorf("to a missing account: %+v, want rejected", r)
	}
	if read := b.read(t); read.Account(1).Balance != -500 || total(read) != 4000 {
		t.Errorf("read %+v", read.Accounts)
	}
}

// TestLostUpdateRepeatsAVersion: each strike is one version that was given
// twice, on whichever side of the transfer.
func TestLostUpdateRepeatsAVersion(t *testing.T) {
	b := newBench(t, Options{Seed: 1, Inject: []Injection{{"lost-update", 0.3}}}, 4)
	b.mixed(300)
	type given struct{ account, version int64 }
	versions := map[given]int64{}
	for _, e := range b.read(t).Entries {
		versions[given{e.Source, e.SourceVersion}]++
		versions[given{e.Destination, e.DestinationVersion}]++
	}
	var repeated int64
	for _, n := range versions {
		repeated += n - 1
	}
	if strikes := b.armed[0].strikes; repeated != strikes || strikes < 20 {
		t.Errorf("%d versions were given twice and the bug struck %d times", repeated, strikes)
	}
}

// TestLostUpdateNeedsFunds: what a transfer overwrites may be what it lives on.
func TestLostUpdateNeedsFunds(t *testing.T) {
	b := injected(t, "lost-update", 1)
	b.do(2, 1, 600)
	if r := b.do(1, 3, 1200); r.Source != (bank.State{Balance: 400, Version: 2}) || b.armed[0].strikes != 0 {
		t.Errorf("%+v after %d strikes: without the credit there were no funds", r, b.armed[0].strikes)
	}
	if r := b.do(1, 4, 300); r.Source != (bank.State{Balance: 1300, Version: 2}) || b.armed[0].strikes != 1 {
		t.Errorf("%+v after %d strikes, want the last debit overwritten", r, b.armed[0].strikes)
	}
}

func TestLostAckIsLostWithTheNextCall(t *testing.T) {
	for name, next := range map[string]func(*bench) error{
		"transfer": func(b *bench) error { b.do(3, 9, 1); return nil }, // rejected
		"settle":   func(b *bench) error { return b.store.Settle(t.Context()) },
	} {
		b := injected(t, "lost-ack", 1)
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
		// The id is free again, and the ledger knows what was promised.
		if problems := strings.Join(b.ledger.Problems(read), "\n"); !strings.Contains(problems, "committed, no row") {
			t.Errorf("%s: found %q", name, problems)
		}
	}
}

// TestLateApplyIsValid: late transfers come by themselves or with Settle, and
// nothing is wrong with them.
func TestLateApplyIsValid(t *testing.T) {
	b := newBench(t, Options{Seed: 3, Inject: []Injection{{"late-apply", 0.5}}}, 4)
	b.mixed(300)
	waiting := len(b.late)
	if waiting == 0 || waiting > maxLate {
		t.Errorf("%d are waiting, want some and at most %d", waiting, maxLate)
	}
	before := len(b.read(t).Entries)
	read := b.ledger.Check(t.Context(), t, b.store)
	if len(b.late) != 0 || len(read.Entries) <= before {
		t.Errorf("Settle left %d waiting; %d rows before, %d after", len(b.late), before, len(read.Entries))
	}
	unknown := b.ledger.Count(history.Unknown)
	if unknown == 0 || before <= b.ledger.Count(history.Committed) {
		t.Errorf("%d unknown, %d committed, %d rows before Settle: none came late by itself", unknown, b.ledger.Count(history.Committed), before)
	}
}

func TestAlteredRow(t *testing.T) {
	forms(t, "altered-row", []string{"amount", "destination"}, func(b *bench) string {
		b.do(1, 2, 100)
		switch b.read(t).Entries[0].Transfer {
		case bank.Transfer{ID: bank.TransferID(0, 1), Source: 1, Destination: 2, Amount: 101}:
			return "amount"
		case bank.Transfer{ID: bank.TransferID(0, 1), Source: 1, Destination: 1, Amount: 100}:
			return "destination"
		default:
			return "something else"
		}
	})
}

func TestExtraRow(t *testing.T) {
	b := injected(t, "extra-row", 1)
	for range 20 {
		b.do(1, 2, 10)
	}
	read := b.read(t)
	if len(read.Entries) != 40 || total(read) != 4000 || read.Account(1).Balance != 1000-20*9 || read.Account(1).Version != 40 {
		t.Errorf("%d rows, accounts %+v", len(read.Entries), read.Accounts)
	}
	foreign := 0
	for _, e := range read.Entries {
		if client, _, ok := bank.SplitID(e.ID); !ok || client == nobody {
			foreign++
		}
	}
	if foreign != 20 {
		t.Errorf("%d foreign rows, want 20", foreign)
	}
}

func TestTruncatedRead(t *testing.T) {
	forms(t, "truncated-read", []string{"accounts", "rows"}, func(b *bench) string {
		for range 5 {
			b.do(1, 2, 1)
		}
		switch read := b.read(t); {
		case len(read.Accounts) < 4 && len(read.Entries) == 5:
			return "accounts"
		case len(read.Accounts) == 4 && len(read.Entries) < 5:
			return "rows"
		default:
			return "something else"
		}
	})
	for seed := range uint64(seeds) {
		b := injected(t, "truncated-read", seed)
		if read := b.read(t); len(read.Accounts) >= 4 || len(read.Accounts) == 0 {
			t.Errorf("without rows, %d of 4 accounts were read", len(read.Accounts))
		}
	}
}

// TestEveryBugIsConvicted: with each bug at work that is in the books the
// suite's ledger finds something wrong, unless there is nothing wrong with it.
func TestEveryBugIsConvicted(t *testing.T) {
	for _, bug := range Bugs() {
		if bug.audit != nil || bug.Check == checkReplicas {
			continue // see bugs_audit_test.go and copy_test.go
		}
		for _, chance := range []float64{1, 0.02} {
			b := newBench(t, Options{Seed: 11, Inject: []Injection{{bug.Name, chance}}}, 4)
			b.mixed(1000)
			if err := b.store.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			problems := b.ledger.Problems(b.read(t))
			if chance < 1 && strings.HasPrefix(bug.Name, "truncated") {
				continue // there was but one read
			}
			if convicted := len(problems) > 0; convicted != (bug.Check != "") {
				t.Errorf("%s at %v: convicted %v: %.300q", bug.Name, chance, convicted, problems)
			}
		}
	}
}

func TestBugsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, bug := range Bugs() {
		if bug.Name == "" || bug.Doc == "" || seen[bug.Name] || bug.transfer == nil && bug.read == nil && bug.audit == nil {
			t.Errorf("bug %+v", bug)
		}
		seen[bug.Name] = true
		if bug.Check == "" && bug.Name != "late-apply" {
			t.Errorf("%s names no check", bug.Name)
		}
	}
}
