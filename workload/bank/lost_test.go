package bank

import (
	"testing"
	"time"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/store/promise"
	"assay/workload"
	"assay/workload/definition"
)

// cutBooks is a run by hand whose last committed transfer, acknowledged at 5, is gone.
func cutBooks(t *testing.T) *books {
	t.Helper()
	b := newBooks(t)
	b.store = &rows{accounts: opening(b.config.Accounts)}
	for _, seq := range []uint64{0, 3} {
		b.apply(NewTransfers(b.config, b.seed).At(workload.OperationID(0, seq)))
	}
	return b
}

func TestWhatAPowerCutMayLose(t *testing.T) {
	for _, test := range []struct {
		name    string
		losses  *definition.Losses
		verdict check.Verdict
		beyond  int64
	}{
		{"no cut", nil, check.Violated, 0},
		{"nothing may be lost", &definition.Losses{Cuts: []promise.Moment{{At: 6}}}, check.Violated, 1},
		{"the cut was before", &definition.Losses{Cuts: []promise.Moment{{At: 3, Allowed: time.Second}}}, check.Violated, 1},
		{"it may be lost", &definition.Losses{Cuts: []promise.Moment{{At: 6, Allowed: time.Second}}}, check.Valid, 0},
		{"anything may be lost", &definition.Losses{Cuts: []promise.Moment{{At: 6, Allowed: -1}}}, check.Valid, 0},
	} {
		b := cutBooks(t)
		e := b.files(t)
		e.Losses = test.losses
		judged, err := b.config.Judge(t.Context(), b.seed, e)
		expect.NoError(t, err)
		if got := check.Combine(judged.Results); got != test.verdict {
			t.Errorf("%s: %v, %+v", test.name, got, judged.Results)
		}
		if want := (history.Counts{Committed: 2, Rejected: 1, Failed: 1, Unknown: 2}); judged.Counts != want {
			t.Errorf("%s: counts %+v, and the history has %+v", test.name, judged.Counts, want)
		}
		if l := test.losses; l != nil && (l.Operations != 1 || l.Beyond != test.beyond) {
			t.Errorf("%s: %+v", test.name, l)
		}
	}
}

// TestAuditsOfWhatIsLost: an audit that saw what a cut then lost says nothing, one
// before it does.
func TestAuditsOfWhatIsLost(t *testing.T) {
	p := &permitted{transfers: map[operation]bool{{1, 7}: true}, spans: []span{{from: 50, cut: 100}}}
	for _, test := range []struct {
		op   history.Op
		want history.Outcome
	}{
		{history.Op{Kind: KindTransfer, Client: 1, Seq: 7}, history.Unknown},
		{history.Op{Kind: KindTransfer, Client: 1, Seq: 8}, history.Committed},
		{history.Op{Kind: KindAudit, First: 60, End: 70}, history.Failed},
		{history.Op{Kind: KindAudit, First: 10, End: 50}, history.Failed},
		{history.Op{Kind: KindAuditAll, First: 10, End: 49}, history.Committed},
		{history.Op{Kind: KindAudit, First: 101, End: 110}, history.Committed},
	} {
		test.op.Outcome, test.op.Final, test.op.Last = history.Committed, history.Committed, true
		if got := p.withdraw(&test.op); got.Final != test.want || got.Outcome != test.want {
			t.Errorf("%+v: %v, want %v", test.op, got.Final, test.want)
		}
	}
}
