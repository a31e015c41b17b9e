package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"assay/workload"
	"assay/workload/bank"
)

// sqliteBank is the bank in a new file beside that of the address, with driver/sqlite's
// settings.
type sqliteBank struct {
	path      string
	transfers *bank.Transfers
}

func openSQLite(address string, transfers *bank.Transfers) (rival, error) {
	return sqliteBank{strings.TrimPrefix(address, "sqlite:") + ".rival", transfers}, nil
}

const sqliteTables = `
	CREATE TABLE account (id INTEGER PRIMARY KEY NOT NULL, balance INTEGER NOT NULL, version INTEGER NOT NULL, CHECK (balance >= 0)) STRICT;
	CREATE TABLE transfer (id INTEGER PRIMARY KEY NOT NULL, source INTEGER NOT NULL, destination INTEGER NOT NULL, amount INTEGER NOT NULL,
		source_version INTEGER NOT NULL, destination_version INTEGER NOT NULL) STRICT`

// The statements of a client.
const (
	sqliteBegin = iota
	sqliteCommit
	sqliteRollback
	sqliteMove
	sqliteJournal
	sqliteAccount
)

// sqliteClient has prepared statements, which are used by one goroutine.
type sqliteClient struct {
	statements []driver.Stmt
	arguments  []driver.NamedValue
	values     [2]driver.Value
}

func (s sqliteBank) open(ctx context.Context, before string) (*sqliteClient, error) {
	connector, err := sqlite.NewConnector("file:" + s.path + "?_pragma=busy_timeout(5000)&_pragma=synchronous(full)&_pragma=journal_mode(wal)")
	if err != nil {
		return nil, err
	}
	connection, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := connection.(driver.ExecerContext).ExecContext(ctx, before, nil); err != nil {
		return nil, err
	}
	c := &sqliteClient{}
	for _, text := range [...]string{sqliteBegin: "BEGIN IMMEDIATE", sqliteCommit: "COMMIT", sqliteRollback: "ROLLBACK",
		sqliteMove: "UPDATE account SET balance = balance + ?2, version = version + 1 WHERE id = ?1 RETURNING balance, version",
		sqliteJournal: "INSERT INTO transfer (id, source, destination, amount, source_version, destination_version)" +
			" VALUES (?1, ?2, ?3, ?4, (SELECT version FROM account WHERE id = ?2), (SELECT version FROM account WHERE id = ?3))",
		sqliteAccount: "INSERT INTO account VALUES (?1, ?2, 0)"} {
		prepared, err := connection.Prepare(text)
		if err != nil {
			return nil, err
		}
		c.statements = append(c.statements, prepared)
	}
	return c, nil
}

// do runs a statement, and reads its rows if it is one that has some.
func (c *sqliteClient) do(ctx context.Context, which int, parameters ...int64) error {
	c.arguments = c.arguments[:0]
	for i, n := range parameters {
		c.arguments = append(c.arguments, driver.NamedValue{Ordinal: i + 1, Value: n})
	}
	if which != sqliteMove {
		_, err := c.statements[which].(driver.StmtExecContext).ExecContext(ctx, c.arguments)
		return err
	}
	rows, err := c.statements[which].(driver.StmtQueryContext).QueryContext(ctx, c.arguments)
	if err != nil {
		return err
	}
	for err == nil {
		err = rows.Next(c.values[:])
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

func (s sqliteBank) load(ctx context.Context) error {
	c, err := s.open(ctx, sqliteTables)
	if err == nil {
		err = c.do(ctx, sqliteBegin)
	}
	accounts := s.transfers.Accounts()
	for id := int64(1); err == nil && id <= accounts.Len(); id++ {
		err = c.do(ctx, sqliteAccount, id, accounts.Opening(id))
	}
	if err != nil {
		return err
	}
	return c.do(ctx, sqliteCommit)
}

func (s sqliteBank) client(ctx context.Context, n int) (operation, error) {
	c, err := s.open(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err != nil {
		return nil, err
	}
	return func(seq uint64) (bool, error) {
		t := s.transfers.At(workload.OperationID(n, seq))
		first, second := ordered(t)
		err := c.do(ctx, sqliteBegin)
		if err == nil {
			err = c.do(ctx, sqliteMove, first.account, first.amount)
		}
		if err == nil {
			err = c.do(ctx, sqliteMove, second.account, second.amount)
		}
		if err == nil {
			err = c.do(ctx, sqliteJournal, t.ID, t.Source, t.Destination, t.Amount)
		}
		if refused, is := errors.AsType[*sqlite.Error](err); is && refused.Code()&0xff == codes.SQLITE_CONSTRAINT {
			return false, c.do(ctx, sqliteRollback)
		}
		if err == nil {
			err = c.do(ctx, sqliteCommit)
		}
		return err == nil, err
	}, nil
}
