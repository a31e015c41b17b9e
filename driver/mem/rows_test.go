package mem

import (
	"slices"
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
)

func TestBulkUpdate(t *testing.T) {
	open := shared(t, "mem://", OpenBulkUpdate)
	d := open(t).(*bulkUpdateStore).d
	drivertest.RunBulkUpdate(t, drivertest.BulkUpdate{Open: open, MakeForeign: foreign(d), ForeignIntact: untouched(d)})
}

func TestCandles(t *testing.T) {
	open := shared(t, "mem://", OpenCandles)
	d := open(t).(*candleStore).d
	drivertest.RunCandles(t, drivertest.Candles{Open: open, MakeForeign: foreign(d), ForeignIntact: untouched(d)})
}

func TestChurn(t *testing.T) {
	open := shared(t, "mem://", OpenChurn)
	d := open(t).(*churnStore).d
	drivertest.RunChurn(t, drivertest.Churn{Shrinks: true, Open: open, MakeForeign: foreign(d), ForeignIntact: untouched(d)})
}

func TestSmallBank(t *testing.T) {
	open, makeForeign, intact := opens(t, "mem://", smallbank.Name, smallbank.Opener)
	drivertest.RunSmallBank(t, drivertest.SmallBank{Open: open, MakeForeign: makeForeign, ForeignIntact: intact})
}

func TestTPCB(t *testing.T) {
	open, makeForeign, intact := opens(t, "mem://", tpcb.Name, tpcb.Opener)
	drivertest.RunTPCB(t, drivertest.TPCB{Open: open, MakeForeign: makeForeign, ForeignIntact: intact})
}

// TestUpdatesWithTimeouts: whether an update took effect of which that is not known
// is nothing against the database.
func TestUpdatesWithTimeouts(t *testing.T) {
	for seed := range uint64(5) {
		store, err := OpenBulkUpdate(t.Context(), workload.Target{Address: "mem://?timeout=0.2", Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		run := drivertest.ShortRun{Workload: bulkupdate.Definition(), Attempts: 1, Seed: seed,
			Config: &bulkupdate.Config{Users: 40, Documents: 10, Workers: "1,3,5", Field: bulkupdate.FieldRandom, Loaders: 2}}
		if j := run.Valid(t.Context(), t, store); j.Counts.Total() != 120 || len(j.Facts) != 0 || len(j.Notes) != 1 || !strings.HasPrefix(j.Notes[0], "the documents of ") {
			t.Errorf("seed %d: %+v", seed, j)
		}
	}
}

// TestCandleTimeouts: batches without an answer, of which any row may be there,
// are nothing against the database.
func TestCandleTimeouts(t *testing.T) {
	config := candles.Defaults()
	config.Candles, config.Tickers, config.Batch, config.Loaders = 900, 6, 50, 2
	config.Queries, config.Latest, config.Intervals, config.Repeats = 60, 10, 3, 5
	unsure := false
	for seed := range uint64(4) {
		store, err := OpenCandles(t.Context(), workload.Target{Address: "mem://?timeout=0.2", Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		run := drivertest.ShortRun{Workload: candles.Definition(), Config: &config, Seed: seed, Clients: 2, Each: 1, Attempts: 1}
		j, err := candles.Judge(config, seed, run.Evidence(t.Context(), t, store))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range j.Results {
			if r.Verdict.String() == "violated" {
				t.Errorf("seed %d: %s: %s", seed, r.Name, r.Evidence[0].Text)
			}
		}
		unsure = unsure || j.Figures.Unsure > 0
		if j.Figures.Unsure > 0 && j.Results[1].Verdict.String() != "unknown" {
			t.Errorf("seed %d: %d answers are unsure and the verdict is %s", seed, j.Figures.Unsure, j.Results[1].Verdict)
		}
	}
	if !unsure {
		t.Error("no answer was ever unsure")
	}
}

// TestQueriesVisitWhatTheyGive: what a query looks at is bounded by its answer, however
// many rows there are.
func TestQueriesVisitWhatTheyGive(t *testing.T) {
	store, err := OpenCandles(t.Context(), workload.Target{Address: "mem://"})
	if err != nil {
		t.Fatal(err)
	}
	s := store.(*candleStore)
	if err := s.Create(t.Context(), workload.Marker{}, ""); err != nil {
		t.Fatal(err)
	}
	session, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const tickers, moments = 50, 200
	for id := range int64(tickers * moments) {
		c := candles.Candle{ID: id, Ticker: string(rune('A' + id%tickers)), Moment: id / tickers}
		if r := session.Insert(t.Context(), []candles.Candle{c}); r.Outcome != history.Committed {
			t.Fatal(r.Err)
		}
	}
	for name, q := range map[string]struct {
		ask  func(give func(*candles.Candle)) candles.Reply
		want []int64 // the first rows
		rows int
	}{
		"latest": {func(give func(*candles.Candle)) candles.Reply { return session.Latest(t.Context(), "C", 10, give) }, []int64{199*tickers + 2, 198*tickers + 2}, 10},
		"interval": {func(give func(*candles.Candle)) candles.Reply {
			return session.Interval(t.Context(), "C", 20, 25, give)
		}, []int64{24*tickers + 2, 23*tickers + 2}, 5},
		"none": {func(give func(*candles.Candle)) candles.Reply {
			return session.Interval(t.Context(), "C", 300, 400, give)
		}, nil, 0},
		"span": {func(give func(*candles.Candle)) candles.Reply { return session.Span(t.Context(), 20, 22, give) }, []int64{21*tickers + 49}, 2 * tickers},
	} {
		var got []int64
		before := s.byTicker.visited + s.byMoment.visited
		if r := q.ask(func(c *candles.Candle) { got = append(got, c.ID) }); r.Outcome != history.Committed {
			t.Fatalf("%s: %v", name, r.Err)
		}
		visited := s.byTicker.visited + s.byMoment.visited - before
		if len(got) != q.rows || visited > int64(q.rows)+1 || !slices.Equal(got[:len(q.want)], q.want) {
			t.Errorf("%s: %d rows %v, %d visited; want %d rows %v", name, len(got), got, visited, q.rows, q.want)
		}
	}
}

// TestOrdersFollowTheirTable through updates, deletions and a new beginning.
func TestOrdersFollowTheirTable(t *testing.T) {
	d, err := open(workload.Target{Address: "mem://"})
	if err != nil {
		t.Fatal(err)
	}
	rows := newTable[int, string](d)
	byText := ordered(rows, func(_ int, text string) string { return text }, func(a, b string) bool { return a < b })
	has := func(want ...string) {
		t.Helper()
		var got []string
		if byText.up("", func(text string) bool { got = append(got, text); return true }); !slices.Equal(got, want) {
			t.Errorf("the order has %v, want %v", got, want)
		}
	}
	do := func(change func(*transaction)) {
		x := d.begin()
		defer x.end()
		if change(x); !x.commit() {
			t.Error("not committed")
		}
	}
	do(func(x *transaction) { put(x, rows, 1, "c"); put(x, rows, 2, "b"); put(x, rows, 3, "d") })
	has("b", "c", "d")
	reader := d.begin()
	do(func(x *transaction) { put(x, rows, 1, "e"); remove(x, rows, 2); remove(x, rows, 9) })
	has("d", "e")
	do(func(x *transaction) { put(x, rows, 2, "a") })
	has("a", "d", "e")
	reader.end()
	d.reset()
	has()
}
