package cassandra

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"assay/history"
	"assay/workload/candles"
)

// Insert implements candles.Session by single inserts, many on their way at
// once, as Cassandra's documentation advises against batches over partitions.
// They are not one transaction.
func (n *candleSession) Insert(ctx context.Context, batch []candles.Candle) candles.Reply {
	var (
		all   errgroup.Group
		mu    sync.Mutex
		reply candles.Reply
		done  int
		none  = true // none of them can have an effect
	)
	all.SetLimit(candleWriters)
	insert := func(statement string, values []any) {
		all.Go(func() error {
			watched, sent := watching(ctx)
			err := n.store.session.Query(statement, values...).Consistency(n.store.consistency).ExecContext(watched)
			outcome := outcomeOf(err, sent.begun.Load())
			mu.Lock()
			defer mu.Unlock()
			none = none && outcome == history.Failed
			if outcome == history.Committed {
				done++
			} else if reply.Err == nil || outcome == history.Unknown {
				reply.Class, reply.Err = classOf(err), failed("insert", err)
			}
			return nil
		})
	}
	fields := candles.Columns().Fields
	for i := range batch {
		values := fields(&batch[i])
		insert(n.store.inserts[0], values)
		insert(n.store.inserts[1], append(values[:len(values):len(values)], batch[i].Moment/hourMicros))
	}
	_ = all.Wait() // none returns an error
	switch {
	case done == 2*len(batch):
		reply = candles.Reply{Outcome: history.Committed}
	case none:
		reply.Outcome = history.Failed
	default:
		n.store.unsure.Store(time.Now().UnixNano())
	}
	reply.Broken = reply.Outcome != history.Committed && broken(reply.Class)
	return reply
}

func (n *candleSession) Latest(ctx context.Context, ticker string, limit int, row func(*candles.Candle)) candles.Reply {
	return n.ask(ctx, "latest", row, n.store.latest, ticker, limit)
}

func (n *candleSession) Interval(ctx context.Context, ticker string, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.ask(ctx, "interval", row, n.store.interval, ticker, from, to)
}

// Span implements candles.Session: one query after the other for the hours
// that it touches.
func (n *candleSession) Span(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
	for hour := from / hourMicros; hour*hourMicros < to; hour++ {
		if r := n.ask(ctx, "span", row, n.store.span, hour, from, to); r.Outcome != history.Committed {
			return r
		}
	}
	return candles.Reply{Outcome: history.Committed}
}

// ask runs one query, whose pages gocql asks for one after the other.
func (n *candleSession) ask(ctx context.Context, doing string, row func(*candles.Candle), statement string, values ...any) candles.Reply {
	var c candles.Candle
	fields := candles.Columns().Fields(&c)
	iter := n.store.session.Query(statement, values...).Consistency(n.store.reads).IterContext(ctx)
	for iter.Scan(fields...) {
		row(&c)
	}
	if err := iter.Close(); err != nil {
		return unread(failed(doing, err))
	}
	return candles.Reply{Outcome: history.Committed}
}
