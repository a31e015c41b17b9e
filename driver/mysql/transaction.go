package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	library "github.com/go-sql-driver/mysql"

	"assay/driver/sqldb"
)

// statement is a statement of the session with its parameters.
func (l *session) statement(before string, which int, parameters []sqldb.Value) string {
	l.buffer = appendStatement(append(l.buffer[:0], before...), l.statements[which].Text, parameters)
	return string(l.buffer)
}

// Run implements sqldb.Wire. The server counts the rows that it has changed, not those
// that were found so.
func (l *session) Run(ctx context.Context, which int, row func(sqldb.Row) error, parameters []sqldb.Value) (changed int64, at sqldb.Stage, err error) {
	text := l.statement("", which, parameters)
	if row != nil {
		return 0, sqldb.Alone, l.query(ctx, scanner(row), text)
	}
	changed, err = l.affected(ctx, text)
	return changed, sqldb.Alone, err
}

// Insert implements sqldb.Wire: one statement, committed by itself.
func (l *session) Insert(ctx context.Context, rows sqldb.Rows) (sqldb.Stage, error) {
	l.buffer = appendInsert(l.buffer[:0], l.schema.SQL.Table(rows.Table), rows)
	return sqldb.Alone, l.exec(ctx, string(l.buffer))
}

// Load implements sqldb.Wire; there is no faster way that every server allows.
func (l *session) Load(ctx context.Context, rows sqldb.Rows) (sqldb.Stage, error) {
	return l.Insert(ctx, rows)
}

// Batch implements sqldb.Wire, where it can as one text: then locks are held for no
// round trip but that of COMMIT.
func (l *session) Batch(ctx context.Context, calls []sqldb.Call) (sqldb.Stage, error) {
	if l.schema.apart() {
		return l.apart(ctx, calls)
	}
	return l.together(ctx, calls)
}

func (l *session) Step(ctx context.Context, first bool, which int, row func(sqldb.Row) error, parameters []sqldb.Value) error {
	before := ""
	if first {
		before = "START TRANSACTION;"
	}
	text := l.statement(before, which, parameters)
	if row == nil {
		return l.exec(ctx, text)
	}
	return l.query(ctx, scanner(row), text)
}

// Commit implements sqldb.Wire. When a connection is lost before, "any active
// transactions are rolled back" (MySQL, "C API Developer Guide", "Automatic
// Reconnection Control").
func (l *session) Commit(ctx context.Context) error { return l.exec(ctx, "COMMIT") }

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
func (l *session) apart(ctx context.Context, calls []sqldb.Call) (at sqldb.Stage, err error) {
	if err := l.exec(ctx, "START TRANSACTION"); err != nil {
		return sqldb.BeforeCommit, err
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
			return sqldb.BeforeCommit, err
		}
	}
	if err := ctx.Err(); err != nil {
		return sqldb.BeforeCommit, err
	}
	return sqldb.Committing, l.exec(ctx, "COMMIT")
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
func (l *session) together(ctx context.Context, calls []sqldb.Call) (at sqldb.Stage, err error) {
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
		return sqldb.Working, err
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
			return sqldb.Working, err
		}
	}
	// After the last rows come statements without any, if there are, and COMMIT.
	if err := rows.(driver.RowsNextResultSet).NextResultSet(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("COMMIT was answered by rows")
			l.HangUp()
		}
		return sqldb.Committing, err
	}
	return sqldb.Committing, nil
}
