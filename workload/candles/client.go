package candles

import (
	"context"
	"sync/atomic"

	"assay/history"
	"assay/load"
	"assay/workload"
)

// client is one client of one round. All of a round draw their tasks from one
// counter, so that the tasks begin in one order however many clients there are.
type client struct {
	work    *Work
	kind    uint8
	pass    int64
	next    *atomic.Int64
	session Session // nil after it broke
}

var _ load.Client = (*client)(nil)

// Attempt implements load.Client. Nothing is repeated in this workload (see
// CheckPlan), so that every attempt is a task.
func (c *client) Attempt(ctx context.Context, _ uint64, _ int) load.Answer {
	task := c.next.Add(1) - 1
	answer := load.Answer{Kind: c.kind, Values: []int64{task}}
	if c.kind != KindInsert {
		answer.Values = []int64{c.pass, task}
	}
	if c.session == nil {
		session, err := c.work.Store.Session(ctx)
		if err != nil { // nothing was sent
			answer.Outcome, answer.Class, answer.Disconnected = history.Failed, workload.ClassConnect, true
			return answer
		}
		c.session = session
	}
	var reply Reply
	if c.kind == KindInsert {
		reply = c.insert(ctx, task)
	} else {
		tally := new(Tally) // the session may keep it for longer than the call
		if reply = c.ask(ctx, task, tally); reply.Outcome == history.Committed {
			answer.Values = append(answer.Values, tally.Rows, int64(tally.Sum), tally.Bytes)
		} else {
			reply.Outcome = history.Failed
		}
	}
	answer.Outcome, answer.Class, answer.Disconnected = reply.Outcome, reply.Class, reply.Broken
	if reply.Broken || reply.Outcome == history.Unknown {
		c.Close()
	}
	return answer
}

func (c *client) insert(ctx context.Context, task int64) Reply {
	first, end := c.work.config.batch(task)
	batch := make([]Candle, 0, end-first)
	for n := first; n < end; n++ {
		batch = append(batch, c.work.queries.Candle(n))
	}
	reply := c.session.Insert(ctx, batch)
	if reply.Outcome == history.Rejected {
		// No driver may say so: there is no rule that could refuse a row.
		reply.Outcome = history.Unknown
	}
	return reply
}

func (c *client) ask(ctx context.Context, task int64, tally *Tally) Reply {
	q := c.work.queries.at(c.kind, task)
	switch c.kind {
	case KindLatest:
		return c.session.Latest(ctx, c.work.queries.Ticker(q.ticker), q.limit, tally.Add)
	case KindInterval:
		return c.session.Interval(ctx, c.work.queries.Ticker(q.ticker), q.from, q.to, tally.Add)
	default:
		return c.session.Span(ctx, q.from, q.to, tally.Add)
	}
}

// Close implements load.Client.
func (c *client) Close() {
	if c.session != nil {
		c.session.Close()
		c.session = nil
	}
}
