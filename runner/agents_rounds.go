package runner

import (
	"context"
	"errors"
	"fmt"

	"assay/history"
	"assay/load"
	"assay/measure"
	"assay/runner/agents"
	"assay/runner/work"
	"assay/workload/definition"
)

func (g *group) clientsOfRounds() (all []int) {
	rounds, _ := g.db.Rounds()
	for _, round := range rounds {
		all = append(all, round.Clients)
	}
	return all
}

// conductRounds has the agents work the rounds. A round begins when the last agent has ended
// the previous one.
func (g *group) conductRounds(ctx context.Context, rounds []load.Round, file *history.Writer, zero int64) (began, ended int64, err error) {
	defer func() {
		g.EndRounds(err != nil)
		if agents.Stopped(err) {
			err = nil // whoever ended the run says why
		}
	}()
	return g.inRounds(rounds, file, func(n int, round load.Round) (start int64, cut bool, err error) {
		if err = work.Ready(ctx, round); err == nil {
			err = g.OpenRound(ctx, n, round.Name)
		}
		return g.Now() + int64(agents.Lead) - zero, false, err
	}, func(round load.Round, scope measure.RoundScope) (end int64, cut bool, err error) {
		if round.Elsewhere != nil {
			round.Elsewhere(true)
			defer round.Elsewhere(false)
		}
		end, err = g.WorkRound(ctx, scope.Start+zero)
		if err != nil {
			return g.Now() - zero, false, err
		}
		return max(end-zero, scope.Start+1), false, nil
	})
}

func (j *job) workRounds(ctx context.Context, rec *agents.Recorder, now func() int64) (all load.Stats, err error) {
	told, began := rec.Rounds(), int64(-1)
	defer func() {
		all.MeasureStart, all.MeasureEnd = max(began, 0), now()
		if unwritten := (*history.WriteError)(nil); (ctx.Err() != nil || agents.Stopped(err)) && !errors.As(err, &unwritten) {
			all.Cut, err = true, nil
		}
	}()
	for {
		n, name, err := told.Next(ctx)
		if err != nil || name == "" {
			return all, err
		}
		round, before, err := j.round(n, name)
		if err != nil {
			return all, err
		}
		part := j.share.Rounds[n]
		stats, start, err := j.workRound(ctx, round, part, part.First-before, told, rec, now)
		if began < 0 {
			began = start
		}
		all = agents.Joined(all, stats)
		if err != nil || stats.Cut {
			return all, err
		}
	}
}

// round finds the n-th round, from 0, which the coordinator calls name. before is the number
// of clients in earlier rounds.
func (j *job) round(n int, name string) (round load.Round, before int, err error) {
	if f, is := j.store.Work.(definition.Following); is {
		f.Follow(name)
	}
	rounds, _ := j.store.Rounds()
	if n >= len(rounds) || n >= len(j.share.Rounds) || rounds[n].Name != name {
		return round, 0, fmt.Errorf("round %d is %s, which this agent does not have", n+1, name)
	}
	for _, earlier := range rounds[:n] {
		before += earlier.Clients
	}
	return rounds[n], before, nil
}

// workRound works the agent's part of a round. Its clients, of which there may be none, begin
// with number first of the round.
func (j *job) workRound(ctx context.Context, round load.Round, part agents.Span, first int, told *agents.Rounds, rec *agents.Recorder,
	now func() int64) (stats load.Stats, start int64, err error) {
	if round.Tasks != nil && part.Clients > 0 {
		round.Tasks.Only(first, part.Clients, round.Clients)
	}
	clients, err := work.Sessions(ctx, part.Clients, j.connect, j.lease, func(ctx context.Context, i int) (load.Client, error) {
		return round.Client(ctx, first+i)
	})
	if err != nil {
		return stats, now(), fmt.Errorf("round %s: %w", round.Name, err)
	}
	if err := told.Ready(ctx); err != nil {
		work.Close(clients)
		return stats, now(), err
	}
	start = now()
	plan := work.PlanOfRound(j.plan, part.Clients, load.PartOf(round.Ops, first, part.Clients, round.Clients))
	if plan.Ops > 0 {
		stats, err = load.Run(ctx, plan, clients, &work.Within{Recorder: rec, Offset: part.First}, now)
	} else {
		work.Close(clients)
	}
	if err == nil && !stats.Cut {
		told.Ended(work.EndOfRound(stats, start))
	}
	return stats, start, err
}
