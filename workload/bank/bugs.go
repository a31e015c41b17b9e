package bank

import "assay/store/bug"

// Bugs are the faults that the checks must find.
func Bugs() []bug.Bug {
	const total, accounts, transfers, order, snapshots, replicas = "total", "accounts", "transfers", "order", "snapshots", "replicas"
	return []bug.Bug{
		{Name: "torn-transfer", Check: total,
			Doc: "the debit or the credit is lost, the other and the row stay", Act: bug.Act{Does: bug.Forgets, Columns: []string{"balance"}}},
		{Name: "duplicate-apply", Check: transfers,
			Doc: "the row of a transfer is entered twice: two rows of one id", Act: bug.Act{Does: bug.Repeats}},
		{Name: "moved-twice", Check: accounts,
			Doc: "a transfer has one row and changes both balances twice", Act: bug.Act{Does: bug.Doubles}},
		{Name: "lost-update", Check: order, Kinds: []string{"lost-update"},
			Doc: "the last update of one of the two accounts is overwritten by one that did not see it: its version is given again",
			Act: bug.Act{Does: bug.Overwrites}},
		{Name: "lost-ack", Check: transfers,
			Doc: "committed is answered and nothing stays", Act: bug.Act{Does: bug.Loses}},
		{Name: "failed-but-applied", Check: transfers,
			Doc: "a transfer is applied and answered as failed", Act: bug.Act{Does: bug.Denies}},
		bug.Late("transfer applied"),
		{Name: "altered-row", Check: transfers,
			Doc: "the row has another amount or another destination than the transfer", Act: bug.Act{Does: bug.Alters, Columns: []string{"amount", "destination"}}},
		{Name: "extra-row", Check: transfers,
			Doc: "a transfer that nobody asked for is done beside, with balances to match", Act: bug.Act{Does: bug.Adds}},
		{Name: "truncated-read", Check: total, Or: transfers,
			Doc: "a read ends early and without an error: the tail of the accounts (found by total) or of the journal (found by transfers) is missing",
			Act: bug.Act{Does: bug.Truncates, Tables: []string{"account", "transfer"}}},
		{Name: "dirty-read", Check: snapshots, Kinds: []string{"dirty-read", "read-skew", "audit-sum"},
			Doc: "an audit sees a transfer in the middle: the debit and not the credit, or of one account the new balance and not yet the new version",
			Act: bug.Act{Does: bug.ReadsMiddle}},
		{Name: "read-skew", Check: snapshots, Kinds: []string{"read-skew", "audit-sum"},
			Doc: "an audit reads some accounts before a transfer and some after it", Act: bug.Act{Does: bug.ReadsSkewed}},
		{Name: "long-fork", Check: snapshots, Kinds: []string{"long-fork"},
			Doc: "an audit sees a transfer that the audit before did not see, and does not see one that the audit before saw",
			Act: bug.Act{Does: bug.ReadsForked}},
		{Name: "stale-read", Check: snapshots, Kinds: []string{"stale-read"},
			Doc: "an audit of some accounts sees an earlier state, in which a transfer is missing that had been acknowledged before it began",
			Act: bug.Act{Does: bug.ReadsStale}},
		{Name: "split-brain", Check: replicas,
			Doc: "a committed transfer is on the primary only or on the other members only; if it is not on the primary, it is lost as well (found by transfers)",
			Act: bug.Act{Does: bug.Splits}},
	}
}
