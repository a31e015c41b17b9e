package definition

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"assay/internal/expect"
	"assay/store"
)

// keeping is a database that keeps the keys of the rows that are loaded, and whose every
// step a test can take over.
type keeping struct {
	store.Database
	mu       sync.Mutex
	rows     []int64
	finished int
	load     func(ctx context.Context, batch int) error
	finish   func() error
}

func (k *keeping) Load(ctx context.Context, rows store.Rows) error {
	if k.load != nil {
		if err := k.load(ctx, rows.Count); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range rows.Count {
		k.rows = append(k.rows, rows.Row(i, nil)[0].Number)
	}
	return nil
}

func (k *keeping) FinishLoad(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.finished++
	if k.finish != nil {
		return k.finish()
	}
	return nil
}

// open loads so many rows into two tables.
func open(t *testing.T, ctx context.Context, db store.Database, rows int64, loaders int) (progress []int64, err error) {
	t.Helper()
	first := rows % 10
	l := Loaded{Database: db, Loaders: loaders, One: "account", Many: "accounts", Contents: []Contents{
		{Table: "first", Columns: []string{"id"}, Rows: first, Row: func(i int64, into []store.Value) []store.Value { return append(into, store.OfInt(i)) }},
		{Table: "second", Columns: []string{"id"}, Rows: rows - first, Row: func(i int64, into []store.Value) []store.Value { return append(into, store.OfInt(first+i)) }},
	}}
	err = l.Load(ctx, func(done, total int64) {
		if total != rows || l.Rows() != rows {
			t.Errorf("progress speaks of %d rows, want %d", total, rows)
		}
		progress = append(progress, done) // a race here is a broken promise of Load's
	})
	return progress, err
}

func TestLoadLoadsEachRowOnce(t *testing.T) {
	for _, n := range []int64{2, 3, 20, batchRows - 1, batchRows, batchRows + 1, 12_345} {
		for _, loaders := range []int{1, 4, 64} {
			store := &keeping{load: func(_ context.Context, batch int) error {
				if batch == 0 || batch > batchRows {
					t.Errorf("a batch of %d rows", batch)
				}
				return nil
			}}
			progress, err := open(t, t.Context(), store, n, loaders)
			expect.NoError(t, err)
			slices.Sort(store.rows)
			if int64(len(store.rows)) != n || store.finished != 1 {
				t.Fatalf("%d rows and %d finishes, want %d and one", len(store.rows), store.finished, n)
			}
			for i, row := range store.rows {
				if row != int64(i+1) {
					t.Fatalf("of %d rows with %d loaders: %d, want %d", n, loaders, row, i+1)
				}
			}
			if slices.Max(progress) != n {
				t.Errorf("progress came to %d of %d", slices.Max(progress), n)
			}
		}
	}
}

// TestLoadLoadsInParallel lets no batch in before as many are there as there
// are loaders.
func TestLoadLoadsInParallel(t *testing.T) {
	const loaders = 5
	var inside atomic.Int64
	all := make(chan struct{})
	store := &keeping{load: func(ctx context.Context, _ int) error {
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
	if _, err := open(t, t.Context(), store, loaders*batchRows, loaders); err != nil {
		t.Fatal(err)
	}
	if int64(len(store.rows)) != loaders*batchRows {
		t.Errorf("%d rows", len(store.rows))
	}
}

func TestLoadSaysHowFarItCame(t *testing.T) {
	full := errors.New("disk full")
	var calls atomic.Int64
	store := &keeping{load: func(context.Context, int) error {
		if calls.Add(1) > 3 {
			return full
		}
		return nil
	}}
	progress, err := open(t, t.Context(), store, 10*batchRows, 2)
	var failed *LoadError
	if !errors.As(err, &failed) || !errors.Is(err, full) {
		t.Fatalf("got %v", err)
	}
	if failed.Loaded != 3*batchRows || failed.Total != 10*batchRows || int64(len(store.rows)) != failed.Loaded {
		t.Errorf("%+v, with %d rows in the store", failed, len(store.rows))
	}
	if store.finished != 0 || slices.Max(progress) != 3*batchRows {
		t.Errorf("finished %d times, progress %v", store.finished, progress)
	}
	for _, part := range []string{"3,000 of 10,000 accounts", "disk full", "next run starts clean"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func TestLoadThatCannotFinish(t *testing.T) {
	broken := errors.New("no index")
	store := &keeping{finish: func() error { return broken }}
	_, err := open(t, t.Context(), store, 10, 1)
	var failed *LoadError
	if !errors.As(err, &failed) || !errors.Is(err, broken) || failed.Loaded != 10 {
		t.Errorf("got %v", err)
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int64
	store := &keeping{load: func(ctx context.Context, _ int) error {
		if calls.Add(1) == 4 {
			cancel()
		}
		if calls.Load() >= 4 { // a database that answers no more
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	_, err := open(t, ctx, store, 1_000_000_000, 2)
	var failed *LoadError
	if !errors.As(err, &failed) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if failed.Loaded > 3*batchRows || failed.Loaded != int64(len(store.rows)) || store.finished != 0 {
		t.Errorf("%+v with %d rows, finished %d times", failed, len(store.rows), store.finished)
	}
}

func TestLoadWithAnEndedContextLoadsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store := &keeping{}
	_, err := open(t, ctx, store, 10*batchRows, 3)
	var failed *LoadError
	if !errors.As(err, &failed) || failed.Loaded != 0 || len(store.rows) != 0 || store.finished != 0 {
		t.Errorf("got %v, with %d rows", err, len(store.rows))
	}
}

// sized is a database that asks for larger batches.
type sized struct{ *keeping }

func (sized) BulkRows() int { return 5000 }

func TestLoadInBatchesOfTheDatabasesSize(t *testing.T) {
	for n, want := range map[int64]int{800: 200, 12_345: 3087, 100_000: 5000} {
		largest := 0
		k := &keeping{}
		k.load = func(_ context.Context, batch int) error {
			k.mu.Lock()
			defer k.mu.Unlock()
			largest = max(largest, batch)
			return nil
		}
		if _, err := open(t, t.Context(), sized{k}, n, 4); err != nil {
			t.Fatal(err)
		}
		if largest != want || int64(len(k.rows)) != n {
			t.Errorf("%d rows came in batches of at most %d, want %d; %d are there", n, largest, want, len(k.rows))
		}
	}
}

// holding is a database that shows which rows it has.
type holding struct {
	keeping
	atomic bool
}

func (h *holding) Promises() store.Promises                                    { return store.Promises{Atomic: h.atomic} }
func (h *holding) View(_ context.Context, read func(store.Reader) error) error { return read(h) }

func (h *holding) Read(_ context.Context, _ store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	for _, n := range h.rows {
		if n >= parameters[0].Number && n < parameters[1].Number {
			if err := row(key(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// key is a row of one column.
type key int64

func (k key) Scan(into ...any) error                 { *into[0].(*int64) = int64(k); return nil }
func (k key) AppendValues(into []any) ([]any, error) { return append(into, int64(k)), nil }

// TestReload loads batches again that are there, in part there, and not there.
func TestReload(t *testing.T) {
	for _, test := range []struct {
		there  []int64
		atomic bool
		fails  bool
	}{{nil, true, false}, {[]int64{1, 2, 3, 9}, true, false}, {[]int64{2}, true, true}, {[]int64{2}, false, false}} {
		h := &holding{keeping: keeping{rows: test.there}, atomic: test.atomic}
		l := Loaded{Database: h, Many: "accounts"}
		err := l.reload(t.Context(), store.Rows{Table: "first", Columns: []string{"id"}, Count: 3,
			Row: func(i int, into []store.Value) []store.Value { return append(into, store.OfInt(int64(i)+1)) }})
		if (err != nil) != test.fails {
			t.Errorf("with %v: %v", test.there, err)
		}
		slices.Sort(h.rows)
		if !test.fails && !slices.Equal(h.rows[:3], []int64{1, 2, 3}) {
			t.Errorf("with %v there are %v", test.there, h.rows)
		}
	}
}
