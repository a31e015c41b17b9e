package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"assay/catalog"
	"assay/check"
	"assay/measure"
	"assay/report"
	"assay/workload/candles"
)

func candlesKind() kind {
	return kind{
		validate: func(s Scenario) error { return errors.Join(s.Candles.Validate(), candles.CheckPlan(s.Load)) },
		strip:    func(s *Scenario) { s.Candles = candles.Config{} },
		open:     openCandles,
		counts:   func(uint8) bool { return true },
		options:  func(s Scenario) []report.Setting { return candleOptions(s.Candles) },
		judge:    judgeCandles, stateFile: candles.FileState,
		// Rounds of a known number of operations, each faster than the one
		// before as caches fill.
		limit: func(l *measure.Limits) { l.NoSteadyState = true },
	}
}

func openCandles(ctx context.Context, driver catalog.Driver, s Scenario, address string) (work, error) {
	return openOn(ctx, s, target(s, address), driver.Support(candles.Name), func(store candles.Store) (*candles.Work, error) {
		return candles.NewWork(ctx, store, s.Candles, s.Load.Seed, s.Load.Clients)
	})
}

func candleOptions(c candles.Config) []report.Setting {
	return []report.Setting{
		{Name: "engine", Value: cmp.Or(c.Engine, "the database's own choice")},
		{Name: "candles", Value: strconv.FormatInt(c.Candles, 10)},
		{Name: "tickers", Value: strconv.Itoa(c.Tickers)},
		{Name: "days", Value: strconv.Itoa(c.Days)},
		{Name: "loaders", Value: strconv.Itoa(c.Loaders)},
		{Name: "batch", Value: strconv.Itoa(c.Batch)},
		{Name: "quick queries", Value: fmt.Sprintf("%d, each of the last %d of a ticker", c.Queries, c.Latest)},
		{Name: "interval queries", Value: check.Counted(c.Intervals, "interval", "intervals") + ", " + check.Counted(c.Repeats, "time", "times") + " each"},
	}
}

func judgeCandles(_ context.Context, folder string, s Scenario, promise, inFlight string) (judgement, error) {
	j, err := candles.Judge(s.Candles, s.Load.Seed, candles.Evidence{
		History: filepath.Join(folder, FileHistory), State: filepath.Join(folder, candles.FileState), Promise: promise, InFlight: inFlight,
	})
	if err != nil {
		return judgement{}, err
	}
	out := judgement{results: j.Results, notes: candleNotes(s.Candles, j.Figures), counted: j.Figures.Outcomes, facts: map[string][]report.Setting{}, rates: map[string]float64{}}
	for name, r := range j.Figures.Rounds {
		out.facts[name] = candleFacts(r)
		if r.Nanos > 0 {
			out.rates[name] = float64(r.Rows) * 1e9 / float64(r.Nanos)
		}
	}
	return out, nil
}

func candleFacts(r candles.RoundFigures) []report.Setting {
	facts := []report.Setting{{Name: "rows", Value: strconv.FormatInt(r.Rows, 10)}}
	if r.Nanos > 0 {
		facts = append(facts, report.Setting{Name: "rows/s", Value: strconv.FormatFloat(float64(r.Rows)*1e9/float64(r.Nanos), 'f', 0, 64)})
	}
	if r.Bytes > 0 {
		facts = append(facts, report.Setting{Name: "bytes", Value: strconv.FormatInt(r.Bytes, 10)})
	}
	if r.Answers > 0 {
		facts = append(facts, report.Setting{Name: "mean µs", Value: strconv.FormatFloat(float64(r.Busy)/1e3/float64(r.Answers), 'f', 0, 64)})
	}
	return facts
}

func candleNotes(c candles.Config, f candles.Figures) []string {
	var notes []string
	if raw := float64(f.RawBytes); raw > 0 && f.Size.Bytes > 0 {
		note := fmt.Sprintf("%s of %s of bare values (%.0f each) take %s", check.Counted(f.Rows, "candle", "candles"),
			check.Counted(f.RawBytes, "byte", "bytes"), raw/float64(f.Rows), check.Counted(f.Size.Bytes, "byte", "bytes"))
		if f.Size.Indexes > 0 {
			note += fmt.Sprintf(": %s of data (raw / data %.2f) and %s of indexes", check.Count(f.Size.Tables), raw/float64(max(f.Size.Tables, 1)), check.Count(f.Size.Indexes))
		}
		notes = append(notes, note+fmt.Sprintf("; raw / all %.2f", raw/float64(f.Size.Bytes)))
	}
	if c.Cold && !f.Cold {
		notes = append(notes, "--cold could not be done, so that the first rounds of queries are called first and not cold: it takes the right to write "+
			"/proc/sys/vm/drop_caches, and a database in this process or one server that --cluster has started")
	}
	return notes
}

// restartable is a workload that wants its servers restarted between rounds.
type restartable interface {
	RestartWith(restart func(ctx context.Context, meanwhile func() error) error)
}

// offerRestart lets the workload restart the server, if there is one and it is
// the run's own. A cluster of several would elect or lose its quorum.
func (r *run) offerRestart() {
	store := r.store
	if b, is := store.(*bounded); is {
		store = b.work
	}
	w, wants := store.(restartable)
	if !wants || r.cluster == nil || len(r.cluster.Nodes()) != 1 {
		return
	}
	node := r.cluster.Nodes()[0]
	w.RestartWith(func(ctx context.Context, meanwhile func() error) error {
		if err := node.Stop(ctx); err != nil {
			return err
		}
		if err := errors.Join(meanwhile(), node.Start(ctx)); err != nil {
			return err
		}
		return r.cluster.Settled(ctx)
	})
}
