package bulkupdate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/store"
)

// sampler asks a server for its Waits at each round's begin and end, and in between for gauges.
// It is not safe for concurrent use.
type sampler struct {
	// ask is nil if the server tells nothing.
	ask    func(context.Context) ([]store.Wait, error)
	rounds []roundWaits
	// quit ends the sampling of the round, which closes done; both nil if none runs.
	quit, done chan struct{}
}

// roundWaits are one round's figures.
type roundWaits struct {
	Round   string `json:"round"`
	Workers int    `json:"workers"`
	// Seconds is from the first asking to the last.
	Seconds float64      `json:"seconds"`
	Waits   []waitFigure `json:"waits"`
	// Problem says why there are no waits.
	Problem string `json:"problem,omitempty"`
}

type waitFigure struct {
	Name string     `json:"name"`
	Unit store.Unit `json:"unit"`
	// Value is the growth, or the sum of a gauge's Samples.
	Value   int64 `json:"value"`
	Max     int64 `json:"max,omitempty"`
	Samples int64 `json:"samples,omitempty"`

	first int64
}

const sampleEvery = 200 * time.Millisecond

// askBound bounds an answer. No work is done meanwhile, so an overloaded server is not waited
// for.
const askBound = 5 * time.Second

// begin ends the last round and samples the next. Gauges count only while busy is above 0.
func (s *sampler) begin(ctx context.Context, round string, workers int, busy *atomic.Int64) {
	s.stop()
	s.rounds = append(s.rounds, roundWaits{Round: round, Workers: workers})
	r := &s.rounds[len(s.rounds)-1]
	start := time.Now()
	waits, err := s.asked(ctx)
	if err != nil || len(waits) == 0 {
		r.fail(err)
		return
	}
	for _, w := range waits {
		r.Waits = append(r.Waits, waitFigure{Name: w.Name, Unit: w.Unit, first: w.Value})
	}
	s.quit, s.done = make(chan struct{}), make(chan struct{})
	go s.sample(context.WithoutCancel(ctx), r, start, busy)
}

func (s *sampler) asked(ctx context.Context) ([]store.Wait, error) {
	if s.ask == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	return s.ask(ctx)
}

// sample asks until quit, and once more then.
func (s *sampler) sample(ctx context.Context, r *roundWaits, start time.Time, busy *atomic.Int64) {
	defer close(s.done)
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for last := false; !last; {
		select {
		case <-s.quit:
			last = true
		case <-tick.C:
		}
		waits, err := s.asked(ctx)
		if err == nil && len(waits) != len(r.Waits) {
			err = errors.New("it tells other figures than before")
		}
		if err != nil {
			if last {
				r.fail(err)
			}
			continue
		}
		r.add(waits, busy.Load() > 0)
	}
	r.Seconds = time.Since(start).Seconds()
}

func (r *roundWaits) add(waits []store.Wait, busy bool) {
	for i, w := range waits {
		f := &r.Waits[i]
		switch {
		case w.Unit != store.Gauge:
			f.Value = w.Value - f.first
		case busy:
			f.Value += w.Value
			f.Max = max(f.Max, w.Value)
			f.Samples++
		}
	}
}

func (r *roundWaits) fail(err error) {
	r.Waits = nil
	if err != nil {
		r.Problem = err.Error()
	}
}

// stop ends the sampling and waits for its end.
func (s *sampler) stop() {
	if s.quit != nil {
		close(s.quit)
		<-s.done
		s.quit, s.done = nil, nil
	}
}

// save saves all rounds' figures. Unlike rows, waits cannot be read again, so an empty sampler
// replaces no file.
func (s *sampler) save(path string) error {
	if len(s.rounds) == 0 {
		return nil
	}
	return history.WriteJSON(path, s.rounds)
}

func (f waitFigure) text(workers int, seconds float64) string {
	switch {
	case f.Unit == store.Gauge && f.Samples == 0:
		return "not seen"
	case f.Unit == store.Gauge:
		return fmt.Sprintf("%.1f, at most %d", float64(f.Value)/float64(f.Samples), f.Max)
	case f.Unit == store.Time && f.Value > 0 && seconds > 0 && workers > 0:
		return fmt.Sprintf("%s (%.1f %% of the workers' time)", span(f.Value), 100*float64(f.Value)/1e9/seconds/float64(workers))
	case f.Unit == store.Time:
		return span(f.Value)
	default:
		return strconv.FormatInt(f.Value, 10)
	}
}

func span(ns int64) string {
	if ns < int64(time.Second) {
		return fmt.Sprintf("%.3g ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.3g s", float64(ns)/1e9)
}
