package bank

import (
	"context"
	"path/filepath"

	"assay/history"
	"assay/load"
	"assay/workload"
	"assay/workload/definition"
)

// FileState is the name of the saved state in a run's folder.
const FileState = "state.bin"

// work is a definition.Work.
type work struct {
	Store
	definition.NoPromise
	config    Config
	transfers *Transfers
	recent    *recent
}

func (c *Config) Open(_ context.Context, store workload.Store, seed uint64, clients int) (definition.Work, error) {
	transfers, err := NewTransfers(*c, seed)
	if err != nil {
		return nil, err
	}
	return &work{Store: store.(Store), config: *c, transfers: transfers, recent: newRecent(clients)}, nil
}

func (w *work) Rows() int64 { return w.config.Accounts }

func (w *work) Load(ctx context.Context, loaded func(done, total int64)) error {
	return Open(ctx, w.Store, w.config, loaded)
}

func (w *work) Client(ctx context.Context, n int) (load.Client, error) {
	connection, err := workload.Connect(ctx, w.Session)
	if err != nil {
		return nil, err
	}
	return &client{Connection: connection, transfers: w.transfers, number: n, recent: w.recent}, nil
}

// Observers implements definition.Work: none where the database or the configuration has
// no audits.
func (w *work) Observers() (clients []load.Client, perSecond float64) {
	store, ok := w.Store.(Auditor)
	if !ok || w.config.Audits == 0 {
		return nil, 0
	}
	return []load.Client{&auditor{
		store: store, transfers: w.transfers, recent: w.recent, states: make([]State, MaxAudited),
	}}, w.config.Audits
}

func (w *work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	if err := Save(ctx, w.Store, filepath.Join(folder, FileState), read); err != nil {
		return err
	}
	if store, ok := w.Store.(Replicated); ok {
		return saveReplicas(ctx, store, folder, read)
	}
	return nil
}

// Open loads the opening state, config.Loaders batches at a time, and calls
// loaded, from one goroutine at a time, with the number of accounts that are
// in. Any failure gives a *definition.LoadError.
func Open(ctx context.Context, store Store, config Config, loaded func(done, total int64)) error {
	size := MaxBatch
	if sizer, is := store.(BatchSizer); is { // all loaders have something to do
		each := (config.Accounts + int64(config.Loaders) - 1) / int64(config.Loaders)
		size = int(max(min(each, int64(sizer.BatchSize())), MaxBatch))
	}
	return loading(store, config, size).Load(ctx, batches(config, size, store.LoadAccounts), loaded)
}

func (w *work) LoadThrough(ctx context.Context, loaded func(done, total int64), rowsIn func()) (again int64, err error) {
	store, can := w.Store.(Reloader)
	if !can {
		return 0, &workload.OptionError{Option: "--fault", Value: "while loading", Want: "a database that can tell which accounts of a batch are there"}
	}
	// Batches are small here, since what fails is loaded again.
	return loading(w.Store, w.config, MaxBatch).LoadThrough(ctx, store, batches(w.config, MaxBatch, store.LoadAccounts),
		batches(w.config, MaxBatch, store.ReloadAccounts), loaded, rowsIn)
}

func loading(store Store, config Config, size int) definition.Loading {
	return definition.Loading{Loaders: config.Loaders, Rows: NewAccounts(config.Accounts).Len(), Batch: int64(size), One: "account", Many: "accounts", Finish: store.FinishLoad}
}

// batches are the accounts in batches of this size, each of which is put in.
func batches(config Config, size int, put func(context.Context, []Account) error) func() load.Batch {
	accounts := NewAccounts(config.Accounts)
	return func() load.Batch {
		batch := make([]Account, 0, size)
		return func(ctx context.Context, first int64) (int, error) {
			batch = accounts.Batch(first, batch)
			return len(batch), put(ctx, batch)
		}
	}
}

// KindTransfer is the history.Op.Kind of a transfer. Its Values, where the
// attempt was acknowledged with them, are the source's balance and version and
// the destination's balance and version as the transaction left them.
const KindTransfer uint8 = 1

// client is one client of the run. Its transfers are those of its number.
type client struct {
	workload.Connection[Session]
	transfers *Transfers
	number    int
	recent    *recent
	values    [4]int64
	// unsure is true if an earlier attempt of the operation is unknown.
	unsure bool
}

func (c *client) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	if attempt == 1 {
		c.unsure = false
		c.recent.began(c.number, seq)
	}
	session, err := c.Session(ctx)
	if err != nil {
		unsent := workload.Unsent(err)
		return unsent.Answer(KindTransfer)
	}
	reply := session.Transfer(ctx, c.transfers.At(TransferID(c.number, seq)))
	answer := reply.Answer(KindTransfer)
	if reply.Outcome == history.Committed {
		c.values = [4]int64{reply.Source.Balance, reply.Source.Version, reply.Destination.Balance, reply.Destination.Version}
		answer.Values = c.values[:]
	}
	c.unsure = reply.Repeated(&answer, attempt, c.unsure)
	c.After(answer.Outcome, reply.Broken)
	return answer
}
