package bank

import (
	"context"
	"errors"
	"sync/atomic"

	"assay/history"
	"assay/load"
	"assay/store"
	"assay/workload"
)

// MaxAudited is the most accounts of one Audit.
const MaxAudited = 16

// Totals is what AuditAll read.
type Totals struct {
	// Accounts is how many there were, Balance the sum of their balances and
	// Versions that of their versions.
	Accounts, Balance, Versions int64
}

// The kinds of audits in the history.
const (
	// KindAudit read some accounts in one transaction. Its Values are the id,
	// the balance and the version of each.
	KindAudit uint8 = 2
	// KindAuditAll read all accounts in one transaction. Its Values are how
	// many there were, the sum of their balances and that of their versions.
	KindAuditAll uint8 = 3
)

const (
	// allEvery is how often an audit takes all accounts, and allLimit the most
	// accounts for which one does: reading more would be a load of its own.
	allEvery = 10
	allLimit = 1_000_000
)

// recent knows the operation that each client began last, so that audits look
// where money is moving. It is safe for concurrent use.
type recent struct{ seqs []atomic.Uint64 }

func newRecent(clients int) *recent { return &recent{seqs: make([]atomic.Uint64, clients)} }

func (r *recent) began(client int, seq uint64, _ bool) { r.seqs[client].Store(seq) }

// auditor is the client that does the audits.
type auditor struct {
	store     Store
	transfers *Transfers
	recent    *recent
	ids       []int64
	states    []State
	values    []int64
}

// Attempt implements load.Client. An audit has no effect, so that one without
// an answer has failed.
func (a *auditor) Attempt(ctx context.Context, seq uint64, _ int) load.Answer {
	if seq%allEvery == allEvery-1 && a.transfers.Accounts().Len() <= allLimit {
		t, err := a.store.AuditAll(ctx)
		a.values = append(a.values[:0], t.Accounts, t.Balance, t.Versions)
		return a.answer(ctx, KindAuditAll, err)
	}
	a.choose(seq)
	err := a.store.Audit(ctx, a.ids, a.states[:len(a.ids)])
	a.values = a.values[:0]
	for i, id := range a.ids {
		a.values = append(a.values, id, a.states[i].Balance, a.states[i].Version)
	}
	return a.answer(ctx, KindAudit, err)
}

func (a *auditor) answer(ctx context.Context, kind uint8, err error) load.Answer {
	if err == nil {
		return load.Answer{Kind: kind, Outcome: history.Committed, Values: a.values}
	}
	class := store.ClassOther
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		class = store.ClassTimeout
	}
	return load.Answer{Kind: kind, Outcome: history.Failed, Class: class, Said: store.Said(err)}
}

// choose takes both accounts of transfers that are going on now, and of the
// ones before them.
func (a *auditor) choose(seq uint64) {
	a.ids = a.ids[:0]
	n := uint64(len(a.recent.seqs))
	for i := uint64(0); i < n && len(a.ids) < MaxAudited; i++ {
		client := (seq + i) % n
		latest := a.recent.seqs[client].Load()
		for back := uint64(0); back < 2 && back <= latest; back++ {
			t := a.transfers.At(workload.OperationID(int(client), latest-back))
			a.take(t.Source)
			a.take(t.Destination)
		}
	}
}

// take adds an account unless it is there already, or there is no room.
func (a *auditor) take(id int64) {
	if len(a.ids) == MaxAudited {
		return
	}
	for _, known := range a.ids {
		if known == id {
			return
		}
	}
	a.ids = append(a.ids, id)
}

// Close implements load.Client; the connections are the database's.
func (a *auditor) Close() {}
