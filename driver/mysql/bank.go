package mysql

import (
	"context"

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
	return sqldb.Opened(sqldb.Bank)(openSchema(ctx, target, sqldb.BankSchema()))
}
