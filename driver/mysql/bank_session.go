package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	library "github.com/go-sql-driver/mysql"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// bankSession implements bank.Session on one connection.
type bankSession struct {
	*session
	separate bool   // each statement is sent by itself
	text     []byte // of the transfer, for the next one to use again
}

// Session implements bank.Store.
func (s *bankStore) Session(ctx context.Context) (bank.Session, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	return &bankSession{session: l, separate: s.schema.apart()}, nil
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

// Transfer does the transaction, where it can be as one text: then locks are held
// for no round trip but that of COMMIT.
func (s *bankSession) Transfer(ctx context.Context, t bank.Transfer) bank.Reply {
	if err := s.ready(ctx); err != nil {
		return bank.Reply{Reply: s.unsent(err)}
	}
	reply := bank.Reply{Reply: workload.Reply{Outcome: history.Committed}}
	send := s.transferTogether
	if s.separate {
		send = s.transferApart
	}
	at, err := send(ctx, t, &reply)
	if err != nil {
		return s.transferRefused(ctx, t, err, at)
	}
	reply.Broken = !s.sound()
	return reply
}

// states reads the two accounts of a transfer into its reply.
type states struct {
	transfer bank.Transfer
	reply    *bank.Reply
	seen     int
}

func (s *states) row(row []driver.Value) error {
	var id int64
	var state bank.State
	if err := numbers(row, &id, &state.Balance, &state.Version); err != nil {
		return err
	}
	s.seen++
	switch id {
	case s.transfer.Source:
		s.reply.Source = state
	case s.transfer.Destination:
		s.reply.Destination = state
	}
	return nil
}

// complete is nil if both were there.
func (s *states) complete() error {
	if s.seen != 2 {
		return fmt.Errorf("the server gave %d accounts where 2 were asked for", s.seen)
	}
	return nil
}

// transferApart sends one statement after the other's answer. It returns what
// went on when an error came.
func (s *bankSession) transferApart(ctx context.Context, t bank.Transfer, reply *bank.Reply) (at stage, err error) {
	statements := strings.Split(s.transferText(t), ";")
	last := len(statements) - 1
	for _, statement := range statements[:last-1] {
		if err := s.exec(ctx, statement); err != nil {
			return beforeCommit, err
		}
	}
	read := states{transfer: t, reply: reply}
	if err = s.query(ctx, read.row, statements[last-1]); err == nil {
		err = read.complete()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return beforeCommit, err
	}
	return committing, s.exec(ctx, statements[last])
}

// transferTogether sends all statements at once and then reads the answers. It
// returns what went on when an error came.
func (s *bankSession) transferTogether(ctx context.Context, t bank.Transfer, reply *bank.Reply) (at stage, err error) {
	rows, err := s.raw.(driver.QueryerContext).QueryContext(ctx, s.transferText(t), nil)
	if err != nil {
		// The library gives the first result that has rows; what comes before it
		// has none.
		return working, err
	}
	// Closing ends the library's watch over ctx. What is to be known is known
	// before.
	defer rows.Close()
	read := states{transfer: t, reply: reply}
	if err = eachRow(rows, read.row); err == nil {
		err = read.complete()
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
func (s *bankSession) transferRefused(ctx context.Context, t bank.Transfer, err error, at stage) bank.Reply {
	reply := bank.Reply{Reply: classify(err, at)}
	if reply.Outcome != history.Failed {
		return reply
	}
	refusal := refusalOf(err)
	if refusal == workload.ClassDuplicate {
		reply.Duplicate, reply.Class = true, refusal
	}
	if !s.leave(ctx) || elsewhere(err) {
		reply.Broken = true
		return reply
	}
	if refusal == "" || refusal == workload.ClassDuplicate {
		return reply
	}
	// Refused for want of funds or of an account: or is it the repetition of a
	// transfer that has already taken them? The journal knows. Whatever it says,
	// and even if it cannot be asked, this attempt had no effect.
	var there int64
	err = s.one(ctx, `SELECT count(*) FROM `+bankSchema+`.transfer WHERE id = `+strconv.FormatInt(t.ID, 10), nil, &there)
	switch {
	case err != nil:
		reply.Class, reply.Err, reply.Broken = classify(err, working).Class, err, true
	case there > 0:
		reply.Class, reply.Duplicate = workload.ClassDuplicate, true
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
		return workload.ClassDuplicate
	case codeConstraintFailed, codeCheckViolatedMySQL:
		return bank.ClassNoFunds
	case codeBadNull:
		return bank.ClassNoAccount
	}
	return ""
}
