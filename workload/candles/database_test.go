package candles_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"assay/driver/mem"
	"assay/history"
	"assay/workload"
	"assay/workload/candles"
)

// TestQueries compares every answer with the candles that were written.
func TestQueries(t *testing.T) {
	s, err := candles.Opener(mem.Open)(t.Context(), workload.Target{Address: "mem://"})
	if err != nil {
		t.Fatal(err)
	}
	config := candles.Defaults()
	config.Candles, config.Tickers, config.Days = 1203, 5, 3
	generator := candles.NewGenerator(config, 7)
	var written []candles.Candle
	for n := range config.Candles {
		written = append(written, generator.Candle(n))
	}
	if err := s.Create(t.Context(), workload.Marker{}, ""); err != nil {
		t.Fatal(err)
	}
	session, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if r := session.Insert(t.Context(), written); r.Outcome != history.Committed {
		t.Fatalf("%+v", r)
	}
	if r := session.Insert(t.Context(), written[:1]); r.Outcome != history.Failed || r.Class != workload.ClassDuplicate {
		t.Errorf("what is there: %+v", r)
	}
	same := func(what any, want func(*candles.Candle) bool, ask func(row func(*candles.Candle)) candles.Reply) {
		t.Helper()
		var got, due candles.Tally
		for i := range written {
			if want(&written[i]) {
				due.Add(&written[i])
			}
		}
		if r := ask(got.Add); r.Outcome != history.Committed || got != due {
			t.Errorf("%v: %+v with %+v, want %+v", what, r, got, due)
		}
	}
	first, last := written[0].Moment, written[len(written)-1].Moment
	for _, span := range [][2]int64{{first, last + 1}, {first, last}, {first + 1, last}, {last, first}, {first, first + 1}, {first + (last-first)/3, first + (last-first)/2}} {
		within := func(c *candles.Candle) bool { return c.Moment >= span[0] && c.Moment < span[1] }
		same(span, within, func(row func(*candles.Candle)) candles.Reply { return session.Span(t.Context(), span[0], span[1], row) })
		ticker := generator.Ticker(2)
		same(span, func(c *candles.Candle) bool { return c.Ticker == ticker && within(c) },
			func(row func(*candles.Candle)) candles.Reply {
				return session.Interval(t.Context(), ticker, span[0], span[1], row)
			})
	}
	for ticker, limit := range map[string]int{generator.Ticker(1): 1, generator.Ticker(2): 17, generator.Ticker(3): 10_000, "NONE": 5} {
		var got, want []int64
		for _, c := range slices.Backward(written) {
			if c.Ticker == ticker && len(want) < limit {
				want = append(want, c.ID)
			}
		}
		r := session.Latest(t.Context(), ticker, limit, func(c *candles.Candle) { got = append(got, c.ID) })
		if r.Outcome != history.Committed || !slices.Equal(got, want) {
			t.Errorf("the last %d of %s: %+v, %d rows; want %d, the last first", limit, ticker, r, len(got), len(want))
		}
	}
	var read []candles.Candle
	err = s.Read(t.Context(), func(c candles.Candle) error { read = append(read, c); return nil })
	slices.SortFunc(read, func(a, b candles.Candle) int { return int(a.ID - b.ID) })
	if err != nil || !slices.Equal(read, written) {
		t.Errorf("%d candles were read, %v", len(read), err)
	}
}

// TestEngines refuses one that does not exist before anything is touched.
func TestEngines(t *testing.T) {
	s, err := candles.Opener(mem.Open)(t.Context(), workload.Target{Address: "mem://"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), workload.Marker{Run: "first"}, ""); err != nil {
		t.Fatal(err)
	}
	var refused *workload.OptionError
	if err := s.Create(context.WithoutCancel(t.Context()), workload.Marker{Run: "second"}, "no such engine"); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	if mark, err := s.Marker(t.Context()); err != nil || mark == nil || mark.Run != "first" {
		t.Errorf("%+v, %v", mark, err)
	}
}
