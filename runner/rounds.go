package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"assay/agents"
	"assay/history"
	"assay/load"
	"assay/measure"
	"assay/report"
)

// eventRound begins or ends a round; Detail is a measure.RoundScope, and the
// last one of a name holds.
const eventRound = "round"

// workRounds works the rounds one after the other. Each has clients of its own
// in the history, behind those of the rounds before.
func (r *run) workRounds(ctx context.Context, rounds []load.Round, recorder load.Recorder, now func() int64) (load.Stats, error) {
	var all load.Stats
	first, began := 0, int64(-1)
	for i, round := range rounds {
		r.options.Progress.Stage(fmt.Sprintf("round %d of %d: %s", i+1, len(rounds), round.Name))
		clients, err := r.roundClients(ctx, round)
		if err != nil && ctx.Err() != nil && i > 0 {
			all.Cut = true
			return all, markCut(recorder, now())
		}
		if err != nil {
			return all, r.interrupted(ctx, err, "preparing the first round, with all rows in")
		}
		scope := measure.RoundScope{Name: round.Name, First: first, Clients: round.Clients, Start: now(), Apart: round.Apart}
		if began < 0 {
			began = scope.Start
			if err := recorder.Mark(history.Event{At: began, Name: history.EventMeasureStart}); err != nil {
				closeAll(clients)
				return all, err
			}
		}
		r.options.Monitor.Clients(round.Clients)
		stats, err := r.workRound(ctx, round, scope, clients, recorder, now)
		all = agents.Joined(all, stats)
		if err != nil || stats.Cut {
			return all, err
		}
		first += round.Clients
	}
	all.MeasureStart, all.MeasureEnd = max(began, 0), now()
	return all, recorder.Mark(history.Event{At: all.MeasureEnd, Name: history.EventMeasureEnd})
}

func (r *run) workRound(ctx context.Context, round load.Round, scope measure.RoundScope, clients []load.Client,
	recorder load.Recorder, now func() int64) (load.Stats, error) {
	if err := markRound(recorder, scope); err != nil {
		closeAll(clients)
		return load.Stats{}, err
	}
	plan := r.scenario.Load
	plan.Clients, plan.Ops, plan.Warmup, plan.Duration = round.Clients, round.Ops, 0, 0
	plan.Rate, plan.Arrivals, plan.Ramp = 0, load.Closed, 0
	before := r.serverTime()
	stats, err := load.Run(ctx, plan, clients, &within{Recorder: recorder, offset: scope.First}, now)
	if err != nil {
		return stats, err
	}
	scope.End = now()
	scope.ServerSeconds = max(r.serverTime()-before, 0)
	if stats.Cut {
		err = markCut(recorder, scope.End)
	}
	if err != nil {
		return stats, err
	}
	return stats, markRound(recorder, scope)
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

// roundClients prepares a round and opens its sessions.
func (r *run) roundClients(ctx context.Context, round load.Round) ([]load.Client, error) {
	if round.Ready != nil {
		if err := round.Ready(ctx); err != nil {
			return nil, fmt.Errorf("round %s: %w", round.Name, err)
		}
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

// Mark implements load.Recorder.
func (w *within) Mark(history.Event) error { return nil }

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
