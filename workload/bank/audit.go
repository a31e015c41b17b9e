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

// MaxAudited is the most accounts of an Audit.
const MaxAudited = 16

// Totals is the result of AuditAll.
type Totals struct {
	// Balance and Versions are sums over the Accounts that there were.
	Accounts, Balance, Versions int64
}

const (
	// KindAudit reads some accounts. Its Values are id, balance and version of each.
	KindAudit uint8 = 2
	// KindAuditAll reads all accounts in one transaction. Its Values are those of Totals.
	KindAuditAll uint8 = 3
)

const (
	// One audit in allEvery takes all accounts, unless they exceed allLimit: a load of its own.
	allEvery = 10
	allLimit = 1_000_000
)

// recent has the last operation that each client began, so that audits look where money moves.
// It is safe for concurrent use.
type recent struct{ seqs []atomic.Uint64 }

func newRecent(clients int) *recent { return &recent{seqs: make([]atomic.Uint64, clients)} }

func (r *recent) began(client int, seq uint64, _ bool) { r.seqs[client].Store(seq) }

type auditor struct {
	store     Store
	transfers *Transfers
	recent    *recent
	ids       []int64
	states    []State
	values    []int64
}

// An audit has no effect, so an audit without an answer has failed.
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

// choose takes both accounts of the transfers in flight and of the ones before them.
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

func (a *auditor) Close() {}
