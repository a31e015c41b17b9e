package bank

import (
	"context"
	"fmt"

	"assay/check"
	"assay/load"
)

// LoadError says how far loading came before it ended.
type LoadError struct {
	Loaded, Total int64
	Err           error
}

func (e *LoadError) Error() string {
	return fmt.Sprintf("loading ended after %s of %s: %v; what is there carries assay's mark, and the next run starts clean",
		check.Count(e.Loaded), check.Counted(e.Total, "account", "accounts"), e.Err)
}

func (e *LoadError) Unwrap() error { return e.Err }

// Open loads the opening state, config.Loaders batches at a time, and calls
// loaded, from one goroutine at a time, with the number of accounts that are
// in. Any failure gives a *LoadError.
func Open(ctx context.Context, store Store, config Config, loaded func(done, total int64)) error {
	accounts := NewAccounts(config.Accounts)
	done, err := load.Batches(ctx, config.Loaders, accounts.Len(), MaxBatch, func() load.Batch {
		batch := make([]Account, 0, MaxBatch)
		return func(ctx context.Context, first int64) (int, error) {
			batch = accounts.Batch(first, batch)
			return len(batch), store.LoadAccounts(ctx, batch)
		}
	}, loaded)
	if err == nil {
		err = store.FinishLoad(ctx)
	}
	if err != nil {
		return &LoadError{Loaded: done, Total: accounts.Len(), Err: err}
	}
	return nil
}
