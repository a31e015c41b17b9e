package mysql

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"assay/workload"
)

// leaseColumns are those of the table assay_lease, which has one row or none. Its
// moments are in UTC.
const leaseColumns = `id TINYINT PRIMARY KEY, token VARCHAR(100) NOT NULL, holder TEXT NOT NULL,
	since DATETIME(6) NOT NULL, expires DATETIME(6) NOT NULL`

// leaseTries bounds how often a change of the lease is tried that met another
// one's: a Galera node answers a change that lost against another node's with a
// deadlock.
const leaseTries = 20

// leaseUse is use for what changes or reads the lease. On Galera a statement sees
// what the cluster has committed until now (wsrep_sync_wait, all kinds), so that
// every node tells the same.
func (p *schema) leaseUse(ctx context.Context, doing string, work func(*conn) error) error {
	err := p.use(ctx, func(c *conn) error {
		if !c.look.galera {
			return work(c)
		}
		if err := c.exec(ctx, `SET SESSION wsrep_sync_wait = 15`); err != nil {
			return err
		}
		err := work(c)
		if undone := c.exec(ctx, `SET SESSION wsrep_sync_wait = DEFAULT`); undone != nil {
			c.hangUp()
		}
		return err
	})
	return advise(doing, err)
}

// leaseTable is the table's full name.
func (p *schema) leaseTable() string { return p.name + ".assay_lease" }

// readLease returns the lease, nil if there is none.
func (p *schema) readLease(ctx context.Context, c *conn) (lease *workload.Lease, err error) {
	err = c.query(ctx, func(row []driver.Value) error {
		var since, remaining int64
		if err := numbers(row[2:], &since, &remaining); err != nil || text(row[0]) == "" {
			return err // or it is nobody's
		}
		lease = workload.NewLease(text(row[0]), []byte(text(row[1])), time.UnixMicro(since), time.Duration(remaining)*time.Microsecond)
		return nil
	}, `SELECT token, holder, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', since), TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires) FROM `+p.leaseTable())
	if hasCode(err, codeNoSuchTable, codeUnknownDatabase) {
		return nil, nil
	}
	return lease, err
}

// admit gives *workload.HeldError if another holds the lease.
func (p *schema) admit(ctx context.Context, c *conn) error {
	lease, err := p.readLease(ctx, c)
	if err == nil && lease.Excludes(p.taken.Holder().Token) {
		err = p.held(lease)
	}
	return err
}

func (p *schema) held(lease *workload.Lease) error {
	return &workload.HeldError{Name: fmt.Sprintf("database %q", p.name), Lease: *lease}
}

// refuse says who has the lease, which has just been found to be another's.
func (p *schema) refuse(ctx context.Context, c *conn) error {
	lease, err := p.readLease(ctx, c)
	if err == nil && lease == nil {
		err = p.missing()
	}
	if err != nil {
		return err
	}
	return p.held(lease)
}

// Lease reads the row.
func (p *schema) Lease(ctx context.Context) (lease *workload.Lease, err error) {
	err = p.leaseUse(ctx, "look for a lease", func(c *conn) error {
		lease, err = p.readLease(ctx, c)
		return err
	})
	return lease, err
}

// TakeLease makes sure that there is a row, of nobody and expired, and then takes
// it with one UPDATE that the row itself must allow: of several that come at the
// same time one changes it, and the others then find it alive.
func (p *schema) TakeLease(ctx context.Context, holder workload.Holder, ttl time.Duration, gone string) error {
	content, err := json.Marshal(holder)
	if err != nil {
		return operation("take the lease", err)
	}
	err = p.leaseUse(ctx, "take the lease", func(c *conn) error {
		if _, err := p.readMark(ctx, c); err != nil {
			return err
		}
		return clashing(ctx, func() error {
			if err := p.makeLease(ctx, c); err != nil {
				return err
			}
			n, err := c.affected(ctx, `UPDATE `+p.leaseTable()+` SET token = ?, holder = ?, since = UTC_TIMESTAMP(6),
				expires = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
				WHERE id = 1 AND (expires <= UTC_TIMESTAMP(6) OR token = ? OR token = ?)`,
				holder.Token, string(content), ttl.Microseconds(), holder.Token, gone)
			if err != nil || n == 1 {
				return err
			}
			return p.refuse(ctx, c)
		})
	})
	if err == nil {
		p.taken.Set(holder)
	}
	return err
}

// makeLease makes the database, the table and the row where they are missing.
func (p *schema) makeLease(ctx context.Context, c *conn) error {
	for _, statement := range []string{
		`CREATE DATABASE IF NOT EXISTS ` + p.name + ` CHARACTER SET utf8mb4`,
		`CREATE TABLE IF NOT EXISTS ` + p.leaseTable() + ` (` + leaseColumns + `) ENGINE=` + p.engine,
		`INSERT IGNORE INTO ` + p.leaseTable() + ` VALUES (1, '', '', UTC_TIMESTAMP(6), '1970-01-01')`,
	} {
		if err := c.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// clashing does work, again if it met another's change.
func clashing(ctx context.Context, work func() error) error {
	for try := 1; ; try++ {
		err := work()
		if !hasCode(err, codeDeadlock, codeLockWaitTimeout, codeNoSuchTable, codeUnknownDatabase) || try == leaseTries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(try) * 5 * time.Millisecond):
		}
	}
}

// RenewLease moves the expiry on.
func (p *schema) RenewLease(ctx context.Context, token string, ttl time.Duration) error {
	return p.leaseUse(ctx, "renew the lease", func(c *conn) error {
		return clashing(ctx, func() error {
			n, err := c.affected(ctx, `UPDATE `+p.leaseTable()+` SET expires = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND WHERE token = ?`,
				ttl.Microseconds(), token)
			if hasCode(err, codeNoSuchTable, codeUnknownDatabase) {
				return p.missing()
			}
			if err != nil || n == 1 {
				return err
			}
			return p.refuse(ctx, c)
		})
	})
}

// ReleaseLease deletes the row. The table stays, for whoever comes next.
func (p *schema) ReleaseLease(ctx context.Context, token string) error {
	return p.leaseUse(ctx, "release the lease", func(c *conn) error {
		return clashing(ctx, func() error {
			err := c.exec(ctx, `DELETE FROM `+p.leaseTable()+` WHERE token = ?`, token)
			if hasCode(err, codeNoSuchTable, codeUnknownDatabase) {
				return nil
			}
			return err
		})
	})
}
