package ledger

import (
	"slices"

	"assay/history"
)

// Each case changes base so that the named checks, and no others, must convict. twin is the nearest
// valid change.
var cases = []struct {
	name  string
	wrong func(*run)
	twin  func(*run)
	// convicted is "check:kind" for each kind of evidence.
	convicted string
}{
	{"acknowledged and gone without a trace",
		func(r *run) { r.op(2, history.Committed) },
		func(r *run) { r.op(2, history.Unknown) },
		"transfers:lost"},
	{"acknowledged, balances moved, row gone",
		func(r *run) { r.op(2, history.Committed); r.move(2) },
		func(r *run) { r.op(2, history.Committed); r.move(2); r.journal(2, 3, 3) },
		"accounts:balance accounts:version transfers:lost"},
	{"acknowledged, row there, balances not moved",
		func(r *run) { r.op(2, history.Committed); r.journal(2, 3, 3) },
		func(r *run) { r.op(2, history.Committed); r.journal(2, 3, 3); r.move(2) },
		"accounts:balance accounts:version"},
	{"only the debit",
		func(r *run) { r.op(2, history.Committed); r.journal(2, 3, 3); r.set(1, -30, 1) },
		func(r *run) { r.op(2, history.Committed); r.journal(2, 3, 3); r.move(2) },
		"total:sum accounts:balance accounts:version"},
	{"only the credit",
		func(r *run) { r.op(2, history.Unknown); r.journal(2, 3, 3); r.set(2, 30, 1) },
		func(r *run) { r.op(2, history.Unknown); r.journal(2, 3, 3); r.move(2) },
		"total:sum accounts:balance accounts:version"},
	{"failed and applied",
		func(r *run) { r.op(2, history.Failed); r.journal(2, 3, 3); r.move(2) },
		func(r *run) { r.op(2, history.Failed) },
		"transfers:applied-though-failed"},
	{"rejected and applied",
		func(r *run) { r.op(2, history.Rejected); r.journal(2, 3, 3); r.move(2) },
		func(r *run) { r.op(2, history.Rejected) },
		"transfers:applied-though-rejected"},
	{"failed, no row, balances moved",
		func(r *run) { r.op(2, history.Failed); r.move(2) },
		func(r *run) { r.op(2, history.Failed) },
		"accounts:balance accounts:version"},
	{"failed and applied twice",
		func(r *run) { r.op(2, history.Failed); r.journal(2, 3, 3); r.journal(2, 4, 4); r.move(2); r.move(2) },
		func(r *run) { r.op(2, history.Failed) },
		"transfers:applied-though-failed"},
	{"committed and applied twice",
		func(r *run) { r.op(2, history.Committed); r.journal(2, 3, 3); r.journal(2, 4, 4); r.move(2); r.move(2) },
		func(r *run) { r.op(2, history.Committed); r.journal(2, 3, 3); r.move(2) },
		"transfers:doubled"},
	{"unknown and applied twice",
		func(r *run) { r.op(2, history.Unknown); r.journal(2, 3, 3); r.journal(2, 4, 4); r.move(2); r.move(2) },
		func(r *run) { r.op(2, history.Unknown); r.journal(2, 3, 3); r.move(2) },
		"transfers:doubled"},
	{"without a record and applied twice",
		func(r *run) { r.journal(2, 3, 3); r.journal(2, 4, 4); r.move(2); r.move(2) },
		func(r *run) { r.journal(2, 3, 3); r.move(2) },
		"transfers:doubled"},
	{"applied four times is not once",
		func(r *run) {
			for v := range int64(4) {
				r.journal(2, 3+v, 3+v)
				r.move(2)
			}
		},
		func(r *run) { r.journal(2, 3, 3); r.move(2) },
		"transfers:doubled"},
	{"beyond the reservation",
		func(r *run) { r.journal(8, 3, 3); r.move(8) },
		func(r *run) { r.journal(7, 3, 3); r.move(7) },
		"transfers:foreign"},
	{"of a client without a reservation",
		func(r *run) { r.rows = append(r.rows, Row{1 << 40, 1, 2, 10 * (1<<40 + 1), 3, 3}) },
		func(r *run) { r.op(7, history.Unknown) },
		"accounts:balance accounts:version transfers:foreign"},
	{"moved by nobody, journal and all",
		func(r *run) { r.rows = append(r.rows, Row{-5, 1, 2, 10, 3, 3}); r.set(1, -10, 1); r.set(2, 10, 1) },
		func(r *run) { r.op(2, history.Committed); r.journal(2, 3, 3); r.move(2) },
		"transfers:foreign"},
	{"another amount, in balances and journal alike",
		func(r *run) {
			r.op(2, history.Committed)
			r.rows = append(r.rows, Row{2, 1, 2, 31, 3, 3})
			r.set(1, -31, 1)
			r.set(2, 31, 1)
		},
		func(r *run) { r.op(2, history.Committed); r.journal(2, 3, 3); r.move(2) },
		"transfers:altered"},
	{"to another account, in balances and journal alike",
		func(r *run) {
			r.op(2, history.Committed)
			r.rows = append(r.rows, Row{2, 1, 3, 30, 3, 1})
			r.set(1, -30, 1)
			r.set(3, 30, 1)
		},
		func(r *run) { r.op(2, history.Committed); r.journal(2, 3, 3); r.move(2) },
		"transfers:altered"},
	{"to itself",
		func(r *run) {
			r.op(2, history.Committed)
			r.rows = append(r.rows, Row{2, 1, 1, 30, 3, 3})
			r.set(1, 0, 1)
		},
		func(r *run) { r.op(2, history.Committed); r.journal(2, 3, 3); r.move(2) },
		"transfers:altered"},
	{"versions other than acknowledged, beside a lost transfer of which none were",
		func(r *run) {
			r.op(2, history.Committed, 3, 4)
			r.journal(2, 3, 3)
			r.move(2)
			r.op(3, history.Committed)
		},
		func(r *run) {
			r.op(2, history.Committed, 3, 3)
			r.journal(2, 3, 3)
			r.move(2)
			r.op(3, history.Unknown)
		},
		"transfers:lost transfers:acknowledged"},
	{"a lost transfer whose versions were acknowledged is not told twice",
		func(r *run) { r.op(2, history.Committed, 3, 3) },
		func(r *run) { r.op(2, history.Unknown, 3, 3) },
		"transfers:lost"},
	{"reserved twice, and beyond both",
		func(r *run) { r.reserve(4); r.reserve(2); r.journal(8, 3, 3); r.move(8) },
		func(r *run) { r.reserve(4); r.reserve(2); r.journal(7, 3, 3); r.move(7) },
		"transfers:foreign"},
	{"an outcome that does not exist is unknown",
		func(r *run) { r.op(2, 9); r.journal(2, 3, 3); r.journal(2, 3, 3); r.move(2); r.move(2) },
		func(r *run) { r.op(2, 9); r.journal(2, 3, 3); r.move(2) },
		"transfers:doubled"},
	{"versions other than acknowledged",
		func(r *run) { r.op(2, history.Committed, 3, 4); r.journal(2, 3, 3); r.move(2) },
		func(r *run) { r.op(2, history.Committed, 3, 3); r.journal(2, 3, 3); r.move(2) },
		"transfers:acknowledged"},
	{"a balance with no row behind it",
		func(r *run) { r.set(3, -1, 0) },
		func(r *run) { r.op(2, history.Rejected) },
		"total:sum accounts:balance"},
	{"a lost update of both sides shows in the versions alone if amounts agree",
		func(r *run) { r.set(1, 0, -1) },
		func(r *run) { r.op(2, history.Rejected) },
		"accounts:version"},
	{"below zero",
		func(r *run) { r.accounts[2].balance = -1; r.accounts[3].balance = 2001 },
		func(r *run) { r.op(2, history.Rejected) },
		"total:negative accounts:balance"},
	{"an account gone",
		func(r *run) { r.accounts = r.accounts[:3] },
		func(r *run) { r.op(2, history.Rejected) },
		"total:sum total:missing-account"},
	{"an account that was never loaded",
		func(r *run) { r.accounts = append(r.accounts, held{5, 0, 0}) },
		func(r *run) { r.op(2, history.Rejected) },
		"total:foreign-account"},
	{"an account twice",
		func(r *run) { r.accounts = slices.Insert(r.accounts, 1, held{1, 0, 0}) },
		func(r *run) { r.op(2, history.Rejected) },
		"total:doubled-account"},
	{"accounts out of order",
		func(r *run) { slices.Reverse(r.accounts) },
		func(r *run) { slices.Reverse(r.rows) },
		"total:unordered"},
	{"a row of an operation that is not a transfer",
		func(r *run) {
			r.ops = append(r.ops, history.Op{Seq: 2, Last: true, Kind: kindAudit, Final: history.Committed})
			r.journal(2, 3, 3)
			r.move(2)
		},
		func(r *run) {
			r.ops = append(r.ops, history.Op{Seq: 2, Last: true, Kind: kindAudit, Final: history.Committed})
		},
		"transfers:foreign"},
	{"an attempt that does not end the operation decides nothing",
		func(r *run) {
			r.ops = append(r.ops, history.Op{Seq: 2, Attempt: 1, Kind: kindTransfer, Outcome: history.Unknown})
			r.op(2, history.Failed)
			r.journal(2, 3, 3)
			r.move(2)
		},
		func(r *run) {
			r.ops = append(r.ops, history.Op{Seq: 2, Attempt: 1, Kind: kindTransfer, Outcome: history.Failed, Final: history.Failed})
			r.journal(2, 3, 3)
			r.move(2)
		},
		"transfers:applied-though-failed"},

	// Two errors that hide each other from all checks but one.
	{"two lost updates that cancel out",
		func(r *run) { r.set(3, 7, 0); r.set(4, -7, 0) },
		func(r *run) { r.op(2, history.Rejected) },
		"accounts:balance"},
	{"one lost and a like one twice",
		func(r *run) {
			r.op(6, history.Committed)
			r.op(7, history.Committed)
			r.journal(6, 3, 3)
			r.journal(6, 4, 4)
			r.move(6)
			r.move(7)
		},
		func(r *run) {
			r.op(6, history.Committed)
			r.op(7, history.Committed)
			r.journal(6, 3, 3)
			r.journal(7, 4, 4)
			r.move(6)
			r.move(7)
		},
		"transfers:lost transfers:doubled"},
	{"an account gone, and its money in a foreign one",
		func(r *run) { r.accounts[3].id = 5 },
		func(r *run) { r.op(2, history.Rejected) },
		"total:missing-account total:foreign-account"},
	{"an empty account gone",
		func(r *run) { r.set(3, 1000, 0); r.accounts = r.accounts[:3] },
		func(r *run) { r.op(2, history.Rejected) },
		"total:missing-account accounts:balance"},
	{"a wrong balance that a wrong row explains",
		func(r *run) { r.rows[1].Amount -= 5; r.set(1, 5, 0); r.set(2, -5, 0) },
		func(r *run) { r.op(2, history.Rejected) },
		"transfers:altered"},
	{"lost, and a failed one applied in its stead",
		func(r *run) {
			r.op(6, history.Committed)
			r.op(7, history.Failed)
			r.journal(7, 3, 3)
			r.move(7)
		},
		func(r *run) {
			r.op(6, history.Committed)
			r.op(7, history.Failed)
			r.journal(6, 3, 3)
			r.move(6)
		},
		"transfers:lost transfers:applied-though-failed"},
	{"versions exchanged between two acknowledged rows",
		func(r *run) {
			r.rows[0].SourceVersion, r.rows[1].SourceVersion = 2, 1
			r.rows[0].DestinationVersion, r.rows[1].DestinationVersion = 2, 1
		},
		func(r *run) { slices.Reverse(r.rows) },
		"transfers:acknowledged order:acknowledged-balance"},
}
