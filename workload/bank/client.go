package bank

import (
	"context"

	"assay/history"
	"assay/load"
	"assay/workload"
)

// KindTransfer is the history.Op.Kind of a transfer. Its Values, where the
// attempt was acknowledged with them, are the source's balance and version and
// the destination's balance and version as the transaction left them.
const KindTransfer uint8 = 1

// client is one client of the run. Its transfers are those of its number.
type client struct {
	workload.Connection[Session]
	transfers *Transfers
	number    int
	recent    *recent
	values    [4]int64
	// unsure is true if an earlier attempt of the operation is unknown.
	unsure bool
}

var _ load.Client = (*client)(nil)

// newClient opens a session for client number n and returns the client.
func newClient(ctx context.Context, store Store, transfers *Transfers, r *recent, n int) (load.Client, error) {
	connection, err := workload.Connect(ctx, store.Session)
	if err != nil {
		return nil, err
	}
	return &client{Connection: connection, transfers: transfers, number: n, recent: r}, nil
}

// Attempt implements load.Client.
func (c *client) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	if attempt == 1 {
		c.unsure = false
		c.recent.began(c.number, seq)
	}
	session, err := c.Session(ctx)
	if err != nil {
		unsent := workload.Unsent(err)
		return unsent.Answer(KindTransfer)
	}
	reply := session.Transfer(ctx, c.transfers.At(TransferID(c.number, seq)))
	answer := reply.Answer(KindTransfer)
	if reply.Outcome == history.Committed {
		c.values = [4]int64{reply.Source.Balance, reply.Source.Version, reply.Destination.Balance, reply.Destination.Version}
		answer.Values = c.values[:]
	}
	c.unsure = reply.Repeated(&answer, attempt, c.unsure)
	c.After(answer.Outcome, reply.Broken)
	return answer
}
