package isolation

import (
	"context"
	"path/filepath"

	"assay/load"
	"assay/workload"
	"assay/workload/definition"
)

// FileState is the name of the saved lists and registers in a run's folder.
const FileState = "isolation.bin"

// Work is the workload opened on one database: what a run does with it, phase
// by phase.
type Work struct {
	Store
	definition.NoLoading
	definition.NoObservers
	transactions *Transactions
	pace         Pace
}

// NewWork returns the work of this configuration and seed on a store, which it
// owns from then on. It returns Config.Validate's error.
func NewWork(store Store, config Config, seed uint64) (*Work, error) {
	transactions, err := NewTransactions(config, seed)
	if err != nil {
		return nil, err
	}
	return &Work{Store: store, transactions: transactions}, nil
}

// Create makes the empty schema. There is nothing to load, so it is loaded.
func (w *Work) Create(ctx context.Context, mark workload.Marker) error {
	mark.Loaded = true
	return w.Store.Create(ctx, mark)
}

// Client opens a session for client number n.
func (w *Work) Client(ctx context.Context, n int) (load.Client, error) {
	return NewClient(ctx, w.Store, w.transactions, &w.pace, n)
}

// Save reads the database back into the run's folder.
func (w *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return Save(ctx, w.Store, filepath.Join(folder, FileState), read)
}
