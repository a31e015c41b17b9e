package ledger

import (
	"math"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
)

// tiny is a bank of four accounts that were loaded with 1000 each, and an odd
// one: transfer n of client 0 moves 10*(n+1) from account 1 to account 2,
// except that numbers 6 and 7 are alike.
func tiny() run {
	b := books(4)
	b.Expect = func(id int64) (source, destination, amount int64) {
		if id == 7 {
			id = 6
		}
		return 1, 2, 10 * (id + 1)
	}
	return run{
		books:        b,
		reservations: []history.Reservation{{Client: 0, UpTo: 8}},
		accounts:     []held{{1, 1000, 0}, {2, 1000, 0}, {3, 1000, 0}, {4, 1000, 0}},
	}
}

// op records the end of a transfer of client 0.
func (r *run) op(seq uint64, final history.Outcome, versions ...int64) {
	op := history.Op{Seq: seq, Attempt: 1, Last: true, Kind: kindTransfer, Outcome: final, Final: final}
	if len(versions) == 2 {
		op.Values = []int64{0, versions[0], 0, versions[1]}
	}
	r.ops = append(r.ops, op)
}

// journal adds the right row of a transfer.
func (r *run) journal(seq uint64, sourceVersion, destinationVersion int64) {
	s, d, a := r.books.Expect(int64(seq))
	r.rows = append(r.rows, Row{int64(seq), s, d, a, sourceVersion, destinationVersion})
}

// move changes the two accounts of a transfer as it should.
func (r *run) move(seq uint64) {
	s, d, a := r.books.Expect(int64(seq))
	r.set(s, -a, 1)
	r.set(d, a, 1)
}

func (r *run) reserve(upTo uint64) {
	r.reservations = append(r.reservations, history.Reservation{UpTo: upTo})
}

// set adds to an account's balance and version.
func (r *run) set(id, balance, version int64) {
	for i := range r.accounts {
		if r.accounts[i].id == id {
			r.accounts[i].balance += balance
			r.accounts[i].version += version
		}
	}
}

// base has transfers 0 and 1 committed and all in order.
func base() run {
	r := tiny()
	for seq := range uint64(2) {
		v := int64(seq) + 1
		r.op(seq, history.Committed, v, v)
		r.journal(seq, v, v)
		r.move(seq)
	}
	return r
}

// Each case changes base in a way that one check, and only the named ones,
// must convict; twin is the nearest change that is in order.
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

	// Two wrongs that hide each other from all checks but one.
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
		"transfers:acknowledged"},
}

func convictions(results map[string]check.Result) string {
	var said []string
	for _, name := range []string{"total", "accounts", "transfers"} {
		for _, e := range results[name].Evidence {
			if text := name + ":" + e.Kind; !slices.Contains(said, text) {
				said = append(said, text)
			}
		}
	}
	return strings.Join(said, " ")
}

func TestCases(t *testing.T) {
	wantValid(t, "base", base())
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			wrong := base()
			c.wrong(&wrong)
			results := wrong.results(t)
			if got := convictions(results); got != c.convicted {
				t.Errorf("convicted %q, want %q", got, c.convicted)
			}
			for name, r := range results {
				convicted := strings.Contains(c.convicted, name+":")
				if (r.Verdict == check.Violated) != convicted || (r.Found > 0) != convicted {
					t.Errorf("%s is %v with %d found: %s", name, r.Verdict, r.Found, r.Detail)
				}
			}
			twin := base()
			c.twin(&twin)
			wantValid(t, "the twin", twin)
		})
	}
}

func TestEvidenceSaysWhatAndHowMuch(t *testing.T) {
	r := base()
	r.op(2, history.Committed)
	r.set(3, -7, 2)
	results := r.results(t)
	for _, want := range []struct{ check, text string }{
		{"total", "the accounts hold 3993 where 4000 were loaded: 7 too little"},
		{"accounts", "account 3 holds 993; opening 1000 and 0 journal rows make it 1000: off by -7"},
		{"accounts", "account 3 has version 2, but 0 journal rows touch it"},
		{"transfers", "transfer 2 (client 0, operation 2: 30 from account 1 to 2) was acknowledged as committed and has no journal row"},
	} {
		found := slices.ContainsFunc(results[want.check].Evidence, func(e check.Evidence) bool {
			return e.Text == want.text && len(e.Fields) > 0
		})
		if !found {
			t.Errorf("%s lacks %q: %v", want.check, want.text, results[want.check].Evidence)
		}
	}
	if got := results["transfers"].Evidence[0].Fields; got["id"] != 2 || got["amount"] != 30 || got["source"] != 1 || got["destination"] != 2 {
		t.Errorf("fields of the lost transfer: %v", got)
	}
}

func TestAcknowledgedVersionsNameTheTransfer(t *testing.T) {
	r := randomRun(3, 30, 2, 2*blockOps)
	places := []int{}
	for i := range r.ops {
		if acknowledgedRow(&r, i) != nil && r.ops[i].Client == 1 && r.ops[i].Seq > blockOps {
			places = append(places, i)
		}
	}
	op := &r.ops[places[10]]
	op.Values[3] += 5
	evidence := r.results(t)["transfers"].Evidence
	if len(evidence) != 1 || evidence[0].Fields["id"] != r.books.ID(op.Client, op.Seq) {
		t.Fatalf("want operation %d of client 1, got %v", op.Seq, evidence)
	}
	r.ops[places[20]].Values[1]++
	evidence = r.results(t)["transfers"].Evidence
	if len(evidence) != 1 || evidence[0].Fields["first_operation"] != blockOps || evidence[0].Fields["last_operation"] != 2*blockOps-1 {
		t.Fatalf("want a range of operations, got %v", evidence)
	}
}

func TestTally(t *testing.T) {
	r := base()
	r.op(2, history.Rejected)
	r.op(3, history.Failed)
	r.op(4, history.Unknown)
	r.op(5, history.Unknown)
	r.ops = append(r.ops, history.Op{Seq: 7, Last: true, Kind: kindAudit, Final: history.Committed})
	for _, seq := range []uint64{5, 6} { // 6 has no record
		r.journal(seq, 9, 9)
		r.move(seq)
	}
	want := Tally{Committed: 2, Rejected: 1, Failed: 1, Unknown: 3, UnknownApplied: 2, Rows: 4, Accounts: 4}
	if got := r.judge(t).Tally(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	detail := "2 committed transfers have exactly one journal row each, 1 rejected and 1 failed ones have none, 2 of 3 unknown ones took effect"
	if got := r.results(t)["transfers"].Detail; got != detail {
		t.Errorf("got %q", got)
	}
}

func TestBooksThatCannotBeUsed(t *testing.T) {
	for _, spoil := range []func(*Books){
		func(b *Books) { b.Accounts = 0 },
		func(b *Books) { b.Accounts = -1 },
		func(b *Books) { b.Accounts = MaxAccounts + 1 },
		func(b *Books) { b.Opening = nil },
		func(b *Books) { b.Expect = nil },
		func(b *Books) { b.ID = nil },
		func(b *Books) { b.Split = nil },
	} {
		b := books(3)
		spoil(&b)
		if j, err := New(b); err == nil || j != nil {
			t.Errorf("accepted %+v", b)
		}
	}
}

func TestSumsBeyond64Bits(t *testing.T) {
	var a adder
	for _, x := range []int64{math.MaxInt64, math.MaxInt64, 5, math.MinInt64, math.MinInt64, -1, 0} {
		a.add(x)
	}
	if got := a.value().String(); got != "2" {
		t.Errorf("got %s, want 2", got)
	}
	r := base()
	r.accounts[2].balance, r.accounts[3].balance = math.MaxInt64, math.MaxInt64
	total := r.results(t)["total"]
	if len(total.Evidence) != 1 || !strings.Contains(total.Evidence[0].Text, "the accounts hold 18446744073709553614 where 4000") {
		t.Errorf("got %v", total.Evidence)
	}
}

func TestFigure(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 12: "12", 999: "999", 1000: "1,000", -1000: "-1,000", -100: "-100",
		1234567: "1,234,567", math.MinInt64: "-9,223,372,036,854,775,808"} {
		if got := figure(n); got != want {
			t.Errorf("figure(%d) = %s, want %s", n, got, want)
		}
	}
}
