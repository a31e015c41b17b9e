package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"assay/workload"
	"assay/workload/bank"
)

// schema is the bank's place in the database.
const schema = "assay_bank"

// bankStore implements bank.Store.
type bankStore struct {
	config    *pgx.ConnConfig
	address   string // printable
	isolation string // in SQL's words, "" for the server's default
	pool      *pool

	mu       sync.Mutex
	sessions map[*bankSession]struct{}
}

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
	config, err := parse(target)
	if err != nil {
		return nil, err
	}
	isolation, err := isolationLevel(target.Isolation)
	if err != nil {
		return nil, err
	}
	s := &bankStore{
		config: config, address: workload.Redact(target.Address), isolation: isolation,
		sessions: make(map[*bankSession]struct{}),
	}
	s.pool = newPool(config, s.address)
	if err := s.pool.use(ctx, func(*pgx.Conn) error { return nil }); err != nil {
		return nil, operation("connect", err)
	}
	return s, nil
}

// Close closes what is not in use; a session is closed by whoever opened it.
func (s *bankStore) Close() error {
	s.pool.close()
	return nil
}

// advise adds to an error what the user can do about it.
func (s *bankStore) advise(name string, err error) error {
	switch {
	case hasCode(err, codeInsufficientPrivilege):
		err = fmt.Errorf("%w; %s", err, hintPrivilege)
	case hasCode(err, codeReadOnlyTransaction):
		err = fmt.Errorf("%w; %s", err, hintReadOnly)
	}
	return operation(name, err)
}
