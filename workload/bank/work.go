package bank

import (
	"context"

	"assay/load"
	"assay/store"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/journal"
)

type work struct {
	journal.Work[*Session]
	definition.NoPromise
	audits    float64
	transfers *Transfers
	recent    *recent
}

func (c *Config) Open(_ context.Context, db store.Database, seed uint64, clients int) (definition.Work, error) {
	transfers := NewTransfers(*c, seed)
	accounts := transfers.Accounts()
	w := &work{audits: c.Audits, transfers: transfers, recent: newRecent(clients)}
	w.Loaded = definition.Loaded{Database: db, Loaders: c.Loaders, One: "account", Many: "accounts", Contents: []definition.Contents{{
		Table: accountTable, Columns: tables()[accountRow].Columns, Rows: c.Accounts,
		Row: func(id int64, into []store.Value) []store.Value {
			return append(into, store.OfInt(id), store.OfInt(accounts.Opening(id)), store.OfInt(0))
		}}}}
	w.State, w.Session = state(), Over(db).Session
	w.Kind = func(int64) uint8 { return KindTransfer }
	w.Do = func(ctx context.Context, session *Session, id int64) (store.Reply, []int64) {
		w.recent.began(workload.SplitOperationID(id))
		r := session.Transfer(ctx, w.transfers.At(id))
		session.values = [4]int64{r.Source.Balance, r.Source.Version, r.Destination.Balance, r.Destination.Version}
		return r.Reply, session.values[:]
	}
	return w, nil
}

// Observers implements definition.Work.
func (w *work) Observers() (clients []load.Client, perSecond float64) {
	if w.audits == 0 || w.Lacks()[store.Snapshots] != "" {
		return nil, 0
	}
	return []load.Client{&auditor{
		store: Over(w.Database), transfers: w.transfers, recent: w.recent, states: make([]State, MaxAudited),
	}}, w.audits
}

func (w *work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	if err := w.Work.Save(ctx, folder, read); err != nil {
		return err
	}
	if db, has := store.As[store.Replicated](w.Database); has {
		return saveReplicas(ctx, db, folder, read)
	}
	return nil
}

// KindTransfer is a transfer in the history. Its Values, if it was acknowledged with them, are
// balance and version of the source and of the destination as the transaction left them.
const KindTransfer uint8 = 1
