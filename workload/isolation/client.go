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

// ClassTooLong says that the transaction was acknowledged and that what it
// read is longer than a record can be, so that nobody will know what it
// read. Lists get shorter with more --keys or a lower --per-key.
const ClassTooLong = "lists too long to record"

// client is one client of the run. Its transactions are those of its number.
type client struct {
	store.Connection[*Session]
	transactions *Transactions
	pace         *Pace
	number       int
	ops          []Op
	values       []int64
	// moments are the moments of the last transaction that committed.
	moments []int64
}

// Attempt implements load.Client. Each attempt is a transaction of its own,
// with elements of its own.
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
		// No driver may say so: there is no rule that could refuse a
		// transaction of this workload.
		reply = store.Reply{Class: reply.Class, Err: errors.Join(errors.New("isolation: rejected by the driver"), reply.Err)}
	}
	return reply
}

// FileState is the name of the saved lists and registers in a run's folder.
const FileState = "isolation.bin"

// Work is the workload opened on one database: what a run does with it, phase
// by phase.
type Work struct {
	definition.Empty
	definition.NoObservers
	transactions *Transactions
	pace         Pace
}

// NewWork returns the work of this configuration and seed on a database, which it
// owns from then on. It returns Config.Validate's error.
func NewWork(db store.Database, config Config, seed uint64) (*Work, error) {
	transactions, err := NewTransactions(config, seed)
	if err != nil {
		return nil, err
	}
	return &Work{Empty: definition.Empty{Database: db}, transactions: transactions}, nil
}

// Promise implements definition.Work.
func (w *Work) Promise() string { return w.Database.Promises().Model }

// Client opens a session for client number n. All clients of a run share one pace.
func (w *Work) Client(ctx context.Context, n int) (load.Client, error) {
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

func (w *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return save(filepath.Join(folder, FileState), read, func(list func(key int64, elements []int64) error, register func(key, value int64) error) error {
		return Read(ctx, w.Database, list, register)
	})
}
