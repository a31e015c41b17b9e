package drivertest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/candles"
)

// RunCandles tests everything that candles.Store promises. Its subtests run one
// after the other on one schema.
func RunCandles(t *testing.T, h Candles) {
	on := func(t *testing.T) *candlesFixture { return newCandles(t, h) }
	operations(t, on, []operation[*candlesFixture]{
		{"Queries", (*candlesFixture).testQueries},
		{"Engines", (*candlesFixture).testEngines},
		{"Again", (*candlesFixture).testAgain},
		{"ContextOver", (*candlesFixture).testContextOver},
		{"Judged", (*candlesFixture).testJudged},
	})
}

// candlesFixture is a fixture with the candles that are written to it.
type candlesFixture struct {
	*fixture[candles.Store]
	config    candles.Config
	generator *candles.Generator
	// written are the numbers of those that were acknowledged.
	written []int64
}

const candlesSeed = 7

func newCandles(t *testing.T, h Candles) *candlesFixture {
	t.Helper()
	c := candles.Defaults()
	c.Candles, c.Tickers, c.Days, c.Batch, c.Loaders = 1203, 5, 3, 100, 3
	c.Queries, c.Latest, c.Intervals, c.Repeats = 20, 17, 3, 4
	return &candlesFixture{fixture: newFixture(t, h, contents{workload: candles.Name, found: 5}), config: c, generator: candles.NewGenerator(c, candlesSeed)}
}

func (a *candlesFixture) create(store candles.Store, marker workload.Marker) error {
	a.written = nil
	return store.Create(a.ctx, marker, "")
}

func (a *candlesFixture) write(store candles.Store, number int) {
	session := sessionOf(a.fixture, store.Session)
	defer a.closeClients()
	first := 10 * int64(number)
	if r := session.Insert(a.ctx, a.batch(first, first+5)); r.Outcome != history.Committed {
		a.t.Fatalf("Insert: %+v, want committed", r)
	}
	for n := first; n < first+5; n++ {
		a.written = append(a.written, n)
	}
	a.must("FinishLoad", store.FinishLoad(a.ctx))
}

func (a *candlesFixture) read(store candles.Store) reading { return each(store.Read) }

// check settles and compares every row with what was written.
func (a *candlesFixture) check() {
	a.t.Helper()
	a.settle()
	var got []int64
	err := a.store.Read(a.ctx, func(c candles.Candle) error {
		if c != a.generator.Candle(c.ID) {
			a.t.Errorf("%+v was read, and not written so", c)
		}
		got = append(got, c.ID)
		return nil
	})
	slices.Sort(got)
	if err != nil || !slices.Equal(got, a.written) {
		a.t.Errorf("%d rows were read, %v; want %d", len(got), err, len(a.written))
	}
}

// mustCreate makes an empty table of this engine.
func (a *candlesFixture) mustCreate(engine string) {
	a.t.Helper()
	a.written = nil
	a.must("Create with engine "+strconv.Quote(engine), a.store.Create(a.ctx, a.marker("run-1"), engine))
}

func (a *candlesFixture) session() candles.Session {
	a.t.Helper()
	return sessionOf(a.fixture, a.store.Session)
}

func (a *candlesFixture) batch(from, to int64) (batch []candles.Candle) {
	for n := from; n < to; n++ {
		batch = append(batch, a.generator.Candle(n))
	}
	return batch
}

// fill writes these candles from two sessions at once.
func (a *candlesFixture) fill(to int64) {
	a.t.Helper()
	var all sync.WaitGroup
	for _, half := range [][2]int64{{0, to / 2}, {to / 2, to}} {
		session := a.session()
		all.Go(func() {
			for from := half[0]; from < half[1]; from += 200 {
				if r := session.Insert(a.ctx, a.batch(from, min(from+200, half[1]))); r.Outcome != history.Committed {
					a.t.Errorf("Insert: %+v, want committed", r)
				}
			}
		})
	}
	all.Wait()
	a.closeClients()
	for n := range to {
		a.written = append(a.written, n)
	}
	a.must("Settle, FinishLoad", errors.Join(a.store.Settle(a.ctx), a.store.FinishLoad(a.ctx)))
}

// testEngines has every engine hold rows, and one that does not exist refused
// before anything is touched.
func (a *candlesFixture) testEngines() {
	engines, err := a.store.Engines(a.ctx)
	if err != nil || len(engines) == 0 {
		a.t.Fatalf("Engines: %v, %v", engines, err)
	}
	tried := engines
	if a.harness.Engines != nil {
		tried = append([]string{engines[0]}, a.harness.Engines...)
	}
	for _, engine := range tried {
		a.mustCreate(engine)
		a.fill(300)
		a.check()
		if size, _ := a.size(); size.Bytes == 0 {
			a.t.Errorf("%s: Size: %+v", engine, size)
		}
	}
	err = a.store.Create(a.ctx, a.marker("run-3"), "no such engine")
	var refused *workload.OptionError
	if !errors.As(err, &refused) || refused.Want == "" {
		a.t.Errorf("an engine that does not exist: %v; want *workload.OptionError", err)
	}
	if remains, err := a.store.Find(a.ctx); err != nil || remains == nil || remains.Rows != 300 {
		a.t.Errorf("after a refused engine: %+v, %v; want what was there", remains, err)
	}
}

// testQueries compares every answer row by row.
func (a *candlesFixture) testQueries() {
	a.mustCreate("")
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

func (a *candlesFixture) same(name string, span [2]int64, ask func(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply, belongs func(*candles.Candle) bool) {
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
func (a *candlesFixture) testAgain() {
	a.mustCreate("")
	a.fill(50)
	session := a.session()
	r := session.Insert(a.ctx, a.batch(40, 60))
	if a.harness.Replaces && r.Outcome != history.Committed || !a.harness.Replaces && r.Outcome == history.Committed {
		a.t.Errorf("rows that are there: %+v", r)
	}
	if r.Outcome == history.Failed {
		a.check()
	}
	if r.Broken {
		session = a.session()
	}
	if r := session.Insert(a.ctx, a.batch(100, 110)); r.Outcome != history.Committed {
		a.t.Errorf("the next insert: %+v", r)
	}
}

func (a *candlesFixture) testContextOver() {
	a.mustCreate("")
	a.fill(100)
	over := ended(a.ctx)
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
	a.wantNoError("Settle", a.store.Settle(a.ctx))
	if r := a.session().Insert(a.ctx, a.batch(1190, 1200)); r.Outcome != history.Committed {
		a.t.Errorf("the next insert: %+v", r)
	}
}

// testJudged does a whole run by the workload's own client.
func (a *candlesFixture) testJudged() {
	run := ShortRun{Workload: candles.Definition(), Config: &a.config, Seed: candlesSeed, Clients: 2, Each: 1, Attempts: 1}
	j, err := candles.Judge(a.config, candlesSeed, run.Evidence(a.ctx, a.t, a.open()))
	mustBeValid(a.t, j.Results)
	if err != nil || j.Figures.Rows != a.config.Candles || len(j.Figures.Rounds) != 7 {
		a.t.Errorf("%+v, %v", j.Figures, err)
	}
}
