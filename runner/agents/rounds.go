package agents

import (
	"context"
	"errors"
	"time"

	"assay/history"
)

var errStopped = errors.New("the run ends before its rounds are done")

// Stopped reports whether the error of a round only says that the run ends early.
func Stopped(err error) bool { return errors.Is(err, errStopped) }

// OpenRound has the agents prepare the n-th round, from 0, and waits until they are ready. After
// an error that is Stopped, no more rounds may be opened.
func (k *Coordinator) OpenRound(ctx context.Context, n int, name string) error {
	k.mu.Lock()
	k.round = round{Round: n + 1, RoundName: name}
	k.mu.Unlock()
	return k.awaitRound(ctx, func(m *member) bool { return m.RoundReady > n })
}

// WorkRound has the agents work the open round from a time of the coordinator's clock on, and
// returns when the last agent has ended it.
func (k *Coordinator) WorkRound(ctx context.Context, at int64) (end int64, err error) {
	k.mu.Lock()
	n := k.round.Round
	for _, m := range k.members {
		s := m.Rounds[n-1]
		for client := s.First; client < s.First+s.Clients && err == nil; client++ {
			err = k.kept.Reserve(history.Reservation{Client: client, UpTo: granted})
		}
	}
	k.round.RoundStart = at
	k.mu.Unlock()
	if err != nil {
		return 0, err
	}
	err = k.awaitRound(ctx, func(m *member) bool { return m.RoundEnded >= n })
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range k.members {
		if m.Lost == "" && m.RoundEnded == n {
			end = max(end, m.RoundEnd)
		}
	}
	return end, err
}

// EndRounds tells the agents that there are no more rounds. early stops a round under way.
func (k *Coordinator) EndRounds(early bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.round = round{Round: k.round.Round + 1}
	if early {
		k.order = orderStop
	}
}

// awaitRound waits until done holds for all agents that are not lost.
func (k *Coordinator) awaitRound(ctx context.Context, done func(m *member) bool) error {
	for {
		waiting, left := 0, 0
		k.mu.Lock()
		stopped := k.order == orderStop
		for _, m := range k.members {
			switch {
			case m.Lost != "":
				continue
			case done(m):
			case m.State == stateFailed || m.State == stateEnded || m.State == stateDelivered:
				stopped = true
			default:
				waiting++
			}
			left++
		}
		k.mu.Unlock()
		switch {
		case ctx.Err() != nil || stopped || left == 0:
			return errStopped
		case waiting == 0:
			return nil
		}
		sleep(ctx, readyEvery)
	}
}

// Rounds is an agent's view of a run's rounds.
type Rounds struct {
	of *agentRun
	n  int
}

// Rounds are the rounds of the recorder's run, in order.
func (r *Recorder) Rounds() *Rounds { return &Rounds{of: r.of} }

// Next waits for the next round, the n-th from 0. Its name is empty if there are no more.
func (r *Rounds) Next(ctx context.Context) (n int, name string, err error) {
	o, err := r.of.awaitRound(ctx, func(o order) bool { return o.Round > r.n })
	if err != nil || o.RoundName == "" {
		return 0, "", err
	}
	r.n = o.Round
	return r.n - 1, o.RoundName, nil
}

// Ready says that the agent is ready for the round, and waits for its start.
func (r *Rounds) Ready(ctx context.Context) error {
	r.of.change(func(p *agentRun) { p.rounds, p.RoundReady = true, r.n })
	o, err := r.of.awaitRound(ctx, func(o order) bool { return o.Round > r.n || o.Round == r.n && o.RoundStart > 0 })
	if err != nil {
		return err
	}
	if o.Round > r.n {
		return errStopped
	}
	if !sleep(ctx, StartSlack+time.Duration(o.RoundStart-r.of.offset()-r.of.options.Clock())) {
		return ctx.Err()
	}
	return nil
}

// Ended says that the agent has ended its part of the round, with its last operation at a time in
// nanoseconds since the start of the run.
func (r *Rounds) Ended(at int64) {
	r.of.change(func(p *agentRun) {
		p.rounds, p.RoundEnded, p.RoundEnd = true, r.n, p.options.Clock()-p.now()+at+p.best.Offset
	})
}

func (p *agentRun) awaitRound(ctx context.Context, wanted func(order) bool) (order, error) {
	for {
		select {
		case o := <-p.order:
			if wanted(o) {
				return o, nil
			}
		case <-ctx.Done():
			return order{}, ctx.Err()
		}
	}
}
