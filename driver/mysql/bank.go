package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/bank"
)

// bankSchema is the bank's database.
const bankSchema = schemaPrefix + "bank"

// bankStore implements bank.Store.
type bankStore struct{ *schema }

// OpenBank connects to the target and returns the bank on it, in the database
// assay_bank. Errors: *workload.OptionError for an address or an isolation level
// that cannot be used, *workload.UnreachableError after at most the target's
// ConnectTimeout a host, *workload.AuthError.
//
// The address is mysql://USER:PASSWORD@HOST:PORT,HOST:PORT/?OPTION=VALUE. Of
// several hosts the first that answers and takes writes is used; with
// balance=random each session begins at another one. engine=NAME chooses the
// storage engine of the tables, statements=together or apart how a transfer is
// sent (see bankSession), ssl-mode, ssl-ca, ssl-cert and ssl-key encrypt (see
// readEncryption), and all other options are session variables of the server.
func OpenBank(ctx context.Context, target workload.Target) (bank.Store, error) {
	p, err := openSchema(ctx, target, sqldb.BankSchema())
	if err != nil {
		return nil, err
	}
	return &bankStore{p}, nil
}

// LoadAccounts inserts all of a batch with one statement.
func (s *bankStore) LoadAccounts(ctx context.Context, batch []bank.Account) error {
	if len(batch) == 0 {
		return nil
	}
	var statement strings.Builder
	statement.WriteString(`INSERT INTO ` + bankSchema + `.account (id, balance, version) VALUES `)
	for i, a := range batch {
		if i > 0 {
			statement.WriteByte(',')
		}
		fmt.Fprintf(&statement, "(%d,%d,%d)", a.ID, a.Balance, a.Version)
	}
	err := s.use(ctx, func(c *conn) error {
		n, err := c.affected(ctx, statement.String())
		if err == nil && n != int64(len(batch)) {
			err = fmt.Errorf("the server took %d of %d accounts", n, len(batch))
		}
		return err
	})
	return advise("load accounts", err)
}

// FinishLoad sets the mark, and brings the statistics up to date now, which the
// server would else do in the middle of the run.
func (s *bankStore) FinishLoad(ctx context.Context) error {
	err := s.use(ctx, func(c *conn) error {
		if err := s.setLoaded(ctx, c); err != nil {
			return err
		}
		return c.exec(ctx, `ANALYZE NO_WRITE_TO_BINLOG TABLE `+bankSchema+`.account`)
	})
	if err == nil {
		err = s.everywhere(ctx)
	}
	return operation("finish loading", err)
}

const (
	readAccounts = `SELECT id, balance, version FROM ` + bankSchema + `.account ORDER BY id`
	readJournal  = `SELECT id, source, destination, amount, source_version, destination_version FROM ` + bankSchema + `.transfer`
)

// Read implements bank.Store.
func (s *bankStore) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	return s.readFrom(ctx, nil, account, entry)
}

// readFrom reads accounts and journal from this host; nil is any that takes
// writes.
func (s *bankStore) readFrom(ctx context.Context, from *host, account func(bank.Account) error, entry func(bank.Entry) error) error {
	return s.view(ctx, from, func(c *conn) error {
		err := c.query(ctx, func(row []driver.Value) error {
			var a bank.Account
			if err := numbers(row, &a.ID, &a.Balance, &a.Version); err != nil {
				return err
			}
			return stopped(account(a))
		}, readAccounts)
		if err != nil {
			return err
		}
		return c.query(ctx, func(row []driver.Value) error {
			var e bank.Entry
			err := numbers(row, &e.ID, &e.Source, &e.Destination, &e.Amount, &e.SourceVersion, &e.DestinationVersion)
			if err != nil {
				return err
			}
			return stopped(entry(e))
		}, readJournal)
	})
}

var _ bank.Auditor = (*bankStore)(nil)

// Audit implements bank.Auditor.
func (s *bankStore) Audit(ctx context.Context, ids []int64, states []bank.State) error {
	if len(ids) > bank.MaxAudited || len(states) < len(ids) {
		return fmt.Errorf("mysql: audit of %d accounts into %d states; at most %d", len(ids), len(states), bank.MaxAudited)
	}
	return operation("audit", s.auditing(ctx, func(c *conn) error {
		for i, id := range ids {
			states[i] = bank.State{}
			err := c.query(ctx, func(row []driver.Value) error { return numbers(row, &states[i].Balance, &states[i].Version) },
				`SELECT balance, version FROM `+bankSchema+`.account WHERE id = `+strconv.FormatInt(id, 10))
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// AuditAll implements bank.Auditor.
func (s *bankStore) AuditAll(ctx context.Context) (bank.Totals, error) {
	var t bank.Totals
	err := s.auditing(ctx, func(c *conn) error {
		return c.one(ctx, `SELECT count(*), coalesce(sum(balance), 0), coalesce(sum(version), 0) FROM `+bankSchema+`.account`,
			nil, &t.Accounts, &t.Balance, &t.Versions)
	})
	if err != nil {
		return bank.Totals{}, operation("audit of all accounts", err)
	}
	return t, nil
}

// auditing runs work in one read-only transaction that sees one snapshot. That
// is a state between two commits also where transfers are serializable, which
// InnoDB does by locks: they commit in an order in which they could have run one
// by one.
//
// An audit is judged by what was acknowledged before it, on any node. A Galera
// node shows that where it is asked to (wsrep_sync_wait), and promises nothing
// where it is not; so it is asked, unless the address says something else.
func (s *bankStore) auditing(ctx context.Context, work func(*conn) error) error {
	err := s.use(ctx, func(c *conn) error {
		before := `SET TRANSACTION ISOLATION LEVEL ` + repeatableRead
		if s.waitsInAudits() {
			before = `SET SESSION wsrep_sync_wait = 1; ` + before
		}
		if err := c.exec(ctx, before); err != nil {
			return err
		}
		return c.inTransaction(ctx, `START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY`, func() error { return work(c) })
	})
	if hasCode(err, codeNoSuchTable, codeUnknownDatabase) {
		return s.missing()
	}
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) && err != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// waitsInAudits reports whether audits are to wait until their node has applied
// what the cluster has committed.
func (p *schema) waitsInAudits() bool {
	return p.server.galera && !slices.ContainsFunc(p.variables, func(v variable) bool { return v.name == "wsrep_sync_wait" })
}
