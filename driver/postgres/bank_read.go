package postgres

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/workload"
	"assay/workload/bank"
)

const (
	readAccounts = `SELECT id, balance, version FROM ` + schema + `.account ORDER BY id`
	readJournal  = `SELECT id, source, destination, amount, source_version, destination_version FROM ` + schema + `.transfer`
)

// Read reads in one snapshot. Rows stream from the socket to the callback,
// which holds the server back if it is slow.
func (s *bankStore) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	var stopped error // a callback's error goes back as it came
	err := s.pool.use(ctx, func(conn *pgx.Conn) error {
		options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		tx, err := conn.BeginTx(ctx, options)
		if err != nil {
			return err
		}
		mark, err := readMark(ctx, tx)
		if err == nil && mark == nil {
			err = &workload.NoSchemaError{Name: fmt.Sprintf("schema %q", schema)}
		}
		if err != nil {
			return rollback(ctx, tx, err)
		}
		stopped, err = stream(ctx, conn, readAccounts, 3, func(v []int64) error {
			return account(bank.Account{ID: v[0], Balance: v[1], Version: v[2]})
		})
		if err == nil && stopped == nil {
			stopped, err = stream(ctx, conn, readJournal, 6, func(v []int64) error {
				return entry(bank.Entry{
					Transfer:      bank.Transfer{ID: v[0], Source: v[1], Destination: v[2], Amount: v[3]},
					SourceVersion: v[4], DestinationVersion: v[5],
				})
			})
		}
		if err != nil || stopped != nil {
			return rollback(ctx, tx, err)
		}
		return tx.Commit(ctx)
	})
	if stopped != nil {
		return stopped
	}
	return operation("read", err)
}

// rollback ends a transaction that only read. If it cannot, the pool will not
// keep the connection; the first error is the one that matters.
func rollback(ctx context.Context, tx pgx.Tx, err error) error {
	_ = tx.Rollback(ctx)
	return err
}

// stream gives each row of a query over bigint columns to the callback. An
// error of the callback comes back as stopped; the connection is then closed,
// because the alternative is to receive all the rows that are left.
func stream(ctx context.Context, conn *pgx.Conn, sql string, columns int, row func([]int64) error) (stopped, err error) {
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	const binaryFormat = 1
	result := conn.PgConn().ExecParams(ctx, sql, nil, nil, nil, []int16{binaryFormat})
	values := make([]int64, columns)
	for result.NextRow() {
		if err := bigints(result, values); err != nil {
			abandon()
			_, _ = result.Close()
			return nil, err
		}
		if stopped := row(values); stopped != nil {
			abandon()
			_, _ = result.Close()
			return stopped, nil
		}
	}
	_, err = result.Close()
	return nil, err
}

// bigints decodes the current row, which must be of bigint columns in binary
// format: eight bytes each, big-endian.
func bigints(result *pgconn.ResultReader, into []int64) error {
	row := result.Values()
	if len(row) != len(into) {
		return fmt.Errorf("a row of %d columns came where %d were asked for", len(row), len(into))
	}
	for i, value := range row {
		if len(value) != 8 {
			return fmt.Errorf("column %d holds %d bytes and not a bigint", i+1, len(value))
		}
		into[i] = int64(binary.BigEndian.Uint64(value))
	}
	return nil
}

func (s *bankStore) Size(ctx context.Context) (workload.Size, error) {
	size := workload.Size{Rows: make(map[string]int64)}
	err := s.pool.use(ctx, func(conn *pgx.Conn) error {
		for _, table := range []string{"account", "transfer"} {
			var onDisk, indexes, rows int64
			err := conn.QueryRow(ctx, `SELECT pg_table_size($1::text::regclass), pg_indexes_size($1::text::regclass),
				(SELECT count(*) FROM `+schema+`.`+table+`)`, schema+"."+table).Scan(&onDisk, &indexes, &rows)
			if hasCode(err, codeUndefinedTable, codeInvalidSchemaName) {
				return &workload.NoSchemaError{Name: fmt.Sprintf("schema %q", schema)}
			}
			if err != nil {
				return err
			}
			size.Tables += onDisk
			size.Indexes += indexes
			size.Rows[table] = rows
		}
		size.Bytes = size.Tables + size.Indexes
		return nil
	})
	if err != nil {
		return workload.Size{}, operation("size", err)
	}
	return size, nil
}
