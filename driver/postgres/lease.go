package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/workload"
)

// leaseColumns are those of the table assay_lease, which has one row or none.
const leaseColumns = `(id int PRIMARY KEY CHECK (id = 1), token text NOT NULL, holder text NOT NULL,
	since timestamptz NOT NULL, expires timestamptz NOT NULL)`

// leaseTries bounds how often a change of the lease is tried that met another
// one's. CREATE ... IF NOT EXISTS of two at the same time fails for one of them,
// and CockroachDB refuses conflicts instead of waiting.
const leaseTries = 20

// leaseClashes are the errors of those who meet in making or dropping the
// schema or in changing the row.
var leaseClashes = []string{
	codeUniqueViolation, codeSerializationFailure, codeDeadlockDetected, codeUndefinedTable, codeInvalidSchemaName,
	"42P06", "42P07", "XX000", // duplicate schema, duplicate table, "tuple concurrently updated"
}

// leaseTransaction does work in one transaction, again if it clashes with
// another's.
func (p *schema) leaseTransaction(ctx context.Context, work func(pgx.Tx) error) error {
	for try := 1; ; try++ {
		err := p.pool.inTransaction(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, work)
		if !hasCode(err, leaseClashes...) || try == leaseTries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(try) * 5 * time.Millisecond):
		}
	}
}

// readLease returns the lease, nil if there is none.
func (p *schema) readLease(ctx context.Context, db querier) (*workload.Lease, error) {
	var there bool
	err := db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n
		ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'assay_lease')`, p.name).Scan(&there)
	if err != nil || !there {
		return nil, err
	}
	var token, holder string
	var since time.Time
	var remaining float64
	err = db.QueryRow(ctx, `SELECT token, holder, since, extract(epoch FROM expires - now())::float8 FROM `+
		p.name+`.assay_lease`).Scan(&token, &holder, &since, &remaining)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return workload.NewLease(token, []byte(holder), since, time.Duration(remaining*float64(time.Second))), nil
}

// admit gives *workload.HeldError if another holds the lease.
func (p *schema) admit(ctx context.Context, db querier) error {
	lease, err := p.readLease(ctx, db)
	if err == nil && lease.Excludes(p.taken.Holder().Token) {
		err = p.held(lease)
	}
	return err
}

func (p *schema) held(lease *workload.Lease) error {
	return &workload.HeldError{Name: fmt.Sprintf("schema %q", p.name), Lease: *lease}
}

// Lease reads the row.
func (p *schema) Lease(ctx context.Context) (lease *workload.Lease, err error) {
	err = p.pool.use(ctx, func(conn *pgx.Conn) error {
		lease, err = p.readLease(ctx, conn)
		return err
	})
	return lease, operation("look for a lease", err)
}

// TakeLease inserts the row or replaces it, if the row itself allows that: of
// several that come at the same time the others wait for the first one's row and
// then find it alive.
func (p *schema) TakeLease(ctx context.Context, holder workload.Holder, ttl time.Duration, gone string) error {
	text, err := json.Marshal(holder)
	if err != nil {
		return operation("take the lease", err)
	}
	err = p.makeLeaseTable(ctx)
	if err == nil {
		err = p.leaseTransaction(ctx, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `INSERT INTO `+p.name+`.assay_lease AS l (id, token, holder, since, expires)
				VALUES (1, $1, $2, now(), now() + $3::float8 * interval '1 second')
				ON CONFLICT (id) DO UPDATE SET token = excluded.token, holder = excluded.holder, since = excluded.since, expires = excluded.expires
				WHERE l.expires <= now() OR l.token = excluded.token OR l.token = $4`,
				holder.Token, string(text), ttl.Seconds(), gone)
			if err != nil || tag.RowsAffected() == 1 {
				return err
			}
			return p.refuse(ctx, tx)
		})
	}
	if err == nil {
		p.taken.Set(holder)
	}
	return p.advise("take the lease", err)
}

// makeLeaseTable makes the table, in a schema of its own name that is ours or not
// there.
func (p *schema) makeLeaseTable(ctx context.Context) error {
	return p.leaseTransaction(ctx, func(tx pgx.Tx) error {
		if _, err := p.readMark(ctx, tx); err != nil {
			return err
		}
		return all(ctx, tx, []string{
			`CREATE SCHEMA IF NOT EXISTS ` + p.name,
			`CREATE TABLE IF NOT EXISTS ` + p.name + `.assay_lease ` + leaseColumns,
		})
	})
}

// refuse says who has the lease, which has just been found to be another's.
func (p *schema) refuse(ctx context.Context, db querier) error {
	lease, err := p.readLease(ctx, db)
	if err == nil && lease == nil {
		err = p.missing()
	}
	if err != nil {
		return err
	}
	return p.held(lease)
}

// RenewLease moves the expiry on.
func (p *schema) RenewLease(ctx context.Context, token string, ttl time.Duration) error {
	err := p.pool.use(ctx, func(conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, `UPDATE `+p.name+`.assay_lease SET expires = now() + $2::float8 * interval '1 second'
			WHERE token = $1`, token, ttl.Seconds())
		switch {
		case hasCode(err, codeUndefinedTable, codeInvalidSchemaName):
			return p.missing()
		case err != nil || tag.RowsAffected() == 1:
			return err
		}
		return p.refuse(ctx, conn)
	})
	return operation("renew the lease", err)
}

// ReleaseLease deletes the row. The table stays, for whoever comes next.
func (p *schema) ReleaseLease(ctx context.Context, token string) error {
	err := p.pool.use(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `DELETE FROM `+p.name+`.assay_lease WHERE token = $1`, token)
		if hasCode(err, codeUndefinedTable, codeInvalidSchemaName) {
			return nil
		}
		return err
	})
	return operation("release the lease", err)
}
