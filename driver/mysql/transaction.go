package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	library "github.com/go-sql-driver/mysql"

	"assay/driver/sqldb"
	"assay/store"
)

// Batch implements sqldb.Wire, where it can as one text: then locks are held for no
// round trip but that of COMMIT.
func (l *session) Batch(ctx context.Context, calls []store.Call) (sqldb.Stage, error) {
	if l.schema.apart() {
		return l.oneByOne(ctx, calls)
	}
	return l.together(ctx, calls)
}

// oneByOne sends each statement after the answer to the one before.
func (l *session) oneByOne(ctx context.Context, calls []store.Call) (sqldb.Stage, error) {
	_, err := l.Change(ctx, begin)
	for i := 0; err == nil && i < len(calls); i++ {
		_, err = l.do(ctx, "", calls[i])
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return sqldb.BeforeCommit, err
	}
	return sqldb.Committing, l.Commit(ctx)
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

// together sends all statements at once and then reads the answers. It returns
// what went on when an error came. The library gives only those results that have
// rows, so that without any it cannot be told which statement an error answers;
// then it sends them apart.
func (l *session) together(ctx context.Context, calls []store.Call) (at sqldb.Stage, err error) {
	b := append(l.buffer[:0], begin+";"...)
	answers := 0
	for i := range calls {
		if calls[i].Row != nil {
			answers++
		}
		b = append(bind(b, l.statements[calls[i].Statement].Text, calls[i].Parameters), ';')
	}
	l.buffer = append(b, "COMMIT"...)
	if answers == 0 {
		return l.oneByOne(ctx, calls)
	}
	rows, err := l.raw.QueryContext(ctx, string(l.buffer), nil)
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
		err = l.receive(&calls[i], func(row func([]driver.Value) error) error { return eachRow(rows, row) })
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
