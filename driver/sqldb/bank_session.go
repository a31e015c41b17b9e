package sqldb

import (
	"context"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// The statements of a session.
const (
	moveMoney = iota
	insertTransfer
	findTransfer
	readStates
)

// bankStatements are the statements. The journal row takes the versions from the
// accounts, which the transaction has locked by changing them; if one does not
// exist, its version is null and the row is refused.
func bankStatements(d *Dialect) []Statement {
	account, transfer := d.Table("account"), d.Table("transfer")
	version := "(SELECT version FROM " + account + " WHERE id = "
	statements := []Statement{
		moveMoney: {"move", "UPDATE " + account + " SET balance = balance + $2, version = version + 1 WHERE id = $1"},
		insertTransfer: {"journal", "INSERT INTO " + transfer + " (id, source, destination, amount, source_version, destination_version)" +
			" VALUES ($1, $2, $3, $4, " + version + "$2), " + version + "$3))"},
		findTransfer: {"find", "SELECT id FROM " + transfer + " WHERE id = $1"},
	}
	if d.Returning {
		statements[moveMoney].Text += " RETURNING balance, version"
		return statements
	}
	return append(statements, Statement{"states", "SELECT id, balance, version FROM " + account + " WHERE id IN ($1, $2)"})
}

// bankSession does transfers. All that a transfer needs is made once, since it is
// the work that is done most often.
type bankSession struct {
	connection    Connection
	batch         Batch
	lower, higher bank.State
	// found is whether the inquiry found the transfer in the journal.
	found bool
}

func (s *bankStore) Session(ctx context.Context) (bank.Session, error) {
	d := s.Dialect()
	c, err := s.Connect(ctx, bankStatements(d))
	if err != nil {
		return nil, err
	}
	n := &bankSession{connection: c}
	parameters := func(n int) []Value { return make([]Value, n) }
	lower := Call{Statement: moveMoney, Parameters: parameters(2)}
	higher := Call{Statement: moveMoney, Parameters: parameters(2)}
	journal := Call{Statement: insertTransfer, Parameters: parameters(4)}
	if d.Returning {
		lower.Row, higher.Row = scanState(&n.lower), scanState(&n.higher)
		n.batch.Calls = []Call{lower, higher, journal}
	} else {
		n.batch.Calls = []Call{lower, higher, journal, {Statement: readStates, Parameters: parameters(2), Row: n.state, Want: 2}}
	}
	n.batch.Inquiry = &Call{Statement: findTransfer, Parameters: parameters(1), Row: func(Row) error {
		n.found = true
		return nil
	}}
	return n, nil
}

// scanState scans the state of an account; without a row it stays as it is.
func scanState(s *bank.State) func(Row) error {
	into := []any{&s.Balance, &s.Version}
	return func(row Row) error { return row.Scan(into...) }
}

// state scans a row of readStates.
func (s *bankSession) state(row Row) error {
	var id int64
	var state bank.State
	if err := row.Scan(&id, &state.Balance, &state.Version); err != nil {
		return err
	}
	if id == s.batch.Calls[0].Parameters[0].Number {
		s.lower = state
	} else {
		s.higher = state
	}
	return nil
}

func (s *bankSession) Close() { s.connection.Close() }

// Transfer changes the account with the lower id first, as a careful application
// does, so that two transfers cannot wait for each other.
func (s *bankSession) Transfer(ctx context.Context, t bank.Transfer) bank.Reply {
	lower, higher, change := t.Source, t.Destination, -t.Amount
	if t.Source > t.Destination {
		lower, higher, change = t.Destination, t.Source, t.Amount
	}
	calls := s.batch.Calls
	calls[0].Parameters[0].Number, calls[0].Parameters[1].Number = lower, change
	calls[1].Parameters[0].Number, calls[1].Parameters[1].Number = higher, -change
	journal := calls[2].Parameters
	journal[0].Number, journal[1].Number, journal[2].Number, journal[3].Number = t.ID, t.Source, t.Destination, t.Amount
	if len(calls) > 3 {
		calls[3].Parameters[0].Number, calls[3].Parameters[1].Number = lower, higher
	}
	s.batch.Inquiry.Parameters[0].Number = t.ID
	s.found = false
	r := s.connection.Batch(ctx, &s.batch)
	reply := bank.Reply{Reply: r.Reply}
	switch {
	case r.Outcome == history.Committed:
		reply.Source, reply.Destination = s.lower, s.higher
		if t.Source > t.Destination {
			reply.Source, reply.Destination = s.higher, s.lower
		}
	case r.Violated != NoViolation:
		s.refused(&reply, r.Violated)
	}
	return reply
}

// refused completes the reply to a transfer that a constraint refused. If that was
// for want of funds or of an account, it may be the repetition of a transfer that
// has already taken them: the journal knows.
func (s *bankSession) refused(reply *bank.Reply, by Violation) {
	switch {
	case by == Unique || s.found:
		reply.Duplicate, reply.Class = true, workload.ClassDuplicate
	case by == Check:
		reply.Outcome, reply.Class = history.Rejected, bank.ClassNoFunds
	default:
		reply.Outcome, reply.Class = history.Rejected, bank.ClassNoAccount
	}
}
