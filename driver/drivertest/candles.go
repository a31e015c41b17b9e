package drivertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/candles"
)

// Candles is what a driver's test gives to have its candles.Store tried. The
// fields that it shares with Bank mean the same.
type Candles struct {
	Open func(t *testing.T) candles.Store

	MakeForeign   func(t *testing.T)
	ForeignIntact func(t *testing.T)

	// Replaces is true for a database in which an insert replaces the row of
	// the same key and is acknowledged, as in Cassandra.
	Replaces bool
	// Engines are those that are tried beside the first; all if it is nil.
	Engines []string
}

// RunCandles tries everything that candles.Store promises. Its subtests run
// one after the other on one place.
func RunCandles(t *testing.T, h Candles) {
	for _, s := range []struct {
		name string
		run  func(*tape)
	}{
		{"Nothing", (*tape).testNothing},
		{"Queries", (*tape).testQueries},
		{"Create", (*tape).testCreate},
		{"Engines", (*tape).testEngines},
		{"Again", (*tape).testAgain},
		{"Read", (*tape).testRead},
		{"ContextOver", (*tape).testContextOver},
		{"Judged", (*tape).testJudged},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(newTape(t, h)) })
	}
	runLease(t, func(t *testing.T) *hold[candles.Store] { return newTape(t, h).hold },
		func(ctx context.Context, s candles.Store, run string) error {
			return s.Create(ctx, candleMark(run), "")
		})
	if h.MakeForeign != nil {
		t.Run("Foreign", func(t *testing.T) { newTape(t, h).testForeign() })
	}
}

// tape is one subtest's hold on the place under test.
type tape struct {
	*hold[candles.Store]
	h         Candles
	config    candles.Config
	generator *candles.Generator
}

const tapeSeed = 7

func newTape(t *testing.T, h Candles) *tape {
	t.Helper()
	c := candles.Defaults()
	c.Candles, c.Tickers, c.Days, c.Batch, c.Loaders = 1203, 5, 3, 100, 3
	c.Queries, c.Latest, c.Intervals, c.Repeats = 20, 17, 3, 4
	return &tape{h: h, config: c, generator: candles.NewGenerator(c, tapeSeed),
		hold: empty(t, harness[candles.Store]{open: h.Open, makeForeign: h.MakeForeign, foreignIntact: h.ForeignIntact})}
}

func candleMark(run string) workload.Marker { return loadedMark("candles", run) }

// readCandles is a Store's Read.
func readCandles(store candles.Store) reading {
	return func(ctx context.Context, each func() error) error {
		return store.Read(ctx, func(candles.Candle) error { return each() })
	}
}

func (a *tape) create(engine string) {
	a.t.Helper()
	if err := a.store.Create(a.ctx, candleMark("run-1"), engine); err != nil {
		a.t.Fatalf("Create with engine %q: %v", engine, err)
	}
}

// session opens a session that is closed with the test.
func (a *tape) session() candles.Session {
	a.t.Helper()
	session, err := a.store.Session(a.ctx)
	if err != nil {
		a.t.Fatalf("Session: %v", err)
	}
	a.t.Cleanup(session.Close)
	return session
}

func (a *tape) batch(from, to int64) (batch []candles.Candle) {
	for n := from; n < to; n++ {
		batch = append(batch, a.generator.Candle(n))
	}
	return batch
}

// fill writes these candles from two sessions at once.
func (a *tape) fill(to int64) {
	a.t.Helper()
	var all sync.WaitGroup
	for _, half := range [][2]int64{{0, to / 2}, {to / 2, to}} {
		session, err := a.store.Session(a.ctx)
		if err != nil {
			a.t.Fatalf("Session: %v", err)
		}
		all.Go(func() {
			defer session.Close()
			for from := half[0]; from < half[1]; from += 200 {
				if r := session.Insert(a.ctx, a.batch(from, min(from+200, half[1]))); r.Outcome != history.Committed {
					a.t.Errorf("Insert: %+v, want committed", r)
				}
			}
		})
	}
	all.Wait()
	if err := errors.Join(a.store.Settle(a.ctx), a.store.FinishLoad(a.ctx)); err != nil {
		a.t.Fatalf("Settle, FinishLoad: %v", err)
	}
}

func (a *tape) testNothing() {
	a.findNothing()
	a.readNothing(readCandles(a.store))
	a.describe()
}

func (a *tape) testCreate() {
	a.create("")
	a.fill(10)
	a.mustFind(candleMark("run-1"), 10)
	if err := a.store.Create(a.ctx, candleMark("run-2"), ""); err != nil {
		a.t.Fatalf("Create again: %v", err)
	}
	a.mustFind(candleMark("run-2"), 0)
	a.drop()
}

// testEngines has every engine hold rows, and one that does not exist refused
// before anything is touched.
func (a *tape) testEngines() {
	engines, err := a.store.Engines(a.ctx)
	if err != nil || len(engines) == 0 {
		a.t.Fatalf("Engines: %v, %v", engines, err)
	}
	tried := engines
	if a.h.Engines != nil {
		tried = append([]string{engines[0]}, a.h.Engines...)
	}
	for _, engine := range tried {
		a.create(engine)
		a.fill(300)
		rows := map[int64]bool{}
		err := a.store.Read(a.ctx, func(c candles.Candle) error {
			rows[c.ID] = c == a.generator.Candle(c.ID)
			return nil
		})
		if err != nil || len(rows) != 300 || slices.Contains(values(rows), false) {
			a.t.Errorf("%s: %d rows, %v; want 300 as they were written", engine, len(rows), err)
		}
		if size, _ := a.size(); size.Bytes == 0 {
			a.t.Errorf("%s: Size: %+v", engine, size)
		}
	}
	err = a.store.Create(a.ctx, candleMark("run-3"), "no such engine")
	var refused *workload.OptionError
	if !errors.As(err, &refused) || refused.Want == "" {
		a.t.Errorf("an engine that does not exist: %v; want *workload.OptionError", err)
	}
	if remains, err := a.store.Find(a.ctx); err != nil || remains == nil || remains.Rows != 300 {
		a.t.Errorf("after a refused engine: %+v, %v; want what was there", remains, err)
	}
}

func values(m map[int64]bool) (all []bool) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// testQueries compares every answer row by row.
func (a *tape) testQueries() {
	a.create("")
	a.fill(a.config.Candles)
	session := a.session()
	first, last := a.generator.Candle(0).Moment, a.generator.Candle(a.config.Candles-1).Moment
	for _, span := range [][2]int64{{first, last + 1}, {first, last}, {first + 1, last}, {last, first}, {first, first + 1}, {first + (last-first)/3, first + (last-first)/2}} {
		a.same("span", span, session.Span, func(c *candles.Candle) bool { return c.Moment >= span[0] && c.Moment < span[1] })
		for k := range int64(a.config.Tickers) {
			ticker := a.generator.Ticker(k)
			a.same("interval", span, func(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
				return session.Interval(ctx, ticker, from, to, row)
			}, func(c *candles.Candle) bool { return c.Ticker == ticker && c.Moment >= span[0] && c.Moment < span[1] })
		}
	}
	for _, limit := range []int{1, 17, 10_000} {
		var got []int64
		ticker := a.generator.Ticker(3)
		reply := session.Latest(a.ctx, ticker, limit, func(c *candles.Candle) { got = append(got, c.ID) })
		var want []int64
		for n := a.config.Candles - 1; n >= 0 && len(want) < limit; n-- {
			if a.generator.Candle(n).Ticker == ticker {
				want = append(want, n)
			}
		}
		if reply.Outcome != history.Committed || !slices.Equal(got, want) {
			a.t.Errorf("the last %d: %+v with %d rows, want %d, the last first", limit, reply, len(got), len(want))
		}
	}
	if r := session.Latest(a.ctx, "NONE", 5, func(*candles.Candle) { a.t.Error("a row of no ticker") }); r.Outcome != history.Committed {
		a.t.Errorf("the last of a ticker that does not exist: %+v, want committed", r)
	}
}

func (a *tape) same(name string, span [2]int64, ask func(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply, belongs func(*candles.Candle) bool) {
	a.t.Helper()
	var got, want candles.Tally
	for n := range a.config.Candles {
		if c := a.generator.Candle(n); belongs(&c) {
			want.Add(&c)
		}
	}
	if r := ask(a.ctx, span[0], span[1], got.Add); r.Outcome != history.Committed || got != want {
		a.t.Errorf("%s %v: %+v with %+v, want %+v", name, span, r, got, want)
	}
}

// testAgain inserts rows again.
func (a *tape) testAgain() {
	a.create("")
	a.fill(50)
	session := a.session()
	r := session.Insert(a.ctx, a.batch(40, 60))
	if a.h.Replaces && r.Outcome != history.Committed || !a.h.Replaces && r.Outcome == history.Committed {
		a.t.Errorf("rows that are there: %+v", r)
	}
	if r.Outcome == history.Failed {
		n := 0
		if err := a.store.Read(a.ctx, func(candles.Candle) error { n++; return nil }); err != nil || n != 50 {
			a.t.Errorf("after an insert that failed: %d rows, %v; want 50", n, err)
		}
	}
	if r.Broken {
		session = a.session()
	}
	if r := session.Insert(a.ctx, a.batch(100, 110)); r.Outcome != history.Committed {
		a.t.Errorf("the next insert: %+v", r)
	}
}

func (a *tape) testRead() {
	a.create("")
	a.fill(a.config.Candles)
	a.stopReading(readCandles(a.store), 2)
}

func (a *tape) testContextOver() {
	a.create("")
	a.fill(100)
	over, cancel := context.WithCancel(a.ctx)
	cancel()
	if r := a.session().Insert(over, a.batch(200, 210)); r.Outcome == history.Committed {
		a.t.Errorf("insert in a context that was over: %+v", r)
	}
	if r := a.session().Span(over, 0, 1<<62, func(*candles.Candle) {}); r.Outcome == history.Committed {
		a.t.Errorf("span in a context that was over: %+v", r)
	}
	brief, cancel := context.WithTimeout(a.ctx, time.Millisecond)
	defer cancel()
	if r := a.session().Insert(brief, a.batch(300, 1100)); r.Outcome != history.Committed && r.Class == "" {
		a.t.Errorf("an insert cut short has no class: %+v", r)
	}
	if err := a.store.Settle(a.ctx); err != nil {
		a.t.Errorf("Settle: %v", err)
	}
	if r := a.session().Insert(a.ctx, a.batch(1190, 1200)); r.Outcome != history.Committed {
		a.t.Errorf("the next insert: %+v", r)
	}
}

// testJudged does a whole run by the workload's own client.
func (a *tape) testJudged() {
	j := JudgeCandles(a.ctx, a.t, a.open(), a.config, tapeSeed)
	mustBeValid(a.t, j.Results)
	if j.Figures.Rows != a.config.Candles || len(j.Figures.Rounds) != 7 {
		a.t.Errorf("%+v", j.Figures)
	}
}

func (a *tape) testForeign() {
	a.foreign(func(s candles.Store) error { return s.Create(a.ctx, candleMark("run-1"), "") })
}
