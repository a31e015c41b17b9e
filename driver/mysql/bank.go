package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/bank"
)

// OpenBank connects to the target and returns the bank on it, in the database
// assay_bank. Errors: *workload.OptionError for an address or an isolation level
// that cannot be used, *workload.UnreachableError after at most the target's
// ConnectTimeout a host, *workload.AuthError.
//
// The address is mysql://USER:PASSWORD@HOST:PORT,HOST:PORT/?OPTION=VALUE. Of
// several hosts the first that answers and takes writes is used; with
// balance=random each session begins at another one. engine=NAME chooses the
// storage engine of the tables, statements=together or apart how a transfer is
// sent (see Batch), ssl-mode, ssl-ca, ssl-cert and ssl-key encrypt (see
// readEncryption), and all other options are session variables of the server.
func OpenBank(ctx context.Context, target workload.Target) (bank.Store, error) {
	p, err := openSchema(ctx, target, sqldb.BankSchema())
	if err != nil {
		return nil, err
	}
	return sqldb.Bank(p), nil
}

// AuditView implements sqldb.BankDatabase: one read-only transaction that sees one
// snapshot. That is a state between two commits also where transfers are
// serializable, which InnoDB does by locks: they commit in an order in which they
// could have run one by one.
//
// An audit is judged by what was acknowledged before it, on any node. A Galera
// node shows that where it is asked to (wsrep_sync_wait), and promises nothing
// where it is not; so it is asked, unless the address says something else.
func (p *schema) AuditView(ctx context.Context, read func(sqldb.Reader) error) error {
	err := p.use(ctx, func(c *conn) error {
		before := `SET TRANSACTION ISOLATION LEVEL ` + repeatableRead
		if p.waitsInAudits() {
			before = `SET SESSION wsrep_sync_wait = 1; ` + before
		}
		if err := c.exec(ctx, before); err != nil {
			return err
		}
		return c.inTransaction(ctx, p.dialect.snapshot, func() error { return read(reader{c}) })
	})
	if hasCode(err, codeNoSuchTable, codeUnknownDatabase) {
		err = p.missing()
	}
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) && err != nil {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return operation("audit", err)
}

// waitsInAudits reports whether audits are to wait until their node has applied
// what the cluster has committed.
func (p *schema) waitsInAudits() bool {
	return p.server.galera && !slices.ContainsFunc(p.variables, func(v variable) bool { return v.name == "wsrep_sync_wait" })
}
