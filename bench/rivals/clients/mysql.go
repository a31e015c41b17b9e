package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"assay/driver/uri"
	"assay/workload"
	"assay/workload/bank"
)

// mysqlBank is the bank on MariaDB or MySQL. A transfer is one text, as driver/mysql sends
// it.
type mysqlBank struct {
	connector driver.Connector
	transfers *bank.Transfers
}

func openMySQL(address string, transfers *bank.Transfers) (rival, error) {
	a, err := uri.Parse(address, "mysql://USER:PASSWORD@HOST:PORT/", "3306", "mysql")
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr, config.MultiStatements = a.User, a.Password, "tcp", a.Hosts[0], true
	connector, err := mysql.NewConnector(config)
	return mysqlBank{connector, transfers}, err
}

const (
	mysqlTables = `DROP DATABASE IF EXISTS rival; CREATE DATABASE rival;
		CREATE TABLE rival.account (id BIGINT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL, version BIGINT NOT NULL, CHECK (balance >= 0)) ENGINE=InnoDB;
		CREATE TABLE rival.transfer (id BIGINT NOT NULL PRIMARY KEY, source BIGINT NOT NULL, destination BIGINT NOT NULL, amount BIGINT NOT NULL,
			source_version BIGINT NOT NULL, destination_version BIGINT NOT NULL) ENGINE=InnoDB;
		INSERT INTO rival.account VALUES `
	mysqlTransfer = `START TRANSACTION;` +
		`UPDATE rival.account SET balance = balance + ?, version = version + 1 WHERE id = ?;` +
		`UPDATE rival.account SET balance = balance + ?, version = version + 1 WHERE id = ?;` +
		`INSERT INTO rival.transfer (id, source, destination, amount, source_version, destination_version) VALUES (?, ?, ?, ?, ` +
		`(SELECT version FROM rival.account WHERE id = ?), (SELECT version FROM rival.account WHERE id = ?));` +
		`SELECT id, balance, version FROM rival.account WHERE id IN (?, ?);COMMIT`
)

func (m mysqlBank) load(ctx context.Context) error {
	c, err := m.connector.Connect(ctx)
	if err != nil {
		return err
	}
	text, accounts := []byte(mysqlTables), m.transfers.Accounts()
	for id := range accounts.Len() {
		text = fmt.Appendf(text, "(%d, %d, 0),", id+1, accounts.Opening(id+1))
	}
	_, err = c.(driver.ExecerContext).ExecContext(ctx, string(text[:len(text)-1]), nil)
	return errors.Join(err, c.Close())
}

func (m mysqlBank) client(ctx context.Context, n int) (operation, error) {
	c, err := m.connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	pieces := strings.Split(mysqlTransfer, "?")
	values := make([]driver.Value, 3)
	var text []byte
	return func(seq uint64) (bool, error) {
		t := m.transfers.At(workload.OperationID(n, seq))
		first, second := ordered(t)
		text = append(text[:0], pieces[0]...)
		for i, number := range [...]int64{first.amount, first.account, second.amount, second.account,
			t.ID, t.Source, t.Destination, t.Amount, t.Source, t.Destination, first.account, second.account} {
			text = append(strconv.AppendInt(text, number, 10), pieces[i+1]...)
		}
		err := answer(ctx, c, string(text), values)
		if refused, is := errors.AsType[*mysql.MySQLError](err); is && slices.Contains(mysqlRefusals(), refused.Number) {
			_, err = c.(driver.ExecerContext).ExecContext(ctx, "ROLLBACK", nil)
			return false, err
		}
		return err == nil, err
	}, nil
}

// mysqlRefusals are a violated CHECK constraint, of MariaDB and of MySQL, and a deadlock.
func mysqlRefusals() []uint16 { return []uint16{4025, 3819, 1213} }

// answer reads the rows of the only query of a text, and then the answer to COMMIT.
func answer(ctx context.Context, c driver.Conn, text string, values []driver.Value) error {
	rows, err := c.(driver.QueryerContext).QueryContext(ctx, text, nil)
	if err != nil {
		return err
	}
	for err == nil {
		err = rows.Next(values)
	}
	if errors.Is(err, io.EOF) {
		err = rows.(driver.RowsNextResultSet).NextResultSet()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}
