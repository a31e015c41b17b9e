package load

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Batch does one batch of things from number first on, and returns their number.
type Batch func(ctx context.Context, first int64) (n int, err error)

// Batches has workers do the things numbered 1 to total in batches of size. It calls batch once for
// each worker, and done, one call at a time, with the number of things done. The first error ends
// all; over counts the things done by then.
func Batches(ctx context.Context, workers int, total, size int64, batch func() Batch, done func(over, total int64)) (over int64, err error) {
	group, working := errgroup.WithContext(ctx)
	var next, sum atomic.Int64
	counted := make(chan int64, workers)
	for range workers {
		do := batch()
		group.Go(func() error {
			for working.Err() == nil {
				first := next.Add(size) - size + 1
				if first > total {
					return nil
				}
				n, err := do(working, first)
				if err != nil {
					return err
				}
				counted <- sum.Add(int64(n))
			}
			return working.Err()
		})
	}
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		for n := range counted {
			done(n, total)
		}
	}()
	err = group.Wait()
	close(counted)
	<-reported
	return sum.Load(), err
}
