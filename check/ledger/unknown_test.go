package ledger

import (
	"fmt"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
)

func TestUnknownNotValid(t *testing.T) {
	const all = "total accounts transfers order"
	for _, c := range []struct {
		name    string
		run     func() run
		unknown string
		detail  string
	}{
		{"nothing at all", func() run { return run{books: books(3)} }, all, "nothing was read back"},
		{"nothing read back", func() run { r := base(); r.rows, r.accounts = nil, nil; return r }, all,
			"nothing was read back, though 2 transfers were committed"},
		{"nothing committed", tiny, all, "nothing was committed"},
		{"nothing committed, unknown applied", func() run {
			r := tiny()
			r.op(0, history.Unknown)
			r.journal(0, 1, 1)
			r.move(0)
			return r
		}, all, "nothing was committed"},
		{"only audits committed", func() run {
			r := tiny()
			r.ops = append(r.ops, history.Op{Last: true, Kind: kindAudit, Final: history.Committed})
			return r
		}, all, "nothing was committed"},
		{"history incomplete", func() run { return base().without(History) }, "transfers order", "history is incomplete (torn)"},
		{"journal incomplete", func() run { return base().without(Journal) }, "accounts transfers order", "journal is incomplete (torn)"},
		{"accounts incomplete", func() run { return base().without(Accounts) }, "total accounts", "accounts is incomplete (torn)"},
		{"an operation that ends twice", func() run { r := base(); r.op(1, history.Committed); return r }, "transfers order", "twice"},
		{"an impossible client", func() run {
			r := base()
			r.ops = append(r.ops, history.Op{Client: -1, Last: true, Kind: kindTransfer, Final: history.Committed})
			return r
		}, "transfers order", "impossible operation"},
		{"an impossible number", func() run { r := base(); r.op(1<<60, history.Committed); return r }, "transfers order", "impossible operation"},
		{"a reservation of a negative client", func() run {
			r := base()
			r.reservations = append(r.reservations, history.Reservation{Client: -1, UpTo: 1})
			return r
		}, "transfers order", "impossible reservation"},
		{"a reservation without end", func() run { r := base(); r.reserve(1 << 60); return r }, "transfers order", "impossible reservation"},
		{"an impossible reservation", func() run {
			r := base()
			r.reservations = append(r.reservations, history.Reservation{Client: 1 << 30, UpTo: 1})
			return r
		}, "transfers order", "impossible reservation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, r := range c.run().results(t) {
				want := check.Valid
				if strings.Contains(c.unknown, name) {
					want = check.Unknown
					expect.Text(t, name, r.Detail, c.detail)
				}
				if r.Verdict != want {
					t.Errorf("%s is %v (%s), want %v", name, r.Verdict, r.Detail, want)
				}
			}
		})
	}
}

func (r run) without(parts ...Part) run {
	r.incomplete = map[Part]string{}
	for _, p := range parts {
		r.incomplete[p] = "torn"
	}
	return r
}

// An absence in an incomplete part convicts nothing; a wrong row does.
func TestIncompletePartsConvictByPresenceOnly(t *testing.T) {
	for _, c := range []struct {
		name   string
		part   Part
		absent func(*run)
		there  func(*run)
		want   string
	}{
		{"rows missing", Journal,
			func(r *run) { r.rows = r.rows[:1] },
			func(r *run) { r.rows[1].Amount++ }, "transfers:altered"},
		{"rows missing, one twice", Journal,
			func(r *run) { r.rows = nil },
			func(r *run) { r.rows[1] = r.rows[0] }, "transfers:doubled"},
		{"accounts missing", Accounts,
			func(r *run) { r.accounts = r.accounts[:2] },
			func(r *run) { r.accounts = r.accounts[:2]; r.accounts[0].balance = -5 }, "total:negative accounts:balance"},
		{"records missing", History,
			func(r *run) { r.ops, r.reservations = r.ops[:1], nil },
			func(r *run) { r.ops, r.reservations = r.ops[:1], nil; r.rows[1].Amount++ }, "accounts:balance transfers:altered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := base().without(c.part)
			c.absent(&r)
			results := r.results(t)
			if got := convictions(results); got != "" {
				t.Errorf("convicted %q", got)
			}
			r = base().without(c.part)
			c.there(&r)
			if got := convictions(r.results(t)); got != c.want {
				t.Errorf("convicted %q, want %q", got, c.want)
			}
		})
	}
	r := base() // whole, though: no row at all is proof if accounts were read
	r.rows = nil
	if got := r.results(t)["transfers"]; got.Verdict != check.Violated || got.Found != 2 {
		t.Errorf("without any row: %+v", got)
	}
}

func TestAHistoryMayNotGrowAfterTheJournalBegan(t *testing.T) {
	for name, late := range map[string]func(*Judge){
		"op":          func(j *Judge) { j.Op(&history.Op{Seq: 5, Last: true, Kind: kindTransfer, Final: history.Failed}) },
		"reservation": func(j *Judge) { j.Reserve(history.Reservation{Client: 9, UpTo: 9}) },
	} {
		j := base().judge(t)
		late(j)
		if r := j.Results()[2]; r.Verdict != check.Unknown || !strings.Contains(r.Detail, "after the journal had begun") {
			t.Errorf("%s: %v %s", name, r.Verdict, r.Detail)
		}
	}
}

func TestEveryKindOfEvidenceIsListed(t *testing.T) {
	r := tiny()
	r.reservations = []history.Reservation{{Client: 0, UpTo: 1000}}
	for seq := range uint64(100) {
		r.op(seq, history.Committed)
	}
	for seq := uint64(100); seq < 103; seq++ {
		r.op(seq, history.Failed)
		r.journal(seq, 1, 1)
	}
	for range 50 {
		r.rows = append(r.rows, Row{ID: -3})
	}
	got := r.results(t)["transfers"]
	kinds := map[string]int{}
	var order []string
	for _, e := range got.Evidence {
		if kinds[e.Kind] == 0 {
			order = append(order, e.Kind)
		}
		kinds[e.Kind]++
	}
	if fmt.Sprint(order) != "[lost applied-though-failed foreign]" || kinds["applied-though-failed"] != 3 ||
		kinds["foreign"] != 8 || kinds["lost"] != 9 || got.Found != 153 || len(got.Evidence) != check.MaxEvidence {
		t.Errorf("found %d, listed %v in the order %v", got.Found, kinds, order)
	}
	if !strings.HasSuffix(got.Detail, "100 lost, 3 applied-though-failed, 50 foreign") {
		t.Errorf("detail %q", got.Detail)
	}
}

func TestAnAbsentAccountIsNotAnAgreeingOne(t *testing.T) {
	r := base()
	r.accounts = r.accounts[:3]
	got := r.results(t)["accounts"]
	if got.Verdict != check.Unknown || !strings.HasPrefix(got.Detail, "3 of 4 accounts agree with 2 journal rows") {
		t.Errorf("%v: %s", got.Verdict, got.Detail)
	}
}

func TestTheFirstReasonIsKept(t *testing.T) {
	j := base().without(Journal).judge(t)
	j.Incomplete(Journal, "later")
	r := j.Results()[2]
	expect.Text(t, "the detail", r.Detail, "(torn)")
}

// An attempt that found its transfer done commits it without having done it.
func TestATransferSettledByAnEarlierAttemptIsCommitted(t *testing.T) {
	r := tiny()
	r.ops = []history.Op{
		{Attempt: 1, Kind: kindTransfer},
		{Attempt: 2, Last: true, Kind: kindTransfer, Outcome: history.Failed, Final: history.Committed},
	}
	r.journal(0, 1, 1)
	r.move(0)
	wantValid(t, "settled", r)
}

func TestAccountsOutOfOrderAreAllNamed(t *testing.T) {
	r := base()
	r.accounts = []held{r.accounts[0], r.accounts[3], r.accounts[1], r.accounts[2]}
	if got := r.results(t)["total"]; got.Found != 2 {
		t.Errorf("found %d, want 2: %v", got.Found, got.Evidence)
	}
}

func TestEvidenceComesInTheOrderOfTheOperations(t *testing.T) {
	r := tiny()
	r.reservations = nil
	for client := range 20 {
		r.ops = append(r.ops, history.Op{Client: 19 - client, Seq: 9 * blockOps, Last: true, Kind: kindTransfer, Final: history.Committed})
	}
	for i, e := range r.results(t)["transfers"].Evidence {
		if e.Fields["client"] != int64(i) || e.Fields["operation"] != 9*blockOps {
			t.Errorf("evidence %d is of client %d, operation %d", i, e.Fields["client"], e.Fields["operation"])
		}
	}
}

func TestOperationsBeyondTheLimitsHaveNoPlace(t *testing.T) {
	o := newOperations(spill{})
	for _, client := range []int{0, 1, clientLimit - 1} {
		for _, seq := range []uint64{0, blockOps, seqLimit - 1} {
			b, i := o.make(client, seq)
			if found, at := o.find(client, seq); b == nil || found != b || at != i {
				t.Fatalf("operation %d of client %d has no place", seq, client)
			}
		}
	}
	for i, want := range o.list {
		if b, _ := o.find(want.key.client(), want.key.seq(0)); b != want || int(b.number) != i {
			t.Errorf("block %x names operation %d of client %d", uint64(want.key), want.key.seq(0), want.key.client())
		}
	}
	for _, c := range []struct {
		client int
		seq    uint64
	}{{-1, 0}, {clientLimit, 0}, {0, seqLimit}, {clientLimit - 1, 1<<64 - 1}} {
		if b, _ := o.find(c.client, c.seq); b != nil {
			t.Errorf("found operation %d of client %d", c.seq, c.client)
		}
		if b, _ := o.make(c.client, c.seq); b != nil {
			t.Errorf("made operation %d of client %d", c.seq, c.client)
		}
	}
}

// A journal without accounts means that accounts are missing. Checks that need accounts are
// unknown.
func TestNoAccountLeft(t *testing.T) {
	r := base()
	r.accounts = nil
	for name, result := range r.results(t) {
		want := check.Unknown
		if name == "total" {
			want = check.Violated
		} else if !strings.Contains(result.Detail, "no account was read") {
			t.Errorf("%s says %q", name, result.Detail)
		}
		if result.Verdict != want {
			t.Errorf("%s is %v (%s), want %v", name, result.Verdict, result.Detail, want)
		}
	}
}
