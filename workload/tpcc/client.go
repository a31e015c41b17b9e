package tpcc

import (
	"context"
	"math"
	"time"

	"assay/load"
	"assay/store"
	"assay/workload"
)

type client struct {
	store.Connection[*session]
	inputs *Inputs
	number int
	// unsure is true if an earlier attempt of the operation ended unknown.
	unsure bool
	deck   deck
}

// thinking is a client that waits like a person at a terminal.
type thinking struct{ *client }

func (c *client) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	if attempt == 1 {
		c.unsure = false
	}
	kind := c.deck.kind(c.inputs, c.number, seq)
	session, err := c.Session(ctx)
	if err != nil {
		unsent := store.Unsent(err)
		return unsent.Answer(kind)
	}
	reply := c.do(ctx, session, kind, OperationID(c.number, seq))
	answer := reply.Answer(kind)
	answer.Values = reply.Values
	c.unsure = reply.Repeated(&answer, attempt, c.unsure)
	c.After(answer.Outcome, reply.Broken)
	return answer
}

// do makes its inputs anew: the session may go on with them after it has returned.
func (c *client) do(ctx context.Context, session *session, kind uint8, id int64) Reply {
	switch kind {
	case KindNewOrder:
		in := c.inputs.NewOrder(id)
		return session.NewOrder(ctx, &in)
	case KindPayment:
		in := c.inputs.Payment(id)
		return session.Payment(ctx, &in)
	case KindOrderStatus:
		in := c.inputs.OrderStatus(id)
		return session.OrderStatus(ctx, &in)
	case KindDelivery:
		in := c.inputs.Delivery(id)
		return session.Delivery(ctx, &in)
	default:
		in := c.inputs.StockLevel(id)
		return session.StockLevel(ctx, &in)
	}
}

// Think is the last operation's think time and the next one's keying time (clause 5.2.5.7).
func (t thinking) Think(seq uint64) time.Duration {
	keying := [...]int{KindNewOrder: 18, KindPayment: 3, KindOrderStatus: 2, KindDelivery: 2, KindStockLevel: 2}
	pause := time.Duration(keying[t.inputs.Kind(t.number, seq)]) * time.Second
	if seq > 0 {
		pause += t.inputs.thinkTime(t.number, seq-1)
	}
	return pause
}

// thinkTime follows an operation: exponential, at most ten times its mean (clause 5.2.5.4).
func (in *Inputs) thinkTime(client int, seq uint64) time.Duration {
	means := [...]float64{KindNewOrder: 12, KindPayment: 12, KindOrderStatus: 10, KindDelivery: 5, KindStockLevel: 5}
	r := workload.NewRandom(in.seed^thinkKey, uint64(OperationID(client, seq)))
	mean := means[in.Kind(client, seq)]
	return time.Duration(min(-math.Log(1-r.Float())*mean, 10*mean) * float64(time.Second))
}
