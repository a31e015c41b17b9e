package isolation

import (
	"context"
	"errors"
	"path/filepath"

	"assay/history"
	"assay/load"
	"assay/store"
	"assay/workload/definition"
)

// ClassTooLong: the transaction committed, but its reads exceed a history record and are lost.
// More --keys or a lower --per-key make lists shorter.
const ClassTooLong = "lists too long to record"

type client struct {
	store.Connection[*Session]
	transactions *Transactions
	pace         *Pace
	number       int
	ops          []Op
	values       []int64
	// moments are of the last committed transaction.
	moments []int64
}

// Each attempt is a transaction of its own, with elements of its own.
func (c *client) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	window := c.pace.window(seq, c.transactions.config.PerKey)
	ops, ok := c.transactions.At(c.number, seq, attempt, window, c.ops)
	if !ok {
		return load.Answer{Outcome: history.Failed, Class: store.ClassBeyond}
	}
	c.ops = ops
	reply := c.do(ctx)
	answer := reply.Answer(kindOf(ops))
	fits := false
	if reply.Outcome == history.Committed {
		if c.values, fits = Encode(c.values[:0], ops, true); !fits {
			answer.Outcome, answer.Class = history.Unknown, ClassTooLong
		}
	}
	if !fits {
		c.values, _ = Encode(c.values[:0], ops, false)
	}
	if n := len(c.moments); fits && len(c.values)+2+n <= history.MaxValues {
		c.values = append(append(c.values, int64(moments), int64(n)), c.moments...)
	}
	answer.Values = c.values
	c.After(reply.Outcome, reply.Broken)
	return answer
}

func (c *client) do(ctx context.Context) store.Reply {
	session, err := c.Session(ctx)
	if err != nil {
		return store.Unsent(err)
	}
	reply := session.Do(ctx, c.ops)
	if reply.Outcome == history.Committed {
		c.moments = session.moments
	}
	if reply.Outcome == history.Rejected {
		// No rule of this workload can reject a transaction, so a driver must not say so.
		reply = store.Reply{Class: reply.Class, Err: errors.Join(errors.New("isolation: rejected by the driver"), reply.Err)}
	}
	return reply
}

// FileState is the saved state's name in a run's folder.
const FileState = "isolation.bin"

type work struct {
	definition.Empty
	definition.NoObservers
	transactions *Transactions
	pace         Pace
}

func (c *Config) Open(_ context.Context, db store.Database, seed uint64, _ int) (definition.Work, error) {
	return &work{Empty: definition.Empty{Database: db}, transactions: NewTransactions(*c, seed)}, nil
}

func (w *work) Promise() string { return w.Database.Promises().Model }

// Client opens a session for client n. All clients share one pace.
func (w *work) Client(ctx context.Context, n int) (load.Client, error) {
	connection, err := store.Connect(ctx, func(ctx context.Context) (*Session, error) {
		s, err := Open(ctx, w.Database)
		if err == nil {
			s.AtPrimary = w.transactions.config.Read != "" && n%2 == 1 // so that the order of commits is seen there and elsewhere
		}
		return s, err
	})
	if err != nil {
		return nil, err
	}
	return &client{Connection: connection, transactions: w.transactions, pace: &w.pace, number: n}, nil
}

func (w *work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return save(filepath.Join(folder, FileState), read, func(list func(key int64, elements []int64) error, register func(key, value int64) error) error {
		return Read(ctx, w.Database, list, register)
	})
}
