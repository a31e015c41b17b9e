package candles

import (
	"context"
	"errors"
	"slices"
	"testing"

	"assay/driver/mem"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// opened is an empty table in memory.
func opened(t *testing.T) store.Database {
	t.Helper()
	db, err := mem.Open(t.Context(), store.Target{Address: "mem://"}, Schema())
	expect.NoError(t, err)
	expect.NoError(t, db.Create(t.Context(), store.Marker{}))
	return db
}

// TestQueries compares every answer with the candles that were written.
func TestQueries(t *testing.T) {
	s := opened(t)
	config := Defaults()
	config.Candles, config.Tickers, config.Days = 1203, 5, 3
	q := queries{NewGenerator(config, 7), config}
	var written []Candle
	for n := range config.Candles {
		written = append(written, q.Candle(n))
	}
	session, err := s.Session(t.Context(), statements())
	expect.NoError(t, err)
	defer session.Close()
	if r := Insert(t.Context(), session, written); r.Outcome != history.Committed {
		t.Fatalf("%+v", r)
	}
	if r := Insert(t.Context(), session, written[:1]); r.Outcome != history.Failed || r.Class != store.ClassDuplicate {
		t.Errorf("what is there: %+v", r)
	}
	same := func(x query, want func(*Candle) bool) {
		t.Helper()
		var got, due Tally
		for i := range written {
			if want(&written[i]) {
				due.Add(&written[i])
			}
		}
		if r := q.ask(t.Context(), session, x, got.Add); r.Outcome != history.Committed || got != due {
			t.Errorf("%+v: %+v with %+v, want %+v", x, r, got, due)
		}
	}
	first, last := written[0].Moment, written[len(written)-1].Moment
	for _, span := range [][2]int64{{first, last + 1}, {first, last}, {first + 1, last}, {last, first}, {first, first + 1}, {first + (last-first)/3, first + (last-first)/2}} {
		within := func(c *Candle) bool { return c.Moment >= span[0] && c.Moment < span[1] }
		same(query{kind: KindDay, from: span[0], to: span[1]}, within)
		same(query{kind: KindInterval, ticker: 2, from: span[0], to: span[1]}, func(c *Candle) bool { return c.Ticker == q.Ticker(2) && within(c) })
	}
	for ticker, limit := range map[int64]int{1: 1, 2: 17, 3: 10_000, 99: 5} {
		var got, want []int64
		for _, c := range slices.Backward(written) {
			if c.Ticker == q.Ticker(ticker) && len(want) < limit {
				want = append(want, c.ID)
			}
		}
		r := q.ask(t.Context(), session, query{kind: KindLatest, ticker: ticker, limit: limit}, func(c *Candle) { got = append(got, c.ID) })
		if r.Outcome != history.Committed || !slices.Equal(got, want) {
			t.Errorf("the last %d of %d: %+v, %d rows; want %d, the last first", limit, ticker, r, len(got), len(want))
		}
	}
	var read []Candle
	err = store.ReadAll(t.Context(), s.View, func(r store.Reader) error {
		return store.Each(t.Context(), r, table, Columns(), func(c Candle) error { read = append(read, c); return nil })
	})
	slices.SortFunc(read, func(a, b Candle) int { return int(a.ID - b.ID) })
	if err != nil || !slices.Equal(read, written) {
		t.Errorf("%d candles were read, %v", len(read), err)
	}
}

// engines is a database with two of them.
type engines struct {
	store.Database
	engine string
	chosen bool
}

func (e *engines) Engines(context.Context) ([]string, error) {
	return []string{"InnoDB", "ROCKSDB"}, nil
}
func (e *engines) CreateOn(_ context.Context, _ store.Marker, engine string, chosen bool) error {
	e.engine, e.chosen = engine, chosen
	return nil
}

// TestEngines takes one as the database spells it, and refuses one that does not exist.
func TestEngines(t *testing.T) {
	for given, want := range map[string]string{"": "InnoDB", "rocksdb": "ROCKSDB", "InnoDB": "InnoDB", "zstd": ""} {
		config, db := small(), &engines{}
		config.Engine = given
		w, err := newWork(t.Context(), db, config, storySeed, 1)
		var refused *store.OptionError
		if errors.As(err, &refused) != (want == "") || err != nil && want != "" {
			t.Errorf("%q: %v", given, err)
		}
		if err != nil {
			continue
		}
		if err := w.Create(t.Context(), store.Marker{}); err != nil || db.engine != want || db.chosen != (given != "") {
			t.Errorf("%q: made %q, chosen %v: %v", given, db.engine, db.chosen, err)
		}
	}
}
