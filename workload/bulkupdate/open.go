package bulkupdate

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"assay/check"
)

// LoadError says how far loading came before it ended.
type LoadError struct {
	Loaded, Total int64
	Err           error
}

func (e *LoadError) Error() string {
	return fmt.Sprintf("loading ended after %s of %s: %v; what is there carries assay's mark, and the next run starts clean",
		check.Count(e.Loaded), check.Counted(e.Total, "document", "documents"), e.Err)
}

func (e *LoadError) Unwrap() error { return e.Err }

// Open loads all documents, config.Loaders batches at a time, and calls loaded,
// from one goroutine at a time, with the number of those that are in. Any
// failure gives a *LoadError.
func Open(ctx context.Context, store Store, config Config, seed uint64, loaded func(done, total int64)) error {
	documents := NewDocuments(config, seed)
	group, loading := errgroup.WithContext(ctx)
	var next, done atomic.Int64
	counted := make(chan int64, config.Loaders)
	for range config.Loaders {
		group.Go(func() error {
			batch := make([]Document, 0, MaxBatch)
			for loading.Err() == nil {
				first := next.Add(MaxBatch) - MaxBatch + 1
				if first > documents.Len() {
					return nil
				}
				batch = documents.Batch(first, batch)
				if err := store.Load(loading, batch); err != nil {
					return err
				}
				counted <- done.Add(int64(len(batch)))
			}
			return loading.Err()
		})
	}
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		for n := range counted {
			loaded(n, documents.Len())
		}
	}()
	err := group.Wait()
	close(counted)
	<-reported
	if err == nil {
		err = store.FinishLoad(ctx)
	}
	if err != nil {
		return &LoadError{Loaded: done.Load(), Total: documents.Len(), Err: err}
	}
	return nil
}
