//go:build foundationdb

package foundationdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/apple/foundationdb/bindings/go/src/fdb/tuple"

	"assay/driver/drivertest"
	"assay/history"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/keyvalue"
)

// addressVariable names the database of these tests. They use the prefix
// ("assay-test", ...) in it, and leave nothing there.
const addressVariable = "ASSAY_FDB"

func TestMain(m *testing.M) {
	if os.Getenv(addressVariable) == "" {
		fmt.Fprintf(os.Stderr, "these tests need a FoundationDB cluster: set %s to its address, such as fdb:///etc/foundationdb/fdb.cluster\n", addressVariable)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func target() workload.Target {
	return workload.Target{Address: os.Getenv(addressVariable) + "?prefix=assay-test", ConnectTimeout: 10 * time.Second}
}

// opened returns the Store or ends the test.
func opened[S any](t *testing.T, open func(context.Context, workload.Target) (S, error)) S {
	t.Helper()
	store, err := open(context.Background(), target())
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// beside is a transaction beside the driver.
func beside(t *testing.T, work func(tr fdb.Transaction)) {
	t.Helper()
	o, err := parse(target())
	if err != nil {
		t.Fatal(err)
	}
	db, err := open(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Transact(func(tr fdb.Transaction) (any, error) { work(tr); return nil, nil }); err != nil {
		t.Fatal(err)
	}
}

// foreign makes a key of somebody else's under a workload's prefix, with the
// official tuple layer.
func foreign(work string) (make, intact func(t *testing.T)) {
	key := fdb.Key(tuple.Tuple{"assay-test", work, "mine", 7}.Pack())
	l := newLayout("assay-test", work)
	make = func(t *testing.T) {
		beside(t, func(tr fdb.Transaction) { tr.Set(key, []byte("treasure")) })
		t.Cleanup(func() { beside(t, func(tr fdb.Transaction) { tr.Clear(key) }) })
	}
	intact = func(t *testing.T) {
		beside(t, func(tr fdb.Transaction) {
			found := tr.GetRange(keyRange(l.bounds()), fdb.RangeOptions{}).GetSliceOrPanic()
			if len(found) != 1 || string(found[0].Key) != string(key) || string(found[0].Value) != "treasure" {
				t.Errorf("the foreign key was touched: %v", found)
			}
		})
	}
	return make, intact
}

func bankHarness() drivertest.Bank {
	h := drivertest.Bank{Open: func(t *testing.T) bank.Store { return opened(t, OpenBank) }}
	h.MakeForeign, h.ForeignIntact = foreign("bank")
	return h
}

func TestBank(t *testing.T) { drivertest.RunBank(t, bankHarness()) }

func TestAudits(t *testing.T) { drivertest.RunAudits(t, bankHarness()) }

func TestIsolation(t *testing.T) {
	h := drivertest.Isolation{Open: func(t *testing.T) isolation.Store { return opened(t, OpenIsolation) }}
	h.MakeForeign, h.ForeignIntact = foreign("isolation")
	drivertest.RunIsolation(t, h)
}

func TestKeyValue(t *testing.T) {
	for _, table := range drivertest.KeyValueTables() {
		t.Run(table.Workload, func(t *testing.T) {
			h := drivertest.KeyValue{Open: func(t *testing.T) keyvalue.Store { return opened(t, keyvalue.Opener(OpenKeyValue).On(table)) }}
			h.MakeForeign, h.ForeignIntact = foreign(table.Workload)
			drivertest.RunKeyValue(t, table, h)
		})
	}
}

func TestMutable(t *testing.T) {
	drivertest.RunMutable(t, false, func(t *testing.T) keyvalue.Store {
		return opened(t, keyvalue.Opener(OpenKeyValue).On(drivertest.MutableTable()))
	})
}

// TestKeyValueWithRiskyReads: nothing is promised of reads, and all else is as it
// was.
func TestKeyValueWithRiskyReads(t *testing.T) {
	open := func(t *testing.T) keyvalue.Store {
		return opened(t, func(ctx context.Context, target workload.Target) (keyvalue.Store, error) {
			target.Address += "&" + causalReadRisky + "=true"
			return OpenKeyValue(ctx, target, entity.Table())
		})
	}
	if promise := keyvalue.PromiseOf(open(t)); promise != "" {
		t.Errorf("the promise is %q, want none", promise)
	}
	if promise := keyvalue.PromiseOf(opened(t, keyvalue.Opener(OpenKeyValue).On(entity.Table()))); promise != keyvalue.PromiseLinearizable {
		t.Errorf("without the option the promise is %q", promise)
	}
	drivertest.RunKeyValue(t, entity.Table(), drivertest.KeyValue{Open: open})
}

func TestBulkUpdate(t *testing.T) {
	h := drivertest.BulkUpdate{Open: func(t *testing.T) bulkupdate.Store { return opened(t, OpenBulkUpdate) }}
	h.MakeForeign, h.ForeignIntact = foreign("bulkupdate")
	drivertest.RunBulkUpdate(t, h)
}

func candlesHarness(page int, renew time.Duration) drivertest.Candles {
	h := drivertest.Candles{Open: func(t *testing.T) candles.Store {
		store := opened(t, OpenCandles)
		store.(*candleStore).page, store.(*candleStore).renew = page, renew
		return store
	}}
	h.MakeForeign, h.ForeignIntact = foreign("candles")
	return h
}

func TestCandles(t *testing.T) { drivertest.RunCandles(t, candlesHarness(pageRows, renewAfter)) }

// TestCandlesInPages has every query read a few rows at a time, all in one
// transaction or each page in another.
func TestCandlesInPages(t *testing.T) {
	t.Run("of one transaction", func(t *testing.T) { drivertest.RunCandles(t, candlesHarness(7, time.Minute)) })
	t.Run("of several", func(t *testing.T) { drivertest.RunCandles(t, candlesHarness(7, 0)) })
}

// TestLargeBatchOfCandles: a batch of several transactions of which a later one
// is refused may be there in part, and is not said to have failed.
func TestLargeBatchOfCandles(t *testing.T) {
	ctx := t.Context()
	store := opened(t, OpenCandles)
	t.Cleanup(func() {
		if err := store.Drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := store.Create(ctx, workload.Marker{Run: "run", Workload: "candles", Created: time.Now().UTC(), Loaded: true}, ""); err != nil {
		t.Fatal(err)
	}
	config := candles.Defaults()
	config.Candles = 3 * candlesWritten
	generator := candles.NewGenerator(config, 1)
	var batch []candles.Candle
	for n := range config.Candles {
		batch = append(batch, generator.Candle(n))
	}
	session, err := store.Session(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	first, last := batch[:candlesWritten], batch[2*candlesWritten:]
	for i, try := range []struct {
		batch []candles.Candle
		want  history.Outcome
	}{{last, history.Committed}, {last, history.Failed}, {batch, history.Unknown}, {first, history.Failed}} {
		if r := session.Insert(ctx, try.batch); r.Outcome != try.want {
			t.Fatalf("batch %d: %+v, want %v", i, r, try.want)
		}
	}
	size, err := store.Size(ctx)
	if err != nil || size.Rows[tableCandle] != config.Candles || size.Rows[tableTicker] != config.Candles {
		t.Errorf("%+v, %v; want %d rows and as many entries of each index", size, err, config.Candles)
	}
}

// TestKeysAreThoseOfTheTupleLayer compares with the official one.
func TestKeysAreThoseOfTheTupleLayer(t *testing.T) {
	l := newLayout("assay", "isolation")
	for _, n := range numbers() {
		want := tuple.Tuple{"assay", "isolation", "member", n, -n}.Pack()
		if got := l.key(tableMember, n, -n); string(got) != string(want) {
			t.Errorf("the key of %d is %x, the tuple layer's %x", n, got, want)
		}
	}
	id := entity.IDOf(1, 2)
	want := tuple.Tuple{"assay", "isolation", "entity", tuple.UUID(id)}.Pack()
	if got := l.uuidKey("entity", id); string(got) != string(want) {
		t.Errorf("the key of %v is %x, the tuple layer's %x", id, got, want)
	}
}

// TestUnreachable: a cluster file that nobody is behind, and one that is not
// there.
func TestUnreachable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fdb.cluster")
	// Port 1 of the loopback address is nobody's.
	if err := os.WriteFile(path, []byte("nobody:nobody@127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + ".absent"} {
		start := time.Now()
		_, err := OpenBank(t.Context(), workload.Target{Address: "fdb://" + file, ConnectTimeout: time.Second})
		var unreachable *workload.UnreachableError
		if !errors.As(err, &unreachable) {
			t.Errorf("%s: %v; want *workload.UnreachableError", file, err)
		}
		if waited := time.Since(start); waited > time.Minute {
			t.Errorf("%s: gave up after %s", file, waited)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := OpenBank(ctx, workload.Target{Address: "fdb://" + path}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a context that ends: %v", err)
	}
}

// TestBarrier: a transaction that began before Settle does not commit after it,
// though nobody has written what it has read.
func TestBarrier(t *testing.T) {
	ctx := t.Context()
	store := opened(t, OpenBank).(*bankStore)
	t.Cleanup(func() {
		if err := store.Drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := store.Create(ctx, workload.Marker{Run: "run", Workload: "bank", Created: time.Now().UTC()}); err != nil {
		t.Fatal(err)
	}
	if err := store.LoadAccounts(ctx, []bank.Account{{ID: 1, Balance: 10}, {ID: 2}}); err != nil {
		t.Fatal(err)
	}
	for _, settled := range []bool{false, true} {
		late, err := begin(ctx, store.db)
		if err != nil {
			t.Fatal(err)
		}
		defer late.end()
		if err := late.guard(store.mark()); err != nil {
			t.Fatal(err)
		}
		n := bankSession{session{store.schema}}
		if reply, _, _, err := n.move(late, bank.Transfer{ID: 7, Source: 1, Destination: 2, Amount: 1}); err != nil || settled != reply.Duplicate {
			t.Fatalf("prepared: %+v, %v", reply, err)
		}
		if !settled {
			if err := late.commit(); err != nil {
				t.Fatalf("without a barrier the transaction is to commit: %v", err)
			}
			continue
		}
		late.Set(fdb.Key(store.key("row", 1)), nil)
		if err := store.Settle(ctx); err != nil {
			t.Fatal(err)
		}
		if err := late.commit(); codeOf(err) != codeNotCommitted {
			t.Errorf("a transaction from before the barrier: %v, want a conflict", err)
		}
	}
}

func numbered(key, value int64) keyvalue.Record {
	return keyvalue.Record{Key: key, Values: []keyvalue.Value{value}}
}

// TestReadInSeveralTransactions has Read go on where a transaction became too
// old, and notice what changes meanwhile.
func TestReadInSeveralTransactions(t *testing.T) {
	ctx := t.Context()
	store := opened(t, keyvalue.Opener(OpenKeyValue).On(availability.Table())).(*keyValueStore)
	t.Cleanup(func() {
		if err := store.Drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := store.Create(ctx, workload.Marker{Run: "run", Workload: "availability", Created: time.Now().UTC(), Loaded: true}); err != nil {
		t.Fatal(err)
	}
	const rows, batch = 20_000, 2000 // far more than one answer of the server holds
	for first := int64(0); first < rows; first += batch {
		_, err := store.change(ctx, "fill", func(tr *transaction) error {
			for n := first; n < first+batch; n++ {
				tr.Set(fdb.Key(store.key("row", n)), recordValue(numbered(n, n)))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, changes := range []bool{false, true} {
		next := int64(0)
		err := store.Read(ctx, func(r keyvalue.Record) error {
			if !r.Equal(numbered(next, next)) {
				t.Fatalf("row %+v, want %d", r, next)
			}
			next++
			if next == 100 { // longer than any transaction lives
				if err := workload.Pause(ctx, 8*time.Second); err != nil {
					return err
				}
				if changes {
					beside(t, func(tr fdb.Transaction) { tr.Set(fdb.Key(store.key("row", 50)), recordValue(numbered(50, 51))) })
				}
			}
			return nil
		})
		if next != rows || changes != errors.Is(err, errChanged) || !changes && err != nil {
			t.Errorf("%d rows were read, with changes meanwhile: %v; %v", next, changes, err)
		}
	}
}
