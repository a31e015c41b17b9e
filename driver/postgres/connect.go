// Package postgres drives PostgreSQL, and products with its protocol, through pgx.
//
// It must not know how load is made, checked or reported.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/encryption"
	"assay/driver/sqldb"
	"assay/driver/uri"
	"assay/store"
)

// SQLSTATE codes by their names in PostgreSQL's manual, appendix A.
const (
	codeNotNullViolation      = "23502"
	codeUniqueViolation       = "23505"
	codeCheckViolation        = "23514"
	codeReadOnlyTransaction   = "25006"
	codeIdleInTransaction     = "25P03"
	codeTransactionTimeout    = "25P04"
	codeInvalidAuthorization  = "28000"
	codeInvalidPassword       = "28P01"
	codeInvalidCatalogName    = "3D000"
	codeInvalidSchemaName     = "3F000"
	codeSerializationFailure  = "40001"
	codeStatementUnknown      = "40003"
	codeDeadlockDetected      = "40P01"
	codeDependentObjects      = "2BP01"
	codeInsufficientPrivilege = "42501"
	codeUndefinedTable        = "42P01"
	codeTooManyConnections    = "53300"
	codeLockNotAvailable      = "55P03"
	codeQueryCanceled         = "57014"
	codeAdminShutdown         = "57P01"
	codeCrashShutdown         = "57P02"
	codeCannotConnectNow      = "57P03"
	codeDatabaseDropped       = "57P04"
	codeIdleSessionTimeout    = "57P05"
)

// applicationName is for all connections except those of sessions.
const applicationName = "assay"

const (
	wantAddress   = "postgres://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE, with characters such as @ : / # ? in the password percent-encoded"
	hintPrivilege = "the user needs the privilege CREATE on the database (GRANT CREATE ON DATABASE ... TO ...)"
	hintReadOnly  = "this server is a standby, or default_transaction_read_only is on for it, the database or the user; turn the setting off, or give the primary's address, or several hosts and target_session_attrs=read-write"
	hintTimeout   = "if a time limit of the server, the database or the user ended it (statement_timeout, for instance), have the user a longer one, since the limit is for assay's own statements too, or add statement_timeout=0 to the address, which lifts it for the run as well"
)

func hints() map[sqldb.ErrorKind]string {
	return map[sqldb.ErrorKind]string{sqldb.NotAllowed: hintPrivilege, sqldb.NoWrites: hintReadOnly, sqldb.TimedOut: hintTimeout}
}

func hintOwner(schema, owner, user string) string {
	return fmt.Sprintf("schema %s belongs to user %s, and this is user %s: connect as %[2]s, have %[2]s drop it (a run with --drop does), or name another database in the address",
		schema, owner, user)
}

// parse reads the target's address and the PG* variables of PostgreSQL's clients. Of several hosts
// it chooses the primary, unless the address says otherwise (target_session_attrs): a standby takes
// no writes and lags behind. dialect is the address's, or empty.
func parse(target store.Target) (config *pgx.ConnConfig, dialect string, err error) {
	a, err := read(target)
	if err != nil {
		return nil, "", err
	}
	return a.config, a.dialect, nil
}

type parsedAddress struct {
	config  *pgx.ConnConfig
	dialect string
	// given are the address's parameters for the server's sessions, and execModeParameter.
	// without are libpq's parameters without effect.
	given, without []string
	// servers is a configuration of the servers in nodesParameter; nil without it.
	servers *pgx.ConnConfig
}

func read(target store.Target) (a parsedAddress, err error) {
	text, dialect, err := takeDialect(target.Address)
	if err != nil {
		return a, err
	}
	text, lookup, err := takeHostaddr(uri.KeepPlus(text))
	if err != nil {
		return a, err
	}
	config, err := parseConfig(text)
	if refused := (*store.OptionError)(nil); errors.As(err, &refused) {
		return a, err
	}
	if err != nil {
		if err := checkFiles(text); err != nil {
			return a, err
		}
		return a, malformed(target.Address, err)
	}
	if lookup != nil {
		byName := config.LookupFunc
		config.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
			if addr, is := lookup(host); is {
				return []string{addr}, nil
			}
			return byName(ctx, host)
		}
	}
	without, err := takeLibpq(config)
	if err != nil {
		return a, err
	}
	nodes, named := config.RuntimeParams[nodesParameter]
	delete(config.RuntimeParams, nodesParameter)
	config.ConnectTimeout = target.FirstContact()
	given := slices.Collect(maps.Keys(config.RuntimeParams))
	if strings.Contains(text, execModeParameter+"=") {
		given = append(given, execModeParameter)
	}
	config.RuntimeParams["application_name"] = applicationName
	pin(config)
	if config.ValidateConnect == nil && len(serversOf(config, false)) > 1 && dialect != cockroachdb().name {
		config.ValidateConnect = validatePrimary
	}
	a = parsedAddress{config: config, dialect: dialect, given: given, without: without}
	if named {
		a.servers, err = namedNodes(config, nodes)
	}
	return a, err
}

// malformed explains an address that the library cannot read. The library's error quotes the
// address; only its innermost error is shown, such as a missing file of certificates.
func malformed(text string, err error) error {
	return &store.OptionError{Option: "address", Value: store.Redact(text),
		Reason: store.MalformedReason(text, errors.Unwrap(err)), Want: wantAddress}
}

const serializable = "serializable"

// isolationLevel is the level in SQL's words, or "" for the server's default. PostgreSQL would run
// "read uncommitted" as read committed; such a name is refused.
func isolationLevel(name string, levels []string) (string, error) {
	level := strings.ToLower(strings.TrimSpace(strings.ReplaceAll(name, "-", " ")))
	if level != "" && !slices.Contains(levels, level) {
		return "", &store.OptionError{Option: "isolation level", Value: name, Want: strings.Join(levels, ", ")}
	}
	return level, nil
}

// connectError explains a failed connection without showing the configuration. The end of ctx, the
// caller's, is passed on.
func connectError(ctx context.Context, config *pgx.ConnConfig, address string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("connect to %s: %w", address, ctx.Err())
	}
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		if text, ok := encryption.Reason(err, advice()); ok {
			return &store.UnreachableError{Address: address, Err: errors.New(text)}
		}
		return &store.UnreachableError{Address: address, Err: plain(err)}
	}
	switch answer.Code {
	case codeInvalidPassword, codeInvalidAuthorization, codeInsufficientPrivilege:
		return &store.AuthError{Address: address, User: config.User, Reason: refusedUser(answer.Message)}
	case codeInvalidCatalogName:
		return fmt.Errorf("there is no database %q on %s; create it, or name another one in the address: %w",
			config.Database, address, answer)
	case codeTooManyConnections:
		return fmt.Errorf("%s has no connection left; raise max_connections (or the user's limit), or run fewer clients: %w",
			address, answer)
	case codeCannotConnectNow, codeAdminShutdown, codeCrashShutdown:
		return &store.UnreachableError{Address: address, Err: answer}
	default:
		return fmt.Errorf("connect to %s: %w", address, answer)
	}
}

// plain reduces pgx's error to its distinct lines. The error has the whole configuration and
// repeats itself for each way of connecting.
func plain(err error) error {
	var failure *pgconn.ConnectError
	if errors.As(err, &failure) {
		err = failure.Unwrap()
	}
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return errors.New(strings.Join(lines, "; "))
}

func hasCode(err error, codes ...string) bool {
	if err == nil {
		return false // and nothing is allocated
	}
	var answer *pgconn.PgError
	return errors.As(err, &answer) && slices.Contains(codes, answer.Code)
}

// Configuration reads an address for other code that speaks the protocol. Errors are
// *store.OptionError.
func Configuration(address string) (*pgconn.Config, error) {
	a, err := read(store.Target{Address: address})
	if err != nil {
		return nil, err
	}
	return &a.config.Config, nil
}
