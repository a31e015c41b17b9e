package mongodb

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/history"
	"assay/store"
)

// Classes of what a constraint has refused.
const (
	classFloor  = "less than a column may hold"
	classAbsent = "a row is missing"
)

// session is a store.Session. Without transactions it goes over the client that all
// sessions share, and has nothing of its own to be replaced.
type session struct {
	// transactor is nil without transactions.
	*transactor
	// causal is what all that is done without transactions belongs to; nil unless sessions are
	// to be causally consistent.
	causal *mongo.Session
	db     *database
	in     *mongo.Database
	plans  []*plan
	// keep is true if a statement refers to what an earlier one has left.
	keep   bool
	values values
	// refused is how the attempt that is under way was refused.
	refused refused
}

// refused is what is known of a refusal beside the reply.
type refused struct {
	by store.Violation
	// inserted is true if the statement that failed was to insert rows.
	inserted bool
	in       *mongo.Collection
	// found is what the inquiry has found in the journal, say, and not known to stay.
	found bson.D
}

func (s *session) Close() {
	if s.transactor != nil {
		s.transactor.Close()
	}
	if s.causal != nil {
		s.causal.EndSession(context.Background()) // no transaction is open: nothing is sent
	}
}

// alone are the steps of a statement that is in no transaction.
func (s *session) alone(ctx context.Context) steps {
	sent := counting(ctx, s.causal)
	return steps{sent, sent, nil}
}

// Waiting implements store.Session. A statement that meets another transaction's write is
// refused at once ("Production Considerations", "In-progress Transactions and Write
// Conflicts"), so that there is no account of waits.
func (s *session) Waiting(context.Context) (waiting, known bool, err error) { return false, false, nil }

// Run implements store.Session. Where there are transactions it is one, but for a command,
// which not every transaction can have.
func (s *session) Run(ctx context.Context, call store.Call) store.Reply {
	if s.transactor != nil && s.plans[call.Statement].Verb != store.Native {
		return s.Batch(ctx, &store.Batch{Calls: []store.Call{call}})
	}
	s.refused = refused{}
	x := s.alone(ctx)
	changed, err := s.call(x, &call, false)
	if err == nil {
		return store.Reply{Outcome: history.Committed, Affected: changed}
	}
	p := s.plans[call.Statement]
	var r store.Reply
	switch end, own := errors.AsType[*endError](err); {
	case own:
		r = end.Reply
		if !p.ReadsOnly() {
			r.Outcome = history.Unknown // its row was given when it had been done
		}
	case p.ReadsOnly():
		r = withoutEffect(p.Name, err, x.sent.commands)
	case p.Verb == store.Native:
		r = judgeCommand(call.Parameters[0].Document, err, x.sent.commands)
	case p.Verb == store.Insert && p.Rows <= 1:
		r = judgeInsert(err, x.sent.commands)
	default:
		r = judgeUpdate(err, x.sent.commands, s.db.sharded, s.db.oneOf(&p.Statement))
	}
	return s.replied(r)
}

// oneOf reports whether a statement finds one row at the most, by the first column of the key.
func (d *database) oneOf(s *store.Statement) bool {
	t := d.of.Table(s.Table)
	return t != nil && t.Keys() == 1 && slices.ContainsFunc(s.Where, func(c store.Condition) bool { return c.Column == t.Key()[0] && c.Is == store.Equal })
}

// Learn implements store.Learner.
func (s *session) Learn(_ context.Context, statement store.Statement) (int, error) {
	plans, err := s.db.compile([]store.Statement{statement}, s.in)
	if err != nil {
		return 0, err
	}
	s.plans = append(s.plans, plans...)
	s.keep = s.keep || refersBack(&statement)
	return len(s.plans) - 1, nil
}

// replied is a reply with the constraint that has refused the attempt.
func (s *session) replied(r store.Reply) store.Reply {
	reply := r
	reply.Violated = s.refused.by
	if r.Duplicate {
		reply.Duplicate, reply.Violated = false, store.Unique
	}
	if r.Outcome != history.Failed {
		reply.Violated = store.NoViolation
	}
	return reply
}

// Insert implements store.Session, in the order of the rows.
func (s *session) Insert(ctx context.Context, rows store.Rows) store.Reply {
	return s.add(ctx, rows, true)
}

// Load implements store.Session, in any order.
func (s *session) Load(ctx context.Context, rows store.Rows) store.Reply {
	return s.add(ctx, rows, false)
}

// add inserts rows. Outside of a transaction they are not inserted together; of those in
// any order an error proves no effect only if nothing was sent.
func (s *session) add(ctx context.Context, rows store.Rows, ordered bool) store.Reply {
	s.refused = refused{}
	if s.transactor != nil {
		return s.transacted(ctx, func(x steps) error {
			_, err := s.db.insertInto(x, s.in, rows, ordered)
			return s.noted(err, true, s.db.layouts[rows.Table])
		})
	}
	x := s.alone(ctx)
	_, err := s.db.insertInto(x, s.in, rows, ordered)
	switch {
	case err == nil:
		return store.Reply{Outcome: history.Committed}
	case rows.Count == 1:
		return s.replied(judgeInsert(err, x.sent.commands))
	case ordered:
		return s.replied(judgeUpdate(err, x.sent.commands, s.db.sharded, false))
	default:
		return s.replied(unacknowledged("insert", err, x.sent.commands))
	}
}

// call does a statement, and holds it to the number of rows that are wanted.
func (s *session) call(x steps, c *store.Call, keep bool) (changed int64, err error) {
	p, rows := s.plans[c.Statement], 0
	s.values.parameters = c.Parameters
	use := c.Row
	if c.Want > 0 {
		use = func(row store.Row) error {
			rows++
			return c.Row(row)
		}
	}
	changed, err = p.do(x, &s.values, keep, use)
	if err == nil {
		err = p.wanted(c, rows)
	}
	return changed, s.noted(err, p.Verb == store.Insert, p.of)
}

// noted notes what an error says of a refusal, and is the error with which the attempt
// ends.
func (s *session) noted(err error, inserted bool, of *layout) error {
	if by, is := errors.AsType[refusal](err); is {
		s.refused.by = by.by
		class := classFloor
		if by.by == store.Absent {
			class = classAbsent
		}
		return ended(history.Failed, class, err)
	}
	if err != nil && of != nil {
		s.refused.inserted, s.refused.in = inserted, s.db.database.Collection(of.documents().Name)
	}
	return err
}

// Batch implements store.Session, statement by statement.
func (s *session) Batch(ctx context.Context, b *store.Batch) store.Reply {
	if s.transactor == nil {
		return withoutTransactions()
	}
	s.refused, s.values.left = refused{}, s.values.left[:0]
	var affected int64
	reply := s.transacted(ctx, func(x steps) error {
		for i := range b.Calls {
			changed, err := s.call(x, &b.Calls[i], s.keep)
			affected += changed
			if err != nil && s.refused.by != store.NoViolation && b.Inquiry != nil {
				return s.inquire(x, b.Inquiry, err)
			}
			if err != nil {
				return failed(s.plans[b.Calls[i].Statement].Name, err)
			}
		}
		return nil
	})
	if reply.Outcome == history.Committed {
		reply.Affected = affected
	}
	return reply
}

// inquire makes the inquiry into a refusal in the same transaction, which sees what it
// has found itself refused by.
func (s *session) inquire(x steps, c *store.Call, why error) error {
	inquiry, by, rows := *c, s.refused.by, false
	inquiry.Row = func(row store.Row) error {
		rows = true
		return c.Row(row)
	}
	if _, err := s.call(x, &inquiry, false); err != nil {
		s.refused.by = store.NoViolation
		return failed("inquire into a refusal", err)
	}
	s.refused.by = by
	if p := s.plans[c.Statement]; rows {
		if filter, is := p.key(&s.values); is {
			s.refused.found, s.refused.in = filter, s.db.database.Collection(p.of.documents().Name)
		}
	}
	return why
}

func withoutTransactions() store.Reply {
	return store.Reply{Outcome: history.Failed, Class: store.ClassOther,
		Err: errors.New("mongodb: the schema was opened without transactions")}
}

// transacted is transact, and confirms what the reply rests on: a row that is there
// already may be one that a failover will take back.
func (s *session) transacted(ctx context.Context, work func(steps) error) store.Reply {
	r := s.transact(ctx, work)
	switch {
	case r.Outcome != history.Failed:
	case s.refused.found != nil:
		duplicate := store.Reply{Outcome: history.Failed, Class: store.ClassDuplicate}
		if c := s.confirmed(ctx, s.refused.in, s.refused.found, duplicate); c.Duplicate {
			r.Confirmed = c.Confirmed
		} else {
			s.refused.by, r.Class, r.Err = store.NoViolation, c.Class, c.Err
		}
	case r.Class != store.ClassDuplicate:
	case s.refused.inserted:
		filter, told := duplicateKey(r.Err)
		if !told {
			r.Class = classUnconfirmed
			break
		}
		r = s.confirmed(ctx, s.refused.in, filter, r)
	default: // two transactions have made the row at the same time
		r.Class = store.ClassDuplicateKey
	}
	return s.replied(r)
}

// duplicateKey is the unique key that was there already, as the server tells it.
func duplicateKey(err error) (key bson.D, told bool) {
	var errs []mongo.WriteError
	if one := (mongo.WriteException{}); errors.As(err, &one) {
		errs = one.WriteErrors
	}
	i := slices.IndexFunc(errs, func(e mongo.WriteError) bool { return e.Code == codeDuplicateKey })
	if i < 0 {
		return nil, false
	}
	raw, told := errs[i].Raw.Lookup("keyValue").DocumentOK()
	return key, told && bson.Unmarshal(raw, &key) == nil && len(key) > 0
}

// Transaction implements store.Session. Before the commit everything that goes wrong is
// proof of no effect (judgeStatement), after it only the server's own words are
// (judgeCommit).
func (s *session) Transaction(ctx context.Context, _ bool, work func(context.Context, store.Transaction) error) store.Reply {
	if s.transactor == nil {
		return withoutTransactions()
	}
	s.refused, s.values.left = refused{}, s.values.left[:0]
	var own error
	reply := s.transacted(ctx, func(x steps) error {
		t := &transaction{session: s, steps: x}
		own = work(x.ctx, t)
		if t.failed != nil && (own == nil || !errors.Is(own, store.ErrRollback)) {
			return failed("do a statement", t.failed)
		}
		if own != nil { // not the session's fault
			return ended(history.Failed, classOf(own), own)
		}
		return nil
	})
	if own != nil {
		reply.Err = failed("do a transaction", own)
	}
	return reply
}

// transaction is a store.Transaction.
type transaction struct {
	*session
	steps
	// failed is the error of the statement that has failed.
	failed error
}

func (t *transaction) Do(_ context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (int64, error) {
	changed, err := t.call(t.steps, &store.Call{Statement: statement, Parameters: parameters, Row: row}, t.keep)
	if err != nil {
		t.failed = err
	}
	return changed, err
}
