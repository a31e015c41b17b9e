package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"

	library "github.com/go-sql-driver/mysql"

	"assay/history"
	"assay/workload/bank"
)

// bankSession implements bank.Session on one connection.
type bankSession struct {
	*line
	text []byte // of the transfer, for the next one to use again
}

// Session implements bank.Store.
func (s *bankStore) Session(ctx context.Context) (bank.Session, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	return &bankSession{line: l}, nil
}

// transferText is the whole transaction, one statement after the other. The
// account with the lower id is changed first, as a careful application does, so
// that two transfers cannot wait for each other. The journal row takes the
// versions from the accounts, which the transaction has locked by changing them;
// if one does not exist, its version is null and the row is refused.
func (s *bankSession) transferText(t bank.Transfer) string {
	lower, higher, change := t.Source, t.Destination, -t.Amount
	if t.Source > t.Destination {
		lower, higher, change = t.Destination, t.Source, t.Amount
	}
	b := append(s.text[:0], `START TRANSACTION;`...)
	b = appendMove(b, lower, change)
	b = appendMove(b, higher, -change)
	b = append(b, `INSERT INTO `+bankSchema+`.transfer (id,source,destination,amount,source_version,destination_version) VALUES (`...)
	for _, n := range []int64{t.ID, t.Source, t.Destination, t.Amount} {
		b = append(strconv.AppendInt(b, n, 10), ',')
	}
	b = appendVersion(b, t.Source)
	b = append(b, ',')
	b = appendVersion(b, t.Destination)
	b = append(b, `);SELECT id,balance,version FROM `+bankSchema+`.account WHERE id IN (`...)
	b = append(strconv.AppendInt(b, t.Source, 10), ',')
	b = append(strconv.AppendInt(b, t.Destination, 10), `);COMMIT`...)
	s.text = b
	return string(b)
}

func appendMove(b []byte, id, change int64) []byte {
	b = append(b, `UPDATE `+bankSchema+`.account SET balance=balance+(`...)
	b = strconv.AppendInt(b, change, 10)
	b = append(b, `),version=version+1 WHERE id=`...)
	return append(strconv.AppendInt(b, id, 10), ';')
}

func appendVersion(b []byte, id int64) []byte {
	b = append(b, `(SELECT version FROM `+bankSchema+`.account WHERE id=`...)
	return append(strconv.AppendInt(b, id, 10), ')')
}

// Transfer sends the whole transaction as one text and then reads the answers:
// locks are held for no round trip but that of COMMIT.
func (s *bankSession) Transfer(ctx context.Context, t bank.Transfer) bank.Reply {
	if err := ctx.Err(); err != nil { // nothing is sent
		return bank.Reply{Outcome: history.Failed, Class: bank.ClassTimeout, Err: err, Broken: !s.sound()}
	}
	reply := bank.Reply{Outcome: history.Committed}
	at, err := s.transfer(ctx, t, &reply)
	if err != nil {
		return s.refused(ctx, t, err, at)
	}
	reply.Broken = !s.sound()
	return reply
}

// transfer returns what went on when an error came.
func (s *bankSession) transfer(ctx context.Context, t bank.Transfer, reply *bank.Reply) (at stage, err error) {
	rows, err := s.raw.(driver.QueryerContext).QueryContext(ctx, s.transferText(t), nil)
	if err != nil {
		// The library gives the first result that has rows; what comes before it
		// has none.
		return working, err
	}
	// Closing ends the library's watch over ctx. What is to be known is known
	// before.
	defer rows.Close()
	seen := 0
	err = eachRow(rows, func(row []driver.Value) error {
		var id int64
		var state bank.State
		if err := numbers(row, &id, &state.Balance, &state.Version); err != nil {
			return err
		}
		seen++
		switch id {
		case t.Source:
			reply.Source = state
		case t.Destination:
			reply.Destination = state
		}
		return nil
	})
	if err == nil && seen != 2 {
		err = fmt.Errorf("the server gave %d accounts where 2 were asked for", seen)
	}
	if err != nil {
		if answer := (*library.MySQLError)(nil); !errors.As(err, &answer) {
			s.hangUp() // COMMIT is on its way all the same
		}
		return working, err
	}
	// Everything after the rows is COMMIT.
	if err := rows.(driver.RowsNextResultSet).NextResultSet(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("COMMIT was answered by rows")
			s.hangUp()
		}
		return committing, err
	}
	return committing, nil
}

// refused says how a transfer ended that did not commit, and leaves its
// transaction.
func (s *bankSession) refused(ctx context.Context, t bank.Transfer, err error, at stage) bank.Reply {
	ruling := rule(err, at)
	reply := bank.Reply{Outcome: ruling.outcome, Class: ruling.class, Err: err}
	if ruling.outcome != history.Failed {
		reply.Broken = true
		return reply
	}
	refusal := refusalOf(err)
	if refusal == bank.ClassDuplicate {
		reply.Duplicate, reply.Class = true, refusal
	}
	if !s.leave(ctx) || elsewhere(err) {
		reply.Broken = true
		return reply
	}
	if refusal == "" || refusal == bank.ClassDuplicate {
		return reply
	}
	// Refused for want of funds or of an account: or is it the repetition of a
	// transfer that has already taken them? The journal knows. Whatever it says,
	// and even if it cannot be asked, this attempt had no effect.
	var there int64
	err = s.one(ctx, `SELECT count(*) FROM `+bankSchema+`.transfer WHERE id = `+strconv.FormatInt(t.ID, 10), nil, &there)
	switch {
	case err != nil:
		reply.Class, reply.Err, reply.Broken = rule(err, working).class, err, true
	case there > 0:
		reply.Class, reply.Duplicate = bank.ClassDuplicate, true
	default:
		reply.Outcome, reply.Class = history.Rejected, refusal
	}
	return reply
}

// refusalOf names the rule of the bank that an error of a transfer stands for,
// "" if none: the tables have one unique key that a transfer can violate, one
// CHECK constraint, and one reason for a null.
func refusalOf(err error) string {
	var answer *library.MySQLError
	if !errors.As(err, &answer) {
		return ""
	}
	switch answer.Number {
	case codeDuplicateEntry:
		return bank.ClassDuplicate
	case codeConstraintFailed, codeCheckViolatedMySQL:
		return bank.ClassNoFunds
	case codeBadNull:
		return bank.ClassNoAccount
	}
	return ""
}
