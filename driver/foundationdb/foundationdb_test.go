//go:build foundationdb

package foundationdb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/apple/foundationdb/bindings/go/src/fdb/tuple"

	"assay/driver/drivertest"
	"assay/driver/ordered"
	"assay/driver/rows"
	"assay/history"
	"assay/internal/expect"
	"assay/internal/wait"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/candles"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// addressVariable names the database of these tests, which use the prefix ("assay-test", ...) and
// leave nothing there. One process in memory is enough, with test:test@127.0.0.1:4500 in
// DIR/fdb.cluster:
//
//	fdbserver -p 127.0.0.1:4500 -d DIR -L DIR -C DIR/fdb.cluster
//	fdbcli -C DIR/fdb.cluster --exec 'configure new single memory'
//
// To compile, the client library's header is enough (CGO_CFLAGS=-I, go vet -tags foundationdb).
const addressVariable = "ASSAY_FDB"

func TestMain(m *testing.M) {
	if os.Getenv(addressVariable) == "" {
		fmt.Fprintf(os.Stderr, "these tests need a FoundationDB cluster: set %s to its address, such as fdb:///etc/foundationdb/fdb.cluster\n", addressVariable)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func target() store.Target {
	return store.Target{Address: os.Getenv(addressVariable) + "?prefix=assay-test", ConnectTimeout: 10 * time.Second}
}

func opened[S any](t *testing.T, open func(context.Context, store.Target) (S, error)) S {
	t.Helper()
	store, err := open(context.Background(), target())
	expect.NoError(t, err)
	return store
}

func opens(schema store.Schema) func(context.Context, store.Target) (store.Database, error) {
	return func(ctx context.Context, target store.Target) (store.Database, error) {
		return Open(ctx, target, schema)
	}
}

func beside(t *testing.T, work func(tr fdb.Transaction)) {
	t.Helper()
	o, err := parse(target())
	expect.NoError(t, err)
	db, err := open(o)
	expect.NoError(t, err)
	if _, err := db.Transact(func(tr fdb.Transaction) (any, error) { work(tr); return nil, nil }); err != nil {
		t.Fatal(err)
	}
}

// foreign makes another owner's key under a workload's prefix, with the official tuple layer.
func foreign(work string) (make, intact func(t *testing.T)) {
	key := fdb.Key(tuple.Tuple{"assay-test", work, "mine", 7}.Pack())
	l := ordered.NewLayout("assay-test", work)
	make = func(t *testing.T) {
		beside(t, func(tr fdb.Transaction) { tr.Set(key, []byte("treasure")) })
		t.Cleanup(func() { beside(t, func(tr fdb.Transaction) { tr.Clear(key) }) })
	}
	intact = func(t *testing.T) {
		beside(t, func(tr fdb.Transaction) {
			found := tr.GetRange(keyRange(l.Bounds()), fdb.RangeOptions{}).GetSliceOrPanic()
			if len(found) != 1 || string(found[0].Key) != string(key) || string(found[0].Value) != "treasure" {
				t.Errorf("the foreign key was touched: %v", found)
			}
		})
	}
	return make, intact
}

func TestStore(t *testing.T) {
	drivertest.RunStore(t, drivertest.Store{Open: Open, Lacks: Lacks(), Target: target(), Confirms: true,
		MakeForeign: func(t *testing.T, work string) (intact func(t *testing.T)) {
			make, intact := foreign(work)
			make(t)
			return intact
		}})
}

func TestWorkloads(t *testing.T) {
	drivertest.ShortRuns(t, target(), drivertest.Supports(Open, Lacks())...)
}

// TestKeyValueWithRiskyReads promises nothing of reads and changes nothing else.
func TestKeyValueWithRiskyReads(t *testing.T) {
	risky := target()
	risky.Address += "&" + causalReadRisky + "=true"
	for want, to := range map[string]store.Target{"": risky, store.Linearizable: target()} {
		db, err := Open(t.Context(), to, entity.Schema())
		expect.NoError(t, err)
		if promise := db.Promises().Reads; promise != want {
			t.Errorf("%s: the promise is %q, want %q", to.Address, promise, want)
		}
	}
	drivertest.ShortRuns(t, risky, definition.SupportOf(entity.Definition(), Open, Lacks()))
}

func TestInterleaving(t *testing.T) {
	drivertest.RunInterleaving(t, Open, func(store.Level) store.Target { return target() },
		[]drivertest.Shown{{Level: level}})
}

// TestLargeBatchOfCandles: if a later transaction of a batch is refused, a part may be there, so
// the outcome is not failed.
func TestLargeBatchOfCandles(t *testing.T) {
	ctx := t.Context()
	db := opened(t, opens(candles.Schema()))
	expect.AtEnd(t, func() error { return db.Drop(context.Background()) })
	expect.NoError(t, db.Create(ctx, store.Marker{Run: "run", Workload: "candles", Created: time.Now().UTC(), Loaded: true}))
	const part = 2000 // more than one transaction takes
	config := candles.Defaults()
	config.Candles = 3 * part
	generator := candles.NewGenerator(config, 1)
	var batch []candles.Candle
	for n := range config.Candles {
		batch = append(batch, generator.Candle(n))
	}
	session, err := db.Session(ctx, nil)
	expect.NoError(t, err)
	defer session.Close()
	first, last := batch[:part], batch[2*part:]
	for i, try := range []struct {
		batch []candles.Candle
		want  history.Outcome
	}{{last, history.Committed}, {last, history.Failed}, {batch, history.Unknown}, {first, history.Failed}} {
		if r := candles.Insert(ctx, session, try.batch); r.Outcome != try.want {
			t.Fatalf("batch %d: %+v, want %v", i, r, try.want)
		}
	}
	size, err := db.Size(ctx)
	if rows := size.Rows["candle"]; err != nil || rows <= part || rows >= config.Candles || size.Rows["candle_ticker"] != rows {
		t.Errorf("%+v, %v; want a part of %d rows, and as many entries of each index", size, err, config.Candles)
	}
}

// TestKeysAreThoseOfTheTupleLayer compares with the official layer.
func TestKeysAreThoseOfTheTupleLayer(t *testing.T) {
	l := ordered.NewLayout("assay", "isolation")
	for _, n := range []int64{0, 1, -1, 255, 256, -255, -256, 1 << 40, -1 << 40, math.MaxInt64, math.MinInt64 + 1, math.MinInt64} {
		want := tuple.Tuple{"assay", "isolation", "member", n, -n}.Pack()
		if got := l.Key("member", n, -n); string(got) != string(want) {
			t.Errorf("the key of %d is %x, the tuple layer's %x", n, got, want)
		}
	}
	id, schema := entity.IDOf(1, 2), entity.Schema()
	form := ordered.NewForms(ordered.NewLayout("assay", "entity"), &schema)["entity"]
	e := entity.Entity{ID: id}
	want := tuple.Tuple{"assay", "entity", "entity", tuple.UUID(id)}.Pack()
	if got := form.Key(rowOf(form, e.Values()...)); string(got) != string(want) {
		t.Errorf("the key of %v is %x, the tuple layer's %x", id, got, want)
	}
}

func rowOf(f *ordered.Form, values ...store.Value) rows.Row {
	columns, err := f.Places(f.Names())
	var e rows.Evaluation
	if err := errors.Join(err, e.Given(f.Table, columns, values)); err != nil {
		panic(err)
	}
	row := f.Make()
	f.Write(row, columns, e.Values)
	return row
}

// TestUnreachable: a cluster file without a cluster, and a missing file.
func TestUnreachable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fdb.cluster")
	// Nothing listens on port 1.
	expect.NoError(t, os.WriteFile(path, []byte("nobody:nobody@127.0.0.1:1\n"), 0o600))
	for _, file := range []string{path, path + ".absent"} {
		start := time.Now()
		_, err := Open(t.Context(), store.Target{Address: "fdb://" + file, ConnectTimeout: time.Second}, bank.Schema())
		var unreachable *store.UnreachableError
		if !errors.As(err, &unreachable) {
			t.Errorf("%s: %v; want *store.UnreachableError", file, err)
		}
		if waited := time.Since(start); waited > time.Minute {
			t.Errorf("%s: gave up after %s", file, waited)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := Open(ctx, store.Target{Address: "fdb://" + path}, bank.Schema()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a context that ends: %v", err)
	}
}

// emptied opens an empty schema and drops it at the end of the test.
func emptied(t *testing.T, of store.Schema) *database {
	t.Helper()
	d := opened(t, func(ctx context.Context, target store.Target) (store.Database, error) {
		return Open(ctx, target, of)
	}).(*database)
	expect.AtEnd(t, func() error { return d.Drop(context.Background()) })
	expect.NoError(t, d.Create(t.Context(), store.Marker{Run: "run", Workload: of.Workload, Created: time.Now().UTC(), Loaded: true}))
	return d
}

// TestBarrier: a transaction that began before Settle cannot commit after it, even without a
// conflict.
func TestBarrier(t *testing.T) {
	ctx := t.Context()
	d := emptied(t, bank.Schema())
	for _, settled := range []bool{false, true} {
		late, err := begin(ctx, d.db)
		expect.NoError(t, err)
		defer late.end()
		expect.NoError(t, late.guard(d.Layout.Mark()))
		account := d.Forms["account"]
		if err := d.execution(late.Transaction, late.Transaction).Add(account, []rows.Row{rowOf(account, store.OfInts(1, 10, 0)...)}); settled != (err != nil) {
			t.Fatalf("prepared: %v", err)
		}
		if !settled {
			if err := late.commit(); err != nil {
				t.Fatalf("without a barrier the transaction is to commit: %v", err)
			}
			continue
		}
		late.Set(fdb.Key(d.Layout.Key("row", 1)), nil)
		expect.NoError(t, d.Settle(ctx))
		if err := late.commit(); codeOf(err) != codeNotCommitted {
			t.Errorf("a transaction from before the barrier: %v, want a conflict", err)
		}
	}
}

// TestReadInSeveralTransactions continues after a transaction became too old, and notices changes.
func TestReadInSeveralTransactions(t *testing.T) {
	ctx := t.Context()
	d := emptied(t, availability.Schema())
	form := d.Forms["row"]
	set := func(tr fdb.Transaction, key, value int64) {
		row := rowOf(form, store.OfInts(key, value)...)
		tr.Set(fdb.Key(form.Key(row)), form.Value(row))
	}
	const most, batch = 20_000, 2000 // far more than one answer of the server holds
	for first := int64(0); first < most; first += batch {
		_, err := d.change(ctx, "fill", func(tr *transaction) error {
			for n := first; n < first+batch; n++ {
				set(tr.Transaction, n, n)
			}
			return nil
		})
		expect.NoError(t, err)
	}
	for _, changes := range []bool{false, true} {
		next := int64(0)
		err := keyvalue.Read(ctx, d, availability.Schema(), func(r store.Row) error {
			var key, value int64
			if err := r.Scan(&key, &value); err != nil || key != next || value != next {
				t.Fatalf("row %d, %d, want %d; %v", key, value, next, err)
			}
			next++
			if next == 100 { // longer than any transaction lives
				if err := wait.Pause(ctx, 8*time.Second); err != nil {
					return err
				}
				if changes {
					beside(t, func(tr fdb.Transaction) { set(tr, 50, 51) })
				}
			}
			return nil
		})
		if next != most || changes != errors.Is(err, errChanged) || !changes && err != nil {
			t.Errorf("%d rows were read, with changes meanwhile: %v; %v", next, changes, err)
		}
	}
}
