package bank

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assay/workload/definition"
)

func open(t *testing.T, ctx context.Context, store *fake, accounts int64, loaders int) (progress []int64, err error) {
	t.Helper()
	c := Config{Accounts: accounts, Keys: "uniform", Loaders: loaders}
	err = Open(ctx, store, c, func(done, total int64) {
		if total != accounts {
			t.Errorf("progress speaks of %d accounts, want %d", total, accounts)
		}
		progress = append(progress, done) // a race here is a broken promise of Open's
	})
	return progress, err
}

func TestOpenLoadsEachAccountOnce(t *testing.T) {
	for _, n := range []int64{2, 3, MaxBatch - 1, MaxBatch, MaxBatch + 1, 12_345} {
		for _, loaders := range []int{1, 4, 64} {
			store := &fake{load: func(_ context.Context, batch []Account) error {
				if len(batch) == 0 || len(batch) > MaxBatch {
					t.Errorf("a batch of %d accounts", len(batch))
				}
				return nil
			}}
			progress, err := open(t, t.Context(), store, n, loaders)
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(store.accounts, func(a, b Account) int { return cmp.Compare(a.ID, b.ID) })
			if int64(len(store.accounts)) != n || store.finished != 1 {
				t.Fatalf("%d accounts and %d finishes, want %d and one", len(store.accounts), store.finished, n)
			}
			for i, a := range store.accounts {
				id := int64(i + 1)
				if want := (Account{ID: id, Balance: NewAccounts(n).Opening(id)}); a != want {
					t.Fatalf("of %d accounts with %d loaders: %+v, want %+v", n, loaders, a, want)
				}
			}
			if slices.Max(progress) != n {
				t.Errorf("progress came to %d of %d", slices.Max(progress), n)
			}
		}
	}
}

// TestOpenLoadsInParallel lets no batch in before as many are there as there
// are loaders.
func TestOpenLoadsInParallel(t *testing.T) {
	const loaders = 5
	var inside atomic.Int64
	all := make(chan struct{})
	store := &fake{load: func(ctx context.Context, _ []Account) error {
		if inside.Add(1) == loaders {
			close(all)
		}
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	if _, err := open(t, t.Context(), store, loaders*MaxBatch, loaders); err != nil {
		t.Fatal(err)
	}
	if int64(len(store.accounts)) != loaders*MaxBatch {
		t.Errorf("%d accounts", len(store.accounts))
	}
}

func TestOpenSaysHowFarItCame(t *testing.T) {
	full := errors.New("disk full")
	var calls atomic.Int64
	store := &fake{load: func(context.Context, []Account) error {
		if calls.Add(1) > 3 {
			return full
		}
		return nil
	}}
	progress, err := open(t, t.Context(), store, 10*MaxBatch, 2)
	var failed *definition.LoadError
	if !errors.As(err, &failed) || !errors.Is(err, full) {
		t.Fatalf("got %v", err)
	}
	if failed.Loaded != 3*MaxBatch || failed.Total != 10*MaxBatch || int64(len(store.accounts)) != failed.Loaded {
		t.Errorf("%+v, with %d accounts in the store", failed, len(store.accounts))
	}
	if store.finished != 0 || slices.Max(progress) != 3*MaxBatch {
		t.Errorf("finished %d times, progress %v", store.finished, progress)
	}
	for _, part := range []string{"3,000 of 10,000 accounts", "disk full", "next run starts clean"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func TestOpenThatCannotFinish(t *testing.T) {
	broken := errors.New("no index")
	store := &fake{finish: func() error { return broken }}
	_, err := open(t, t.Context(), store, 10, 1)
	var failed *definition.LoadError
	if !errors.As(err, &failed) || !errors.Is(err, broken) || failed.Loaded != 10 {
		t.Errorf("got %v", err)
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int64
	store := &fake{load: func(ctx context.Context, _ []Account) error {
		if calls.Add(1) == 4 {
			cancel()
		}
		if calls.Load() >= 4 { // a database that answers no more
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	_, err := open(t, ctx, store, MaxAccounts, 2)
	var failed *definition.LoadError
	if !errors.As(err, &failed) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if failed.Loaded > 3*MaxBatch || failed.Loaded != int64(len(store.accounts)) || store.finished != 0 {
		t.Errorf("%+v with %d accounts, finished %d times", failed, len(store.accounts), store.finished)
	}
}

func TestOpenWithAnEndedContextLoadsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store := &fake{}
	_, err := open(t, ctx, store, 10*MaxBatch, 3)
	var failed *definition.LoadError
	if !errors.As(err, &failed) || failed.Loaded != 0 || len(store.accounts) != 0 || store.finished != 0 {
		t.Errorf("got %v, with %d accounts", err, len(store.accounts))
	}
}

// sized is a store that asks for larger batches.
type sized struct{ *fake }

func (sized) BatchSize() int { return 5000 }

func TestOpenLoadsInBatchesOfTheStoresSize(t *testing.T) {
	for n, want := range map[int64]int{800: 800, 12_345: 3087, 100_000: 5000} {
		var largest atomic.Int64
		store := &fake{load: func(_ context.Context, batch []Account) error {
			for {
				known := largest.Load()
				if int64(len(batch)) <= known || largest.CompareAndSwap(known, int64(len(batch))) {
					return nil
				}
			}
		}}
		c := Config{Accounts: n, Keys: "uniform", Loaders: 4}
		if err := Open(t.Context(), sized{store}, c, func(int64, int64) {}); err != nil {
			t.Fatal(err)
		}
		if int(largest.Load()) != want || int64(len(store.accounts)) != n {
			t.Errorf("%d accounts came in batches of at most %d, want %d; %d are there", n, largest.Load(), want, len(store.accounts))
		}
	}
}
