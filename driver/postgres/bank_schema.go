package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"assay/workload"
	"assay/workload/bank"
)

// The names of constraints tell a transfer what refused it.
const (
	constraintFunds   = "account_not_overdrawn"
	constraintJournal = "transfer_pkey"
)

// createSchema is done in one transaction: the schema is there with its mark or
// not at all.
//
// No index covers balance or version, so that an update can stay on its page
// and leave the indexes alone (a heap-only tuple; manual, "Heap-Only Tuples")
// if the page has room. Fillfactor 90 keeps room for some fifteen new versions
// among the 140 rows of a page; when it is used up, the page is pruned and the
// room is back. Over 300,000 updates of 100,000 accounts by eight sessions, 95 %
// stayed on their page at fillfactor 100, 98 to 99.7 % at 90, 99.9 % at 80, at
// no difference in speed: 90 has nearly all of it for half of the space.
//
// The primary key of account is made when the accounts are in: sorting once
// beats a hundred million insertions.
var createSchema = []string{
	`CREATE SCHEMA ` + schema,
	`COMMENT ON SCHEMA ` + schema + ` IS 'Made by assay, which drops it at its next run here. The mark is in assay_mark.'`,
	`CREATE TABLE ` + schema + `.assay_mark (mark jsonb NOT NULL)`,
	`CREATE TABLE ` + schema + `.account (
		id bigint NOT NULL,
		balance bigint NOT NULL CONSTRAINT ` + constraintFunds + ` CHECK (balance >= 0),
		version bigint NOT NULL
	) WITH (fillfactor = 90)`,
	`CREATE TABLE ` + schema + `.transfer (
		id bigint CONSTRAINT ` + constraintJournal + ` PRIMARY KEY,
		source bigint NOT NULL,
		destination bigint NOT NULL,
		amount bigint NOT NULL,
		source_version bigint NOT NULL,
		destination_version bigint NOT NULL
	)`,
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// readMark returns the mark, nil if there is no schema of the name, and
// *workload.ForeignError if there is one that is not ours.
func readMark(ctx context.Context, db querier) (*workload.Mark, error) {
	const look = `SELECT
		EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = '` + schema + `'),
		EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = '` + schema + `' AND c.relname = 'assay_mark' AND c.relkind = 'r'),
		EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
			JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = '` + schema + `' AND c.relname = 'assay_mark' AND a.attname = 'mark')`
	var there, table, column bool
	if err := db.QueryRow(ctx, look).Scan(&there, &table, &column); err != nil {
		return nil, err
	}
	if !there {
		return nil, nil
	}
	foreign := &workload.ForeignError{
		Name: fmt.Sprintf("schema %q", schema),
		Hint: "rename it (ALTER SCHEMA " + schema + " RENAME TO ...), or name another database in the address",
	}
	if !table || !column {
		return nil, foreign
	}
	var rows int
	var text string
	err := db.QueryRow(ctx, `SELECT count(*), coalesce(min(mark::text), '') FROM `+schema+`.assay_mark`).Scan(&rows, &text)
	if err != nil {
		return nil, err
	}
	var mark workload.Mark
	if rows != 1 || json.Unmarshal([]byte(text), &mark) != nil || mark.Workload != "bank" {
		return nil, foreign
	}
	mark.Created = mark.Created.UTC()
	return &mark, nil
}

func (s *bankStore) Find(ctx context.Context) (*workload.Remains, error) {
	var remains *workload.Remains
	err := s.pool.use(ctx, func(conn *pgx.Conn) error {
		mark, err := readMark(ctx, conn)
		if err != nil || mark == nil {
			return err
		}
		remains = &workload.Remains{Mark: *mark}
		return conn.QueryRow(ctx, `SELECT count(*) FROM `+schema+`.account`).Scan(&remains.Rows)
	})
	if err != nil {
		return nil, operation("look for an earlier run", err)
	}
	return remains, nil
}

func (s *bankStore) Create(ctx context.Context, mark workload.Mark) error {
	mark.Created = mark.Created.UTC()
	text, err := json.Marshal(mark)
	if err != nil {
		return operation("create schema", err)
	}
	err = s.pool.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		if err := dropOurs(ctx, tx); err != nil {
			return err
		}
		for _, statement := range createSchema {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO `+schema+`.assay_mark (mark) VALUES ($1::text::jsonb)`, string(text))
		return err
	})
	return s.advise("create schema", err)
}

// dropOurs drops the schema if it is there and carries our mark.
func dropOurs(ctx context.Context, tx pgx.Tx) error {
	mark, err := readMark(ctx, tx)
	if err != nil || mark == nil {
		return err
	}
	_, err = tx.Exec(ctx, `DROP SCHEMA `+schema+` CASCADE`)
	return err
}

func (s *bankStore) Drop(ctx context.Context) error {
	err := s.pool.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error { return dropOurs(ctx, tx) })
	return s.advise("drop schema", err)
}

// LoadAccounts uses COPY, PostgreSQL's own way to load in bulk.
func (s *bankStore) LoadAccounts(ctx context.Context, batch []bank.Account) error {
	err := s.pool.use(ctx, func(conn *pgx.Conn) error {
		rows := pgx.CopyFromSlice(len(batch), func(i int) ([]any, error) {
			return []any{batch[i].ID, batch[i].Balance, batch[i].Version}, nil
		})
		n, err := conn.CopyFrom(ctx, pgx.Identifier{schema, "account"}, []string{"id", "balance", "version"}, rows)
		if err == nil && n != int64(len(batch)) {
			err = fmt.Errorf("the server took %d of %d accounts", n, len(batch))
		}
		return err
	})
	return operation("load accounts", err)
}

// FinishLoad makes the primary key, sets the mark, and does now what
// autovacuum would else do in the middle of the run.
func (s *bankStore) FinishLoad(ctx context.Context) error {
	err := s.pool.use(ctx, func(conn *pgx.Conn) error {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `ALTER TABLE `+schema+`.account ADD CONSTRAINT account_pkey PRIMARY KEY (id)`)
			if err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, `UPDATE `+schema+`.assay_mark SET mark = jsonb_set(mark, '{loaded}', 'true')`)
			if err == nil && tag.RowsAffected() != 1 {
				err = errors.New("the mark is gone")
			}
			return err
		})
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, `VACUUM (ANALYZE) `+schema+`.account`)
		return err
	})
	return operation("finish loading", err)
}
