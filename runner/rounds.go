package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"assay/history"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/runner/agents"
)

// eventRound begins or ends a round; Detail is a measure.RoundScope, and the
// last one of a name holds.
const eventRound = "round"

// inRounds has the rounds worked one after the other. Each has clients of its own in the
// history, behind those of the rounds before. open prepares a round, the n-th from 0, and
// gives when it starts; work works it and gives when it ended. Either may say that the run is
// cut. It returns when the first round began and the last ended.
func (r *run) inRounds(rounds []load.Round, recorder load.Recorder, open func(n int, round load.Round) (start int64, cut bool, err error),
	work func(round load.Round, scope measure.RoundScope) (end int64, cut bool, err error)) (began, ended int64, err error) {
	first := 0
	for i, round := range rounds {
		r.options.Progress.Stage(fmt.Sprintf("round %d of %d: %s", i+1, len(rounds), round.Name))
		start, cut, err := open(i, round)
		if err != nil || cut {
			return began, ended, err
		}
		scope := measure.RoundScope{Name: round.Name, First: first, Clients: round.Clients, Start: start, Apart: round.Apart}
		if i == 0 {
			began = max(start, 0)
			err = recorder.Mark(history.Event{At: start, Name: history.EventMeasureStart})
		}
		if err == nil {
			err = markRound(recorder, scope)
		}
		if err != nil {
			return began, ended, err
		}
		r.options.Monitor.Clients(round.Clients)
		before := r.serverTime()
		if ended, cut, err = work(round, scope); err != nil {
			return began, ended, err
		}
		scope.End, scope.ServerSeconds = ended, max(r.serverTime()-before, 0)
		if err := markRound(recorder, scope); err != nil || cut {
			return began, ended, err
		}
		first += round.Clients
	}
	return began, ended, nil
}

// workRounds works the rounds in this process.
func (r *run) workRounds(ctx context.Context, rounds []load.Round, recorder load.Recorder, now func() int64) (all load.Stats, err error) {
	var clients []load.Client
	defer func() { closeAll(clients) }()
	began, _, err := r.inRounds(rounds, recorder, func(n int, round load.Round) (start int64, cut bool, err error) {
		clients, err = r.roundClients(ctx, round)
		switch {
		case err != nil && ctx.Err() != nil && n > 0:
			all.Cut = true
			return 0, true, markCut(recorder, now())
		case err != nil:
			return 0, false, r.interrupted(ctx, err, "preparing the first round, with all rows in")
		}
		return now(), false, nil
	}, func(round load.Round, scope measure.RoundScope) (end int64, cut bool, err error) {
		ready := clients
		clients = nil // they are the engine's to close
		stats, err := load.Run(ctx, planOfRound(r.scenario.Load, round.Clients, round.Ops), ready, &within{Recorder: recorder, offset: scope.First}, now)
		all = agents.Joined(all, stats)
		if end = now(); err == nil && stats.Cut {
			err = markCut(recorder, end)
		}
		return end, stats.Cut, err
	})
	if err != nil || all.Cut {
		return all, err
	}
	all.MeasureStart, all.MeasureEnd = began, now()
	return all, recorder.Mark(history.Event{At: all.MeasureEnd, Name: history.EventMeasureEnd})
}

// planOfRound is a load as so many clients of a round work it.
func planOfRound(p load.Plan, clients int, ops uint64) load.Plan {
	p.Clients, p.Ops, p.Warmup, p.Duration = clients, ops, 0, 0
	p.Rate, p.Arrivals, p.Ramp = 0, load.Closed, 0
	return p
}

func markCut(recorder load.Recorder, at int64) error {
	return recorder.Mark(history.Event{At: at, Name: history.EventCut, Detail: "it was ended before its time"})
}

func markRound(recorder load.Recorder, scope measure.RoundScope) error {
	text, err := json.Marshal(scope)
	if err != nil {
		return err
	}
	at := scope.Start
	if scope.End > 0 {
		at = scope.End
	}
	return recorder.Mark(history.Event{At: at, Name: eventRound, Detail: string(text)})
}

// readyRound prepares a round.
func readyRound(ctx context.Context, round load.Round) error {
	if round.Ready == nil {
		return nil
	}
	if err := round.Ready(ctx); err != nil {
		return fmt.Errorf("round %s: %w", round.Name, err)
	}
	return nil
}

// roundClients prepares a round and opens its sessions.
func (r *run) roundClients(ctx context.Context, round load.Round) ([]load.Client, error) {
	if err := readyRound(ctx, round); err != nil {
		return nil, err
	}
	clients, err := r.sessions(ctx, round.Clients, round.Client)
	if err != nil {
		return nil, fmt.Errorf("round %s: %w", round.Name, err)
	}
	return clients, nil
}

// within records clients under numbers behind those of others, such as of the
// rounds before, and leaves the marks of the run to the run.
type within struct {
	load.Recorder
	offset int
}

// Reserve implements load.Recorder.
func (w *within) Reserve(r history.Reservation) error {
	r.Client += w.offset
	return w.Recorder.Reserve(r)
}

// Record implements load.Recorder.
func (w *within) Record(op *history.Op) error {
	moved := *op
	moved.Client += w.offset
	return w.Recorder.Record(&moved)
}

// Mark implements load.Recorder: of the events the stalls alone are of whose clients they are.
func (w *within) Mark(e history.Event) error {
	if e.Name == history.EventStalled {
		return w.Recorder.Mark(e)
	}
	return nil
}

// roundReader finds the rounds of a history.
type roundReader struct{ scopes []measure.RoundScope }

func (r *roundReader) event(e history.Event) error {
	if e.Name != eventRound {
		return nil
	}
	var scope measure.RoundScope
	if err := json.Unmarshal([]byte(e.Detail), &scope); err != nil {
		return fmt.Errorf("the history's record of a round cannot be read: %w", err)
	}
	if scope.Clients < 0 || scope.Clients > load.MaxClients || scope.First < 0 || scope.First > math.MaxInt32 {
		return fmt.Errorf("the history's record of round %s cannot be right", scope.Name)
	}
	i := slices.IndexFunc(r.scopes, func(old measure.RoundScope) bool { return old.Name == scope.Name })
	if i < 0 {
		r.scopes = append(r.scopes, scope)
	} else {
		r.scopes[i] = scope
	}
	return nil
}

// enterPlan enters what is to be worked instead of one stretch.
func enterPlan(l *report.Load, rounds []load.Round) {
	l.WarmupSeconds, l.DurationSeconds, l.Ops = 0, 0, 0
	for _, round := range rounds {
		l.Rounds = append(l.Rounds, round.Name)
	}
}

func enterRounds(r *report.Result, figures []measure.RoundFigures) {
	r.Rounds = nil
	for _, f := range figures {
		var facts []report.Setting
		if f.ServerSeconds > 0 {
			facts = append(facts, report.Setting{Name: "server CPU", Value: strconv.FormatFloat(f.ServerSeconds, 'f', 2, 64) + " s"})
		}
		r.Rounds = append(r.Rounds, report.Round{
			Facts: facts,
			Name:  f.Name, Clients: f.Clients, Apart: f.Apart, StartSecond: time.Duration(f.Start).Seconds(), Seconds: f.Seconds,
			Outcomes: f.Outcomes, PerSecond: f.PerSecond, Service: f.Service,
		})
	}
}
