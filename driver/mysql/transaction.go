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

// Batch implements sqldb.Wire, as one text if possible: then locks last for only one round trip,
// COMMIT's.
func (l *session) Batch(ctx context.Context, calls []store.Call) (sqldb.Stage, error) {
	if l.schema.apart() {
		return l.oneByOne(ctx, calls)
	}
	return l.together(ctx, calls)
}

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

// apart reports whether a batch's statements are sent one by one: as the address says
// (statements=), or else on Galera. A MariaDB node rolls a transaction back if another node's wins,
// and tells the client at its next command. Within one text that can be missed. The rest is then
// committed statement by statement (seen with MariaDB 10.11: journal rows without the accounts'
// changes).
func (p *schema) apart() bool {
	if p.statements == "" {
		return p.server.galera
	}
	return p.statements == statementsApart
}

// together sends all statements and then reads the answers. The library returns only results with
// rows. Without any, an error could not be assigned to a statement, so they are sent one by one.
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
	// Closing ends the library's watch over ctx. Everything is known before.
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
	// Statements without rows may follow, and COMMIT.
	if err := rows.(driver.RowsNextResultSet).NextResultSet(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("COMMIT was answered by rows")
			l.HangUp()
		}
		return sqldb.Committing, err
	}
	return sqldb.Committing, nil
}
