package ledger

import (
	"math"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
)

// tiny is a bank of four accounts with 1000 each and one odd account. Transfer n of client 0 moves
// 10*(n+1) from account 1 to account 2; numbers 6 and 7 are alike.
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

// op records the end of a transfer of client 0. With versions it acknowledges them, and the current
// balances after the transfer.
func (r *run) op(seq uint64, final history.Outcome, versions ...int64) {
	op := history.Op{Seq: seq, Attempt: 1, Last: true, Kind: kindTransfer, Outcome: final, Final: final}
	if len(versions) == 2 {
		s, d, a := r.books.Expect(int64(seq))
		op.Values = []int64{r.accounts[s-1].balance - a, versions[0], r.accounts[d-1].balance + a, versions[1]}
	}
	r.ops = append(r.ops, op)
}

func (r *run) journal(seq uint64, sourceVersion, destinationVersion int64) {
	s, d, a := r.books.Expect(int64(seq))
	r.rows = append(r.rows, Row{int64(seq), s, d, a, sourceVersion, destinationVersion})
}

func (r *run) move(seq uint64) {
	s, d, a := r.books.Expect(int64(seq))
	r.set(s, -a, 1)
	r.set(d, a, 1)
}

func (r *run) reserve(upTo uint64) {
	r.reservations = append(r.reservations, history.Reservation{UpTo: upTo})
}

func (r *run) set(id, balance, version int64) {
	for i := range r.accounts {
		if r.accounts[i].id == id {
			r.accounts[i].balance += balance
			r.accounts[i].version += version
		}
	}
}

// base has transfers 0 and 1 committed, without errors.
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

func convictions(results map[string]check.Result) string {
	var parts []string
	for _, name := range []string{"total", "accounts", "transfers", "order", "snapshots"} {
		for _, e := range results[name].Evidence {
			if text := name + ":" + e.Kind; !slices.Contains(parts, text) {
				parts = append(parts, text)
			}
		}
	}
	return strings.Join(parts, " ")
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
	if got := results["accounts"].Evidence[0].Fields; got["account"] != 3 || got["balance"] != 993 || got["expected"] != 1000 || got["off"] != -7 {
		t.Errorf("fields of the wrong balance: %v", got)
	}
	if got := results["transfers"].Evidence[0].Fields; got["id"] != 2 || got["amount"] != 30 || got["source"] != 1 || got["destination"] != 2 {
		t.Errorf("fields of the lost transfer: %v", got)
	}
}

func TestAcknowledgedVersionsNameTheTransfer(t *testing.T) {
	r := randomRun(3, 30, 2, 2048)
	places := []int{}
	for i := range r.ops {
		if acknowledgedRow(&r, i) != nil && r.ops[i].Client == 1 && r.ops[i].Seq > 1024 {
			places = append(places, i)
		}
	}
	r.ops[places[10]].Values[3] += 5
	r.ops[places[20]].Values[1]++
	evidence := r.results(t)["transfers"].Evidence
	named := map[int64]bool{}
	for _, e := range evidence {
		named[e.Fields["id"]] = true
	}
	for _, place := range []int{10, 20} {
		if op := &r.ops[places[place]]; len(evidence) != 2 || !named[r.books.ID(op.Client, op.Seq)] {
			t.Errorf("want operation %d of client 1, got %v", op.Seq, evidence)
		}
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
	want := Tally{Counts: history.Counts{Committed: 2, Rejected: 1, Failed: 1, Unknown: 3}, UnknownApplied: 2, Rows: 4}
	if got := r.judge(t).Tally(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	detail := "2 committed transfers have exactly one journal row each, 1 rejected and 1 failed ones have none, 2 of 3 unknown ones took effect"
	if got := r.results(t)["transfers"].Detail; got != detail {
		t.Errorf("got %q", got)
	}
}

func TestBooksThatCannotBeUsed(t *testing.T) {
	for _, spoil := range []func(*Config){
		func(b *Config) { b.Accounts = 0 },
		func(b *Config) { b.Accounts = -1 },
		func(b *Config) { b.Accounts = MaxAccounts + 1 },
		func(b *Config) { b.Opening = nil },
		func(b *Config) { b.Expect = nil },
		func(b *Config) { b.ID = nil },
		func(b *Config) { b.Split = nil },
	} {
		b := books(3)
		spoil(&b)
		if j, err := New(b); err == nil || j != nil {
			t.Errorf("accepted %+v", b)
		}
	}
}

func TestSumsBeyond64Bits(t *testing.T) {
	r := base()
	r.accounts[2].balance, r.accounts[3].balance = math.MaxInt64, math.MaxInt64
	total := r.results(t)["total"]
	if len(total.Evidence) != 1 || !strings.Contains(total.Evidence[0].Text, "the accounts hold 18446744073709553614 where 4000") {
		t.Errorf("got %v", total.Evidence)
	}
}

// Only an acknowledged transfer without a row may be lost.
func TestLost(t *testing.T) {
	r := base()
	r.op(2, history.Committed)
	r.op(3, history.Unknown)
	r.op(4, history.Failed)
	r.ops = append(r.ops, history.Op{Seq: 5, Attempt: 1, Last: true, Kind: kindTransfer + 100, Outcome: history.Committed, Final: history.Committed})
	r.reserve(9) // number 8 was begun and has no end
	j := r.judge(t)
	for seq := range uint64(9) {
		if got := j.Lost(0, seq); got != (seq == 2) {
			t.Errorf("transfer %d is lost: %v", seq, got)
		}
	}
	if j.Lost(1, 0) {
		t.Error("a client that did nothing has lost something")
	}
	j.Incomplete(Journal, "it was not read whole")
	if j.Lost(0, 2) {
		t.Error("lost, of a journal that was not read whole")
	}
}
