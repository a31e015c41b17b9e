package postgres

import (
	"context"

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
	return sqldb.Opened(sqldb.Bank)(openSchema(ctx, target, sqldb.BankSchema()))
}
