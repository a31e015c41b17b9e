package ledger

import (
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
)

func TestSnapshotTales(t *testing.T) {
	pay := give(1, 1, 2, 1, 0, 20) // in flight while the audits go on
	judgeTales(t, []tale{
		{"the debit and not the credit",
			testHistory{pay, read(5, 10, 1, 1, 2, 0)},
			testHistory{pay, read(5, 10, 1, 1, 2, 1)},
			"snapshots:read-skew",
			"audit 0 of client 1 saw transfer 0 (client 0, operation 0) on account 1 (it gave version 1, version 1 was read) and not on account 2 (it gave version 1, version 0 was read): read skew (G-single)"},
		{"the credit and not the debit",
			testHistory{pay, read(5, 10, 1, 0, 2, 1)},
			testHistory{pay, read(5, 10, 1, 0, 2, 0)},
			"snapshots:read-skew", "on account 2 (it gave version 1, version 1 was read) and not on account 1 (it gave version 1, version 0 was read)"},
		{"a transfer that is neither the last seen nor the first missed",
			testHistory{pay, give(1, 2, 3, 1, 0, 20), give(2, 2, 4, 1, 0, 20), give(5, 1, 2, 3, 0, 20), give(6, 1, 1, 3, 0, 20),
				give(2, 4, 1, 4, 0, 20), give(1, 5, 3, 2, 0, 20), read(5, 10, 1, 5, 2, 2)},
			testHistory{pay, give(1, 2, 3, 1, 0, 20), give(2, 2, 4, 1, 0, 20), give(5, 1, 2, 3, 0, 20), give(6, 1, 1, 3, 0, 20),
				give(2, 4, 1, 4, 0, 20), give(1, 5, 3, 2, 0, 20), read(5, 10, 1, 5, 2, 4)},
			"snapshots:read-skew", "audit 0 of client 7 saw transfer 5497558138880 (client 5, operation 0) on account 1 (it gave version 4, version 5 was read) and not on account 2 (it gave version 4, version 2 was read)"},
		{"what came later and not what came before it, over an account that was not audited",
			testHistory{give(1, 1, 3, 1, 0, 20), give(3, 2, 2, 1, 0, 20), read(5, 10, 1, 0, 2, 1)},
			testHistory{give(1, 1, 3, 2, 0, 20), give(3, 1, 2, 1, 0, 20), read(5, 10, 1, 0, 2, 1)},
			"snapshots:read-skew", "an audit did not see what came before something that it saw (read skew, G-single): " +
				"audit 0 of client 2 read account 1 at version 0 and did not see transfer 0 (client 0, operation 0), which gave it version 1; " +
				"transfer 0 gave account 3 version 1 and transfer 1099511627776 (client 1, operation 0) gave it version 2; " +
				"transfer 1099511627776 gave account 2 version 1 and audit 0 of client 2 saw that, reading version 1"},
		{"two audits that saw two transfers in opposite orders",
			testHistory{pay, give(3, 1, 4, 1, 0, 20), read(5, 10, 1, 1, 3, 0), read(5, 10, 1, 0, 3, 1)},
			testHistory{pay, give(3, 1, 4, 1, 0, 20), read(5, 10, 1, 1, 3, 0), read(5, 10, 1, 1, 3, 1)},
			"snapshots:long-fork", "audits saw transfers in orders that exclude each other (long fork, G-nonadjacent): audit 0 of client"},
		{"a balance that nobody committed",
			testHistory{pay, read(5, 10, 1, 1, 2, 1).but(func(d *testOp) { d.told = map[int]int64{0: -5} })},
			testHistory{pay, read(5, 10, 1, 1, 2, 1)},
			"snapshots:dirty-read", "audit 0 of client 1 read 990 in account 1 at version 1, where the journal makes it 995: it read what was never committed (dirty read, G1a)"},
		{"an opening balance that never was",
			testHistory{pay, read(5, 10, 3, 0).but(func(d *testOp) { d.told = map[int]int64{0: 1 << 32} })},
			testHistory{pay, read(5, 10, 3, 0)},
			"snapshots:dirty-read", "in account 3 at version 0, where the journal makes it 1000"},
		{"a version that nobody gave",
			testHistory{pay, read(5, 10, 1, 2)},
			testHistory{pay, read(5, 10, 1, 1)},
			"snapshots:no-such-version", "audit 0 of client 1 read 995 in account 1 at version 2, which no journal row gave it"},
		{"a version below nought",
			testHistory{pay, read(5, 10, 1, -1)},
			testHistory{pay, read(5, 10, 1, 0)},
			"snapshots:no-such-version", "at version -1"},
		{"an audit that missed what had been acknowledged",
			testHistory{give(1, 1, 2, 1, 0, 9), read(10, 15, 1, 0, 2, 0)},
			testHistory{give(1, 1, 2, 1, 0, 10), read(10, 15, 1, 0, 2, 0)},
			"snapshots:stale-read", "transfer 0 (client 0, operation 0) had ended at 0.000000 s when audit 0 of client 1 was started at 0.000000 s, and yet comes after it: audit 0 of client 1 read account"},
		{"an audit that saw what was not yet started",
			testHistory{give(1, 1, 2, 1, 10, 20), read(1, 9, 1, 1, 2, 1)},
			testHistory{give(1, 1, 2, 1, 9, 20), read(1, 9, 1, 1, 2, 1)},
			"snapshots:future-read", "audit 0 of client 1 had ended"},
		{"an audit older than one before it",
			testHistory{pay, read(1, 5, 1, 1), read(6, 9, 1, 0)},
			testHistory{pay, read(1, 6, 1, 1), read(6, 9, 1, 0)},
			"snapshots:stale-read", "audit 0 of client 1 had ended at 0.000000 s when audit 0 of client 2 was started"},
		{"time runs backwards over an audit that both are in flight with",
			testHistory{give(1, 1, 2, 1, 20, 30), give(3, 1, 4, 1, 0, 9), read(5, 40, 1, 1, 3, 0)},
			testHistory{give(1, 1, 2, 1, 9, 30), give(3, 1, 4, 1, 0, 9), read(5, 40, 1, 1, 3, 0)},
			"snapshots:stale-order", "transfer 1099511627776 (client 1, operation 0) had ended"},
		{"time runs backwards over an audit and a transfer after it",
			testHistory{give(1, 1, 2, 1, 20, 30), give(3, 1, 4, 1, 0, 40), give(4, 2, 5, 1, 0, 9), read(5, 40, 1, 1, 3, 0)},
			testHistory{give(1, 1, 2, 1, 9, 30), give(3, 1, 4, 1, 0, 40), give(4, 2, 5, 1, 0, 9), read(5, 40, 1, 1, 3, 0)},
			"snapshots:stale-order", "transfer 2199023255552 (client 2, operation 0) had ended"},
		{"an audit that missed several is told once",
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9), give(1, 3, 3, 1, 0, 9), read(10, 15, 1, 0)},
			testHistory{give(1, 1, 2, 1, 0, 10), give(1, 2, 2, 2, 0, 10), give(1, 3, 3, 1, 0, 10), read(10, 15, 1, 0)},
			"snapshots:stale-read", "transfer 0"},
		{"an audit that saw several too early is told once",
			testHistory{give(1, 1, 2, 1, 10, 20), give(1, 2, 2, 2, 10, 20), give(5, 1, 6, 1, 0, 20), read(1, 9, 1, 2, 2, 2, 5, 0), read(1, 20, 5, 0)},
			testHistory{give(1, 1, 2, 1, 9, 20), give(1, 2, 2, 2, 9, 20), give(5, 1, 6, 1, 0, 20), read(1, 9, 1, 2, 2, 2, 5, 0), read(1, 20, 5, 0)},
			"snapshots:future-read", "audit 0 of client 3 had ended"},
		{"an audit between two transfers that the order has told already",
			testHistory{give(1, 1, 2, 1, 10, 20), give(1, 2, 3, 1, 0, 9), read(0, 20, 1, 1)},
			testHistory{give(1, 1, 2, 1, 9, 20), give(1, 2, 3, 1, 0, 9), read(0, 20, 1, 1)},
			"order:stale-order", "transfer 1099511627776 (client 1, operation 0) had ended"},
		{"a full audit with a sum that never was",
			testHistory{pay, readAll(5, 10, 6, 5995, 1)},
			testHistory{pay, readAll(5, 10, 6, 6000, 2)},
			"snapshots:audit-sum", "full audit 0 of client 1 found 5995 in all accounts where 6000 were loaded: off by -5"},
		{"a full audit without an account",
			testHistory{pay, readAll(5, 10, 5, 5000, 2)},
			testHistory{pay, readAll(5, 10, 6, 6000, 0)},
			"snapshots:audit-count", "found 5 accounts where 6 were loaded"},
		{"a full audit with half a transfer",
			testHistory{pay, readAll(5, 10, 6, 6000, 1)},
			testHistory{pay, readAll(5, 10, 6, 6000, 0)},
			"snapshots:audit-versions", "versions that add up to 1; each of 1 transfers adds two"},
		{"a full audit with more than all transfers",
			testHistory{pay, readAll(5, 10, 6, 6000, 4)},
			testHistory{pay, readAll(5, 10, 6, 6000, 2)},
			"snapshots:audit-versions", "versions that add up to 4"},
		{"a full audit below nought",
			testHistory{pay, readAll(5, 10, 6, 6000, -2)},
			testHistory{pay, readAll(5, 10, 6, 6000, 2)},
			"snapshots:audit-versions", "add up to -2"},
		{"a full audit that missed what had been acknowledged",
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 11), readAll(10, 15, 6, 6000, 0), readAll(10, 16, 6, 6000, 2)},
			testHistory{give(1, 1, 2, 1, 0, 10), give(1, 2, 2, 2, 0, 11), readAll(10, 15, 6, 6000, 0), readAll(10, 16, 6, 6000, 2)},
			"snapshots:stale-read", "full audit 0 of client 2 saw 0 transfers, though 1 had been acknowledged when it was started"},
		{"a full audit that saw what was not yet started",
			testHistory{give(1, 1, 2, 1, 10, 20), give(1, 2, 2, 2, 0, 20), readAll(1, 9, 6, 6000, 4), readAll(1, 10, 6, 6000, 4)},
			testHistory{give(1, 1, 2, 1, 9, 20), give(1, 2, 2, 2, 0, 20), readAll(1, 9, 6, 6000, 4), readAll(1, 10, 6, 6000, 4)},
			"snapshots:future-read", "saw 2 transfers, though only 1 had been started when it ended"},
		{"a balance that a transfer without an answer made, which is gone",
			testHistory{give(1, 1, 2, 1, 0, 20), withdrawn(give(3, 2, 1, 2, 4, 9)), give(1, 2, 5, 1, 12, 20), read(5, 10, 1, 2).but(moved(10))},
			testHistory{give(1, 1, 2, 1, 0, 20), withdrawn(give(3, 2, 1, 2, 4, 9)), give(1, 2, 5, 1, 12, 20), read(5, 10, 1, 1)},
			"snapshots:gone-read", "audit 0 of client 3 read 1000 in account 1 at version 2, which the journal does not give it, and which it has after transfer 1099511627776 (client 1, operation 0)"},
		{"a version that two transfers without an answer made, which are gone",
			testHistory{pay, withdrawn(give(3, 1, 1, 2, 4, 9)), withdrawn(give(1, 3, 4, 1, 4, 9)), read(5, 10, 1, 3)},
			testHistory{pay, withdrawn(give(3, 1, 1, 2, 4, 9)), withdrawn(give(1, 3, 4, 1, 4, 9)), read(5, 10, 1, 1)},
			"snapshots:gone-read", "after transfer 1099511627776 (client 1, operation 0), transfer 2199023255552 (client 2, operation 0)"},
		{"a balance that a transfer without an answer would make that began only afterwards",
			testHistory{give(1, 1, 2, 1, 0, 20), withdrawn(give(3, 2, 1, 2, 11, 19)), give(1, 2, 5, 1, 12, 20), read(5, 10, 1, 2).but(moved(10))},
			testHistory{give(1, 1, 2, 1, 0, 20), withdrawn(give(3, 2, 1, 2, 4, 9)), give(1, 2, 5, 1, 9, 20), read(5, 10, 1, 2).but(moved(0))},
			"snapshots:dirty-read", "it read what was never committed"},
		{"a full audit with a transfer without an answer that is gone",
			testHistory{pay, withdrawn(give(3, 1, 4, 1, 4, 9)), readAll(5, 10, 6, 6000, 4)},
			testHistory{pay, withdrawn(give(3, 1, 4, 1, 4, 9)), readAll(5, 10, 6, 6000, 2)},
			"snapshots:gone-read", "full audit 0 of client 2 saw 2 transfers when it ended at 0.000000 s, and the journal has only 1 that had been started by then"},
		{"an audit is told for the first thing only",
			testHistory{pay, read(25, 30, 1, 0, 2, 1).but(func(d *testOp) { d.told = map[int]int64{0: 3, 2: 3} })},
			testHistory{pay, read(25, 30, 1, 1, 2, 1)},
			"snapshots:dirty-read", "read 1003 in account 1"},
	})
}

// withdrawn is a transfer without an answer and without a row.
func withdrawn(d testOp) testOp { d.outcome, d.absent = history.Unknown, true; return d }

// moved changes an audit's first balance from the one of its version.
func moved(by int64) func(*testOp) { return func(d *testOp) { d.told = map[int]int64{0: by} } }

func TestAuditsThatCannotBeJudged(t *testing.T) {
	for name, c := range map[string]struct {
		testHistory testHistory
		change      func(*run)
		detail      string
	}{
		"none was done":   {testHistory{give(1, 1, 2, 1, 0, 9)}, nil, "no audit was done"},
		"none came about": {testHistory{give(1, 1, 2, 1, 0, 9), read(5, 9, 1, 1, 2, 0).but(unknown), readAll(5, 9, 0, 0, 0).but(unknown)}, nil, "no audit was done"},
		"fewer values than accounts": {testHistory{give(1, 1, 2, 1, 0, 9), read(5, 9, 1, 1, 2, 1)},
			func(r *run) { r.ops[1].Values = r.ops[1].Values[:3] }, "audit 0 of client 1 has 3 values for 2 accounts"},
		"an account twice":    {testHistory{give(1, 1, 2, 1, 0, 9), read(5, 9, 1, 1, 1, 1)}, nil, "cannot be understood"},
		"an account too many": {testHistory{give(1, 1, 2, 1, 0, 9), read(5, 9, 7, 1)}, nil, "cannot be understood"},
		"no account":          {testHistory{give(1, 1, 2, 1, 0, 9), read(5, 9)}, nil, "cannot be understood"},
		"a full audit of two values": {testHistory{give(1, 1, 2, 1, 0, 9), readAll(5, 9, 6, 6000, 0)},
			func(r *run) { r.ops[1].Values = r.ops[1].Values[:2] }, "full audit 0 of client 1 has 2 values instead of 3"},
		"a version given twice was read": {testHistory{give(1, 1, 2, 1, 0, 9), give(1, 1, 3, 1, 0, 9), read(5, 9, 1, 1, 2, 0)}, nil,
			"1 of 1 audits read versions that were given twice"},
		"two versions given twice were read": {testHistory{give(1, 1, 2, 1, 0, 9), give(1, 1, 2, 1, 0, 9), read(5, 9, 1, 1, 2, 1)}, nil,
			"1 of 1 audits read versions that were given twice"},
		"two versions given twice, one read each": {testHistory{give(1, 1, 2, 1, 0, 9), give(1, 1, 3, 1, 0, 9), give(4, 1, 5, 1, 0, 9), give(4, 1, 6, 1, 0, 9),
			read(5, 9, 1, 1), read(5, 9, 4, 1), read(5, 9, 3, 1)}, nil, "2 of 3 audits read versions that were given twice"},
		"nothing was read back": {testHistory{give(1, 1, 2, 1, 0, 9), read(5, 9, 1, 1)}, func(r *run) { r.rows, r.accounts = nil, nil }, ""},
	} {
		r := c.testHistory.run()
		if c.change != nil {
			c.change(&r)
		}
		if got := r.results(t)["snapshots"]; c.detail != "" && (got.Verdict != check.Unknown || !strings.Contains(got.Detail, c.detail)) {
			t.Errorf("%s: %v: %s %v", name, got.Verdict, got.Detail, got.Evidence)
		} else if got.Verdict == check.Valid {
			t.Errorf("%s: %v: %s", name, got.Verdict, got.Detail)
		}
	}
}

func TestWhatFullAuditsCanHaveSeen(t *testing.T) {
	for seed := range uint64(30) {
		j := randomRun(seed, 10, 4, 100).judge(t)
		a := newAuditCheck(newVersionOrder(j, newFindings(orderKinds)), newFindings(snapshotKinds))
		slices.Reverse(a.audits.full)
		for n, got := range a.limits() {
			var want limits
			for i := range j.entries.len() {
				first, end := j.span(i)
				if end < a.audits.full[n].first {
					want.least++
				}
				if first <= a.audits.full[n].end {
					want.most++
				}
			}
			if got != want {
				t.Fatalf("seed %d, audit %d: %v, want %v", seed, n, got, want)
			}
		}
	}
}

// A wrong row convicts even in a damaged journal or history.
func TestIncompletePartsConvictTheOrder(t *testing.T) {
	knot := testHistory{give(1, 1, 2, 2, 0, 9), give(1, 3, 2, 1, 0, 9), give(3, 3, 4, 7, 5, 6), give(3, 3, 5, 7, 5, 6), read(5, 9, 3, 3, 4, 6)}
	for _, part := range []Part{History, Journal} {
		r := knot.run().without(part)
		if part == History { // what the order is of needs no record
			r.ops, r.reservations = r.ops[:1], nil
		}
		got := convictions(r.results(t))
		if want := "order:lost-update order:dirty-write"; !strings.HasPrefix(got, want) {
			t.Errorf("without %v: convicted %q, want %q", part, got, want)
		}
	}
}

func TestAuditsNeedTheirBooks(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"no accounts":               func(b *Config) { b.Audited = nil },
		"one kind for both":         func(b *Config) { b.FullAuditKind = b.AuditKind },
		"audits are transfers":      func(b *Config) { b.AuditKind = b.TransferKind },
		"full audits are transfers": func(b *Config) { b.FullAuditKind = b.TransferKind },
	} {
		b := audited(books(3))
		spoil(&b)
		if j, err := New(b); err == nil || j != nil {
			t.Errorf("%s: accepted", name)
		}
	}
	b := books(3)
	b.FullAuditKind = kindFullAudit // alone
	if _, err := New(b); err != nil {
		t.Error(err)
	}
}

func TestMoreRowsThanCanBePutInOrder(t *testing.T) {
	j := testHistory{give(1, 1, 2, 1, 0, 9), read(5, 9, 1, 1, 2, 1)}.run().judge(t)
	j.entries.tooMany = 1
	for _, r := range j.Results()[3:] {
		if r.Verdict != check.Unknown || !strings.Contains(r.Detail, "1 journal rows are too many to be put in order") {
			t.Errorf("%s is %v: %s", r.Name, r.Verdict, r.Detail)
		}
	}
	// Above the limit a proof is still tried, but errors are not searched for.
	j = testHistory{give(1, 1, 2, 1, 0, 9), read(5, 9, 1, 1, 2, 1)}.run().judge(t)
	j.searchable = 0
	for _, r := range j.Results()[3:] {
		if r.Verdict != check.Valid {
			t.Errorf("%s is %v: %s", r.Name, r.Verdict, r.Detail)
		}
	}
	j = testHistory{give(1, 2, 2, 1, 0, 9), read(5, 9, 1, 1, 2, 1)}.run().judge(t)
	j.searchable = 0
	for _, r := range j.Results()[3:] {
		if r.Verdict != check.Unknown || !strings.Contains(r.Detail, "1 journal rows it could not be shown") {
			t.Errorf("%s is %v: %s", r.Name, r.Verdict, r.Detail)
		}
	}
}
