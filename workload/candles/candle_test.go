package candles

import (
	"errors"
	"testing"

	"assay/load"
)

func small() Config {
	c := Defaults()
	c.Candles, c.Tickers, c.Days, c.Batch, c.Loaders = 1003, 7, 2, 50, 2
	c.Queries, c.Latest, c.Intervals, c.Repeats = 40, 12, 4, 5
	return c
}

// TestCandlesAreWhatTheySay: ids, tickers and moments follow the formula, a
// ticker has one candle a moment, and rows are as large as is said.
func TestCandlesAreWhatTheySay(t *testing.T) {
	config := small()
	g := NewGenerator(config, 3)
	type key struct {
		ticker string
		moment int64
	}
	seen := map[key]bool{}
	var tally Tally
	for n := range config.Candles {
		c := g.Candle(n)
		if again := g.Candle(n); c != again {
			t.Fatalf("candle %d is %+v and %+v", n, c, again)
		}
		if c.ID != n || c.Ticker != g.Ticker(n%7) || len(c.Ticker) != 4 || len(c.Note) > 255 || len(c.Feed) > 32 {
			t.Errorf("candle %d: %+v", n, c)
		}
		if c.Moment < firstDay() || c.Moment >= firstDay()+2*dayMicros || seen[key{c.Ticker, c.Moment}] {
			t.Errorf("candle %d of %s is at %d", n, c.Ticker, c.Moment)
		}
		if c.Low > min(c.Opening, c.Closing) || c.High < max(c.Opening, c.Closing) || c.Bid >= c.Ask || c.Volume <= 0 {
			t.Errorf("candle %d has prices that cannot be: %+v", n, c)
		}
		seen[key{c.Ticker, c.Moment}] = true
		tally.Add(&c)
	}
	if mean := tally.Bytes / tally.Rows; mean < 255 || mean > 285 {
		t.Errorf("a row has %d bytes, want about 270", mean)
	}
	if other := NewGenerator(config, 4).Candle(5); other == g.Candle(5) {
		t.Error("two seeds make the same candle")
	}
}

// TestHashSeesEveryField: whatever field changes, the hash does.
func TestHashSeesEveryField(t *testing.T) {
	c := NewGenerator(small(), 3).Candle(9)
	hash := c.Hash()
	for i, field := range Columns().Fields(&c) {
		before := c
		switch field := field.(type) {
		case *int64:
			*field++
		case *string:
			*field += "x"
		}
		if c == before || c.Hash() == hash {
			t.Errorf("the hash does not see %s", Columns().Names[i])
		}
		c = before
	}
	if c.Ticker, c.Market = "AB", "C"; c.Hash() == func() uint64 { c.Ticker, c.Market = "A", "BC"; return c.Hash() }() {
		t.Error("the hash does not see where one text ends")
	}
}

// TestQueriesAgreeWithALookAtEveryCandle holds the formulas of the queries
// against the plain definition.
func TestQueriesAgreeWithALookAtEveryCandle(t *testing.T) {
	config := small()
	q := queries{NewGenerator(config, 3), config}
	for _, kind := range []uint8{KindLatest, KindInterval, KindDay} {
		rows := int64(0)
		for task := range q.tasks(kind) {
			x := q.at(kind, task)
			if x != q.at(kind, task) || x.from >= x.to {
				t.Errorf("query %d of kind %d is %+v", task, kind, x)
			}
			var got, want Tally
			q.rows(x, func(n int64) bool {
				c := q.Candle(n)
				got.Add(&c)
				return x.limit == 0 || got.Rows < int64(x.limit)
			})
			for n := config.Candles - 1; n >= 0; n-- {
				c := q.Candle(n)
				if (x.ticker < 0 || c.Ticker == q.Ticker(x.ticker)) && c.Moment >= x.from && c.Moment < x.to &&
					(x.limit == 0 || want.Rows < int64(x.limit)) {
					want.Add(&c)
				}
			}
			if got != want {
				t.Errorf("query %+v: %+v by formula, %+v by looking", x, got, want)
			}
			rows += got.Rows
		}
		if rows == 0 {
			t.Errorf("no query of kind %d has rows", kind)
		}
	}
}

func TestPlan(t *testing.T) {
	p := LoadDefaults()
	if err := errors.Join(refused(p), p.Validate()); err != nil {
		t.Error(err)
	}
	if p.Rate = 5; refused(p) == nil {
		t.Error("a rate is taken")
	}
	p.Rate, p.Retry = 0, "failed"
	if refused(p) == nil {
		t.Error("repetitions are taken")
	}
}

// refused is why the workload cannot do a plan.
func refused(p load.Plan) error {
	c := Defaults()
	_, err := c.Plan(p)
	return err
}
