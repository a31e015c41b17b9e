package runner

import (
	"context"
	"fmt"

	"assay/history"
	"assay/load"
	"assay/measure"
	"assay/measure/servers"
	"assay/report"
	"assay/runner/agents"
	"assay/runner/nodes"
	"assay/runner/record"
	"assay/runner/work"
)

// conductor has rounds worked one after the other.
type conductor struct {
	progress Progress
	monitor  Monitor
	servers  *nodes.Nodes // nil for none of the run's own
}

func (r *run) conductor() conductor {
	return conductor{r.options.Progress, r.options.Monitor, r.system.Started}
}

// inRounds works the rounds one after the other. In the history, each round's clients are
// numbered after those of the rounds before. open prepares the n-th round, from 0, and returns
// its start; work returns its end. Either may say that the run is cut.
func (c conductor) inRounds(rounds []load.Round, recorder load.Recorder, open func(n int, round load.Round) (start int64, cut bool, err error),
	work func(round load.Round, scope measure.RoundScope) (end int64, cut bool, err error)) (began, ended int64, err error) {
	first := 0
	for i, round := range rounds {
		c.progress.Stage(fmt.Sprintf("round %d of %d: %s", i+1, len(rounds), round.Name))
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
			err = record.MarkRound(recorder, scope)
		}
		if err != nil {
			return began, ended, err
		}
		c.monitor.Clients(round.Clients)
		// Only of the run's own servers, with children that they have waited for.
		before := servers.ProcessTime(c.servers.Processes())
		if ended, cut, err = work(round, scope); err != nil {
			return began, ended, err
		}
		scope.End, scope.ServerSeconds = ended, max(servers.ProcessTime(c.servers.Processes())-before, 0)
		if err := record.MarkRound(recorder, scope); err != nil || cut {
			return began, ended, err
		}
		first += round.Clients
	}
	return began, ended, nil
}

func (r *run) workRounds(ctx context.Context, rounds []load.Round, recorder load.Recorder, now func() int64) (all load.Stats, err error) {
	var clients []load.Client
	defer func() { work.Close(clients) }()
	began, ended, err := r.conductor().inRounds(rounds, recorder, func(n int, round load.Round) (start int64, cut bool, err error) {
		clients, err = work.RoundSessions(ctx, round, r.scenario.ConnectTimeout, r.lease)
		switch {
		case err != nil && ctx.Err() != nil && n > 0:
			all.Cut = true
			return 0, true, work.MarkCut(recorder, now(), all)
		case err != nil:
			return 0, false, r.interrupted(ctx, err, "preparing the first round, with all rows in")
		}
		return now(), false, nil
	}, func(round load.Round, scope measure.RoundScope) (end int64, cut bool, err error) {
		ready := clients
		clients = nil // they are the engine's to close
		stats, err := load.Run(ctx, work.PlanOfRound(r.scenario.Load, round.Clients, round.Ops), ready, &work.Within{Recorder: recorder, Offset: scope.First}, now)
		all = agents.Joined(all, stats)
		if err == nil && stats.Cut {
			err = work.MarkCut(recorder, now(), stats)
		}
		return work.EndOfRound(stats, scope.Start), stats.Cut, err
	})
	if err != nil || all.Cut {
		return all, err
	}
	all.MeasureStart, all.MeasureEnd = began, ended
	return all, recorder.Mark(history.Event{At: all.MeasureEnd, Name: history.EventMeasureEnd})
}

// enterPlan replaces the plan's length by the names of the rounds.
func enterPlan(l *report.Load, rounds []load.Round) {
	l.WarmupSeconds, l.DurationSeconds, l.Ops = 0, 0, 0
	for _, round := range rounds {
		l.Rounds = append(l.Rounds, round.Name)
	}
}
