package load

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
)

func TestBatches(t *testing.T) {
	var mu sync.Mutex
	var firsts []int64
	var told []int64
	over, err := Batches(t.Context(), 3, 25, 10, func() Batch {
		return func(_ context.Context, first int64) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			firsts = append(firsts, first)
			return int(min(10, 25-first+1)), nil
		}
	}, func(over, total int64) {
		told = append(told, over)
		if total != 25 {
			t.Errorf("told of %d in all", total)
		}
	})
	slices.Sort(firsts)
	slices.Sort(told)
	if err != nil || over != 25 || !slices.Equal(firsts, []int64{1, 11, 21}) || len(told) != 3 || told[2] != 25 {
		t.Errorf("%d, %v; batches %v, told %v", over, err, firsts, told)
	}
}

func TestBatchesEndWithTheFirstError(t *testing.T) {
	sentinel := errors.New("full")
	over, err := Batches(t.Context(), 1, 100, 10, func() Batch {
		return func(_ context.Context, first int64) (int, error) {
			if first == 31 {
				return 0, sentinel
			}
			return 10, nil
		}
	}, func(int64, int64) {})
	if err != sentinel || over != 30 {
		t.Errorf("%d, %v", over, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if over, err := Batches(ctx, 2, 100, 10, func() Batch {
		return func(context.Context, int64) (int, error) { return 10, nil }
	}, func(int64, int64) {}); !errors.Is(err, context.Canceled) || over != 0 {
		t.Errorf("in a context that was over: %d, %v", over, err)
	}
}
