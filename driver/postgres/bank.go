package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/bank"
)

// OpenBank connects to the target and returns the bank on it, in the schema
// assay_bank of the address's database. Errors: *workload.OptionError for an
// address or an isolation level that cannot be used, *workload.UnreachableError
// after at most the target's ConnectTimeout a host, *workload.AuthError.
//
// The parameter default_query_exec_mode of the address, if it is exec,
// simple_protocol, describe_exec or cache_describe, does without prepared
// statements, for connection poolers that cannot carry them; the transfer then
// is still one round trip.
func OpenBank(ctx context.Context, target workload.Target) (bank.Store, error) {
	p, err := openSchema(ctx, target, sqldb.BankSchema())
	if err != nil {
		return nil, err
	}
	return sqldb.Bank(p), nil
}

// AuditView implements sqldb.BankDatabase. An audit can fail with a serialization
// failure where transfers are serializable, for then so is this: a snapshot alone
// can show a state that no serial order of the transfers has (the read-only
// transaction anomaly; Fekete, O'Neil and O'Neil, SIGMOD Record 33/3, 2004).
func (p *schema) AuditView(ctx context.Context, read func(sqldb.Reader) error) error {
	options := pgx.TxOptions{IsoLevel: p.dialect.snapshot, AccessMode: pgx.ReadOnly}
	if p.level == serializable {
		options.IsoLevel = pgx.Serializable
	}
	err := p.pool.use(ctx, func(conn *pgx.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, options, func(pgx.Tx) error { return read(reader{conn}) })
	})
	if hasCode(err, codeUndefinedTable, codeInvalidSchemaName) {
		err = p.missing()
	}
	return operation("audit", err)
}
