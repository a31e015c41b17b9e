package drivertest

import (
	"context"
	"fmt"
	"slices"

	"assay/history"
	"assay/store"
)

type view func(context.Context, func(store.Reader) error) error

// readAll reads the ledger's tables in one view and calls each after each row.
func (f *fixture) readAll(ctx context.Context, look view, each func() error) (*state, error) {
	s := &state{accounts: map[int64]account{}}
	err := store.ReadAll(ctx, look, func(r store.Reader) error {
		s.accounts, s.entries, s.records = map[int64]account{}, nil, nil
		record := func(r record) error {
			s.records = append(s.records, r)
			return each()
		}
		switch {
		case f.schema.Open:
			return f.readRecords(ctx, r, record)
		case !f.transfers():
			return store.Each(ctx, r, "record", recordColumns(), record)
		}
		if err := store.Each(ctx, r, "account", accountColumns(), func(a account) error {
			s.accounts[a.ID] = a
			return each()
		}, "id"); err != nil {
			return err
		}
		return store.Each(ctx, r, "entry", entryColumns(), func(e entry) error {
			s.entries = append(s.entries, e)
			return each()
		})
	})
	return s, err
}

// Statements by their index in clientStatements: for transfers, then for records.
const (
	moveStatement = iota
	enterStatement
	enterToldStatement
	balanceStatement
)

const (
	recordStatement = iota
	contentStatement
)

func (f *fixture) clientStatements() []store.Statement {
	switch {
	case f.schema.Open:
		return f.named([]store.Statement{f.native(recording(0, "")), f.native(lookup(0))})
	case !f.transfers():
		return f.named([]store.Statement{
			{Verb: store.Insert, Table: "record", Columns: recordColumns().Names},
			selecting("record", "content", store.Where("id")...),
		})
	}
	enter := store.Statement{Verb: store.Insert, Table: "entry", Columns: entryColumns().Names}
	told := enter
	enter.Values = []store.Expression{store.Parameter(1), store.Parameter(2), store.Parameter(3), store.Parameter(4),
		store.Left("account", "version", store.Parameter(2)), store.Left("account", "version", store.Parameter(3))}
	return f.named([]store.Statement{
		updating("account", "balance version", store.Where("id"), store.Add("balance", store.Parameter(2)), store.Add("version", store.Number(1))),
		enter, told,
		selecting("account", "balance", store.Where("id")...),
	})
}

// client writes transfers or records, each with a fresh id, and records every answer in the
// ledger. It replaces its session as the workloads' clients do. One goroutine uses it. Clients
// with an even number write transfers in batches, the others in interactive transactions.
type client struct {
	store.Connection[store.Session]
	f      *fixture
	number int64
	seq    int64
}

func (f *fixture) client(db store.Database, number int) *client {
	c := &client{Connection: store.Connection[store.Session]{Open: f.dial(db, f.clientStatements())}, f: f, number: int64(f.firstClient + number)}
	f.closing(c.Close)
	return c
}

func (c *client) mustConnect(ctx context.Context) store.Session {
	c.f.t.Helper()
	session, err := c.Session(ctx)
	c.f.must("Session", err)
	return session
}

func (c *client) next() sentWrite {
	c.seq++
	source, step := (c.number+c.seq)%accounts, 1+c.seq%(accounts-1)
	id := (c.number+1)<<32 | c.seq
	if !c.f.transfers() {
		return sentWrite{entry: entry{ID: id}, content: fmt.Sprintf("content of %d", id)}
	}
	return sentWrite{entry: entry{ID: id, Source: 1 + source, Destination: 1 + (source+step)%accounts, Amount: 1 + step}}
}

func (c *client) write(ctx context.Context) (id int64, reply store.Reply) {
	w := c.next()
	return w.ID, c.do(ctx, w)
}

func (c *client) insist(ctx context.Context) sentWrite {
	c.f.t.Helper()
	w := c.next()
	if r := c.repeat(ctx, w); r.Outcome != history.Committed {
		c.f.t.Fatalf("write %d: %+v, want committed", w.ID, r)
	}
	return w
}

func (c *client) repeat(ctx context.Context, w sentWrite) (r store.Reply) {
	retry(ctx, func() store.Reply {
		r = c.do(ctx, w)
		again := r
		again.Duplicate = r.Violated != store.NoViolation || keyThere(r) // nothing to repeat
		return again
	})
	return r
}

// keyThere reports whether a reply says that the key exists. For a user's command on
// documents only the class says so.
func keyThere(r store.Reply) bool {
	return r.Violated == store.Unique || r.Outcome == history.Failed && (r.Class == store.ClassDuplicateKey || r.Class == store.ClassDuplicate)
}

func (c *client) do(ctx context.Context, w sentWrite) (r store.Reply) {
	r = c.attempt(ctx, fmt.Sprintf("write %d", w.ID), func(session store.Session) store.Reply {
		switch {
		case c.f.transfers() && c.number%2 == 0:
			r, w.told = c.batch(ctx, session, w)
		case c.f.transfers():
			r, w.told = c.transaction(ctx, session, w)
		case c.seq%2 != 0:
			r = session.Run(ctx, store.Call{Statement: recordStatement, Parameters: c.f.recordParameters(w)})
		case c.f.schema.Open:
			parameters := c.f.recordParameters(w) // not in the work, which may outlive the attempt
			r = session.Transaction(ctx, true, func(ctx context.Context, tx store.Transaction) error {
				_, err := tx.Do(ctx, recordStatement, nil, parameters...)
				return err
			})
		default:
			r = session.Insert(ctx, store.RowsOf("record", recordColumns(), []record{{w.ID, w.content}}))
		}
		return r.Inserted()
	})
	w.outcome = r.Outcome
	c.f.ledger.record(w)
	return r
}

func (c *client) content(ctx context.Context, id int64) (found []string, r store.Reply) {
	with := with(id)
	if c.f.schema.Open {
		with = c.f.parameters(lookup(id))
	}
	r = c.attempt(ctx, "read", func(session store.Session) store.Reply {
		return session.Run(ctx, store.Call{Statement: contentStatement, Parameters: with, Row: func(row store.Row) error {
			values, err := row.AppendValues(nil)
			for _, v := range values {
				if d, is := v.(store.Document); is {
					v = d.Value("content")
				}
				found = append(found, fmt.Sprint(v))
			}
			return err
		}})
	})
	return found, r
}

func moved(a *left) func(store.Row) error {
	return func(r store.Row) error { return r.Scan(&a.balance, &a.version) }
}

func (c *client) batch(ctx context.Context, session store.Session, w sentWrite) (store.Reply, [2]left) {
	told := new([2]left)
	calls := []store.Call{
		{Statement: moveStatement, Parameters: with(w.Source, -w.Amount), Row: moved(&told[0])},
		{Statement: moveStatement, Parameters: with(w.Destination, w.Amount), Row: moved(&told[1])},
		{Statement: enterStatement, Parameters: with(w.ID, w.Source, w.Destination, w.Amount)},
	}
	if w.Destination < w.Source && !w.asAsked {
		calls[0], calls[1] = calls[1], calls[0]
	}
	r := session.Batch(ctx, &store.Batch{Calls: calls})
	if r.Outcome != history.Committed { // what comes late must not be read
		return r, [2]left{}
	}
	return r, *told
}

func (c *client) transaction(ctx context.Context, session store.Session, w sentWrite) (store.Reply, [2]left) {
	told := new([2]left)
	r := session.Transaction(ctx, true, func(ctx context.Context, tx store.Transaction) error {
		steps := []func() (int64, error){
			func() (int64, error) { return tx.Do(ctx, moveStatement, moved(&told[0]), with(w.Source, -w.Amount)...) },
			func() (int64, error) {
				return tx.Do(ctx, moveStatement, moved(&told[1]), with(w.Destination, w.Amount)...)
			},
		}
		if w.Destination < w.Source && !w.asAsked {
			slices.Reverse(steps)
		}
		_, err := steps[0]()
		if err == nil {
			_, err = steps[1]()
		}
		if err == nil {
			_, err = tx.Do(ctx, enterToldStatement, nil, with(w.ID, w.Source, w.Destination, w.Amount, told[0].version, told[1].version)...)
		}
		return err
	})
	if r.Outcome != history.Committed {
		return r, [2]left{}
	}
	return r, *told
}
