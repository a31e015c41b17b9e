package definition

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"assay/load"
	"assay/store"
)

// failing is a database that fails now and then, and holds what was loaded.
type failing struct {
	mu sync.Mutex
	// rows are those that are there, by the first of each batch of ten.
	rows map[int64]int
	// tries counts how often a batch was sent, settled how often Settle was called.
	tries    map[int64]int
	settled  int
	finished int
	// silent is how often Marker is still to fail.
	silent int
}

var errAway = errors.New("away")

func (f *failing) Marker(context.Context) (*store.Marker, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.silent--; f.silent >= 0 {
		return nil, errAway
	}
	return &store.Marker{}, nil
}

func (f *failing) Settle(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settled++
	return nil
}

// put sends a batch; fails says of each try whether it fails, and whether what it did is
// there all the same.
func (f *failing) put(again bool, fails func(first int64, try int) (failed, there bool)) func() load.Batch {
	return func() load.Batch {
		return func(_ context.Context, first int64) (int, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.tries[first]++
			failed, there := fails(first, f.tries[first])
			if (!failed || there) && (!again || f.rows[first] == 0) {
				f.rows[first]++
			}
			if failed {
				return 0, errAway
			}
			return 10, nil
		}
	}
}

func (f *failing) load(ctx context.Context, fails func(first int64, try int) (failed, there bool)) (again, done int64, rowsIn int, err error) {
	f.rows, f.tries = map[int64]int{}, map[int64]int{}
	l := Loading{Loaders: 3, Rows: 100, Batch: 10, One: "row", Many: "rows", Finish: func(context.Context) error { f.finished++; return nil }}
	again, err = l.LoadThrough(ctx, f, f.put(false, fails), f.put(true, fails), func(over, _ int64) { done = max(done, over) }, func() { rowsIn++ })
	return again, done, rowsIn, err
}

func TestBatchesThatFailedAreLoadedAgain(t *testing.T) {
	f := &failing{silent: 2}
	// The third batch fails twice; the fifth is there though it failed.
	again, done, rowsIn, err := f.load(t.Context(), func(first int64, try int) (failed, there bool) {
		return first == 21 && try <= 2 || first == 41 && try == 1, first == 41
	})
	if err != nil || again != 2 || done != 100 || rowsIn != 1 || f.finished != 1 || f.settled != 2 {
		t.Errorf("%v; %d again, %d rows done, told %d times that all are in, finished %d times, settled %d times", err, again, done, rowsIn, f.finished, f.settled)
	}
	var batches []int64
	for first, times := range f.rows {
		if batches = append(batches, first); times != 1 {
			t.Errorf("batch %d is there %d times", first, times)
		}
	}
	if len(batches) != 10 || f.tries[21] != 3 || f.tries[41] != 2 || f.tries[1] != 1 {
		slices.Sort(batches)
		t.Errorf("batches %v, tries %v", batches, f.tries)
	}
}

func TestABatchThatAlwaysFailsEndsLoading(t *testing.T) {
	f := &failing{}
	_, done, rowsIn, err := f.load(t.Context(), func(first int64, _ int) (failed, there bool) { return first == 11, false })
	var loading *LoadError
	if !errors.As(err, &loading) || !errors.Is(err, errAway) || loading.Loaded != 90 || done != 90 || rowsIn != 0 || f.finished != 0 {
		t.Errorf("%v; %d rows done, told %d times that all are in, finished %d times", err, done, rowsIn, f.finished)
	}
}

func TestReloadingEndsWithItsContext(t *testing.T) {
	f := &failing{silent: 1 << 30}
	ctx, cancel := context.WithCancel(t.Context())
	_, _, rowsIn, err := f.load(ctx, func(first int64, _ int) (failed, there bool) {
		cancel()
		return true, false
	})
	if !errors.Is(err, context.Canceled) || rowsIn != 0 || f.finished != 0 {
		t.Errorf("%v; told %d times that all are in, finished %d times", err, rowsIn, f.finished)
	}
}
