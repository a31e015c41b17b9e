package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	library "github.com/go-sql-driver/mysql"

	"assay/driver/sqldb"
	"assay/history"
	"assay/workload"
)

// withViolation completes a reply.
func withViolation(reply workload.Reply) sqldb.Reply {
	r := sqldb.Reply{Reply: reply}
	if r.Outcome == history.Failed {
		r.Violated = violated(r.Err)
	}
	return r
}

// statement is a statement of the session with its parameters.
func (l *session) statement(before string, which int, parameters []sqldb.Value) string {
	l.buffer = appendStatement(append(l.buffer[:0], before...), l.statements[which].Text, parameters)
	return string(l.buffer)
}

// Execute implements sqldb.Connection. The server counts the rows that it has
// changed, not those that were found so.
func (l *session) Execute(ctx context.Context, which int, parameters ...sqldb.Value) sqldb.Reply {
	return l.change(ctx, l.statements[which].Name, l.statement("", which, parameters))
}

// change runs one statement, committed by itself.
func (l *session) change(ctx context.Context, doing, statement string) sqldb.Reply {
	if err := l.ready(ctx); err != nil {
		return sqldb.Reply{Reply: l.unsent(err)}
	}
	n, err := l.affected(ctx, statement)
	r := withViolation(l.executed(l.schema.Operation(doing, err)))
	r.Affected = n
	return r
}

// Query implements sqldb.Connection.
func (l *session) Query(ctx context.Context, which int, row func(sqldb.Row) error, parameters ...sqldb.Value) workload.Reply {
	if err := l.ready(ctx); err != nil {
		return l.unsent(err)
	}
	err := l.query(ctx, scanner(row), l.statement("", which, parameters))
	return l.queried(l.schema.Operation(l.statements[which].Name, err))
}

// Insert implements sqldb.Connection: one statement, committed by itself.
func (l *session) Insert(ctx context.Context, rows sqldb.Rows) sqldb.Reply {
	l.buffer = appendInsert(l.buffer[:0], l.schema.SQL.Table(rows.Table), rows)
	return l.change(ctx, "insert", string(l.buffer))
}

// Load implements sqldb.Connection; there is no faster way that every server
// allows.
func (l *session) Load(ctx context.Context, rows sqldb.Rows) sqldb.Reply { return l.Insert(ctx, rows) }

// Batch implements sqldb.Connection, where it can as one text: then locks are held
// for no round trip but that of COMMIT.
func (l *session) Batch(ctx context.Context, b *sqldb.Batch) sqldb.Reply {
	if err := l.ready(ctx); err != nil {
		return sqldb.Reply{Reply: l.unsent(err)}
	}
	send := l.together
	if l.schema.apart() {
		send = l.apart
	}
	at, err := send(ctx, b.Calls)
	if err != nil {
		return l.refused(ctx, b, err, at)
	}
	return sqldb.Reply{Reply: workload.Reply{Outcome: history.Committed, Broken: !l.Sound()}}
}

// apart reports whether each statement of a batch is sent by itself: as the
// address says (statements=together, apart), else on Galera alone. A MariaDB node
// rolls a transaction back when another node's transaction wins over it, and the
// client hears of that with its next command; among statements of one text that
// moment can be missed, and the rest of the text is then done and committed
// statement by statement (seen with MariaDB 10.11: journal rows without the
// changes of accounts that came before them).
func (p *schema) apart() bool {
	if p.statements == "" {
		return p.server.galera
	}
	return p.statements == statementsApart
}

// apart sends one statement after the other's answer. It returns what went on when
// an error came.
func (l *session) apart(ctx context.Context, calls []sqldb.Call) (at stage, err error) {
	if err := l.exec(ctx, "START TRANSACTION"); err != nil {
		return beforeCommit, err
	}
	for i := range calls {
		call := &calls[i]
		text := l.statement("", call.Statement, call.Parameters)
		if call.Row == nil {
			err = l.exec(ctx, text)
		} else {
			rows := rowsOf{call: call}
			if err = l.query(ctx, rows.row, text); err == nil {
				err = rows.complete()
			}
		}
		if err != nil {
			return beforeCommit, err
		}
	}
	if err := ctx.Err(); err != nil {
		return beforeCommit, err
	}
	return committing, l.exec(ctx, "COMMIT")
}

// rowsOf gives the rows of a call to its callback and counts them.
type rowsOf struct {
	call    *sqldb.Call
	columns columns
	seen    int
}

func (r *rowsOf) row(values []driver.Value) error {
	r.seen++
	r.columns = values
	return r.call.Row(&r.columns)
}

// complete is nil if as many came as were wanted.
func (r *rowsOf) complete() error {
	if r.call.Want > 0 && r.seen != r.call.Want {
		return fmt.Errorf("the server gave %d rows where %d were asked for", r.seen, r.call.Want)
	}
	return nil
}

// together sends all statements at once and then reads the answers. It returns
// what went on when an error came. The library gives only those results that have
// rows, so that without any it cannot be told which statement an error answers;
// then it sends them apart.
func (l *session) together(ctx context.Context, calls []sqldb.Call) (at stage, err error) {
	b := append(l.buffer[:0], "START TRANSACTION;"...)
	answers := 0
	for i := range calls {
		if calls[i].Row != nil {
			answers++
		}
		b = append(appendStatement(b, l.statements[calls[i].Statement].Text, calls[i].Parameters), ';')
	}
	l.buffer = append(b, "COMMIT"...)
	if answers == 0 {
		return l.apart(ctx, calls)
	}
	rows, err := l.raw.(driver.QueryerContext).QueryContext(ctx, string(l.buffer), nil)
	if err != nil {
		return working, err
	}
	// Closing ends the library's watch over ctx. What is to be known is known
	// before.
	defer rows.Close()
	for i := range calls {
		if calls[i].Row == nil {
			continue
		}
		read := rowsOf{call: &calls[i]}
		if err = eachRow(rows, read.row); err == nil {
			err = read.complete()
		}
		if answers--; err == nil && answers > 0 {
			err = rows.(driver.RowsNextResultSet).NextResultSet()
		}
		if err != nil {
			if answer := (*library.MySQLError)(nil); !errors.As(err, &answer) {
				l.HangUp() // COMMIT is on its way all the same
			}
			return working, err
		}
	}
	// After the last rows come statements without any, if there are, and COMMIT.
	if err := rows.(driver.RowsNextResultSet).NextResultSet(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("COMMIT was answered by rows")
			l.HangUp()
		}
		return committing, err
	}
	return committing, nil
}

// refused says how a batch ended that did not commit, and leaves its transaction.
// Whatever the inquiry says, and even if it cannot be made, this attempt had no
// effect.
func (l *session) refused(ctx context.Context, b *sqldb.Batch, err error, at stage) sqldb.Reply {
	reply := withViolation(classify(err, at))
	if reply.Outcome != history.Failed {
		return reply
	}
	if !l.leave(ctx) || elsewhere(err) {
		reply.Broken = true
		return reply
	}
	if b.Inquiry == nil || reply.Violated != sqldb.Check && reply.Violated != sqldb.Null {
		return reply
	}
	if err := l.query(ctx, scanner(b.Inquiry.Row), l.statement("", b.Inquiry.Statement, b.Inquiry.Parameters)); err != nil {
		reply.Class, reply.Err, reply.Broken, reply.Violated = classify(err, working).Class, err, true, sqldb.NoViolation
	}
	return reply
}

// Transaction implements sqldb.Connection. Each statement is a round trip of its
// own, START TRANSACTION with the first of them and COMMIT alone, since statements
// that arrive one by one leave the transactions of others room to come between
// them. After an error no further statement is sent: the server may have rolled
// the whole transaction back (1213), and what came then would be committed by
// itself.
//
// COMMIT is sent after all statements were answered, and when a connection is
// lost, "any active transactions are rolled back" (MySQL, "C API Developer
// Guide", "Automatic Reconnection Control"); so whatever goes wrong before, a
// lost connection included, there is no effect.
func (l *session) Transaction(ctx context.Context, _ bool, work func(context.Context, sqldb.Transaction) error) sqldb.Reply {
	if err := l.ready(ctx); err != nil {
		return sqldb.Reply{Reply: l.unsent(err)}
	}
	l.begun = false
	if err := work(ctx, transaction{l}); err != nil {
		return l.failed(ctx, err)
	}
	if !l.begun {
		return sqldb.Reply{Reply: workload.Reply{Outcome: history.Committed}} // of nothing
	}
	return l.commit(ctx)
}

// commit sends COMMIT and judges the answer.
func (l *session) commit(ctx context.Context) sqldb.Reply {
	if err := ctx.Err(); err != nil { // COMMIT is not sent
		return l.failed(ctx, err)
	}
	err := l.exec(ctx, "COMMIT")
	if err == nil {
		return sqldb.Reply{Reply: workload.Reply{Outcome: history.Committed, Broken: !l.Sound()}}
	}
	reply := withViolation(classify(err, committing))
	if reply.Outcome == history.Failed {
		reply.Broken = !l.leave(ctx)
	}
	return reply
}

// failed leaves a transaction that ends before its COMMIT.
func (l *session) failed(ctx context.Context, err error) sqldb.Reply {
	reply := withViolation(classify(err, beforeCommit))
	reply.Broken = !l.leave(ctx) || elsewhere(err)
	return reply
}

// transaction is the one that a session is in.
type transaction struct{ l *session }

// begin puts the beginning of the transaction before its first statement.
func (t transaction) begin() string {
	if t.l.begun {
		return ""
	}
	t.l.begun = true
	return "START TRANSACTION;"
}

// Execute implements sqldb.Transaction.
func (t transaction) Execute(ctx context.Context, which int, parameters ...sqldb.Value) error {
	return t.l.exec(ctx, t.l.statement(t.begin(), which, parameters))
}

// Query implements sqldb.Transaction.
func (t transaction) Query(ctx context.Context, which int, row func(sqldb.Row) error, parameters ...sqldb.Value) error {
	return t.l.query(ctx, scanner(row), t.l.statement(t.begin(), which, parameters))
}
