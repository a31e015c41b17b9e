package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/store"
)

// A pooler (PgBouncer, Odyssey, pgcat) may give each transaction another connection. So behind a
// pooler nothing is used that belongs to a connection: no prepared statements, no settings beyond a
// transaction, no process ids. In session mode this is right too and costs little.

// passedOn are the start parameters that poolers follow for each client (PgBouncer documentation,
// "ignore_startup_parameters" and "track_extra_parameters"). They refuse or ignore others.
func passedOn() []string {
	return []string{"application_name", "client_encoding", "datestyle", "timezone", "standard_conforming_strings"}
}

// refusesParameters reports whether a pooler refused a start parameter. A server answers 42704.
func refusesParameters(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == codeProtocolViolation && strings.Contains(answer.Message, "startup parameter")
}

const codeProtocolViolation = "08P01"

// behindPooler makes a configuration for connections through a pooler. An abandoned session resets
// its connection, so that bytes that have not reached the pooler never do. It returns
// *store.OptionError for an address's parameter that poolers do not pass on.
func behindPooler(config *pgx.ConnConfig, given []string) (*pgx.ConnConfig, error) {
	config = config.Copy()
	for _, name := range slices.Sorted(maps.Keys(config.RuntimeParams)) {
		switch {
		case slices.Contains(passedOn(), strings.ToLower(name)):
		case slices.Contains(given, name):
			return nil, &store.OptionError{Option: "the address's parameter", Value: name,
				Reason: "there is a connection pooler in between, which does not pass it on",
				Want:   "an address without it; ALTER ROLE ... SET or ALTER DATABASE ... SET give sessions a setting"}
		default:
			delete(config.RuntimeParams, name)
		}
	}
	if !slices.Contains(given, execModeParameter) {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := dial(ctx, network, address)
		if tcp, is := raw.(*net.TCPConn); is && err == nil {
			err = tcp.SetLinger(0)
		}
		return raw, err
	}
	return config, nil
}

const execModeParameter = "default_query_exec_mode"

// findPooler connects once. A pooler refuses start parameters, or the process that answers is not
// the one named at the connection's start: a pooler names a number of its own, for cancelling.
func findPooler(ctx context.Context, config *pgx.ConnConfig, address string) (pooled bool, err error) {
	raw, err := pgconn.ConnectConfig(ctx, &config.Copy().Config)
	if refusesParameters(err) {
		return true, nil
	}
	if err != nil {
		return false, connectError(ctx, config, address, err)
	}
	c := conn{raw}
	defer c.HangUp()
	if raw.ParameterStatus("crdb_version") != "" {
		return false, nil // its sessions have no processes
	}
	pid, err := serverProcess(ctx, c, config.ConnectTimeout)
	return err == nil && pid != raw.PID(), err
}

// serverProcess asks for the pid of the answering process. A pooler without a free connection lets
// it wait until limit. It returns *store.OptionError if the process keeps warnings to itself, since
// poolers pass no client_min_messages on, and a commit that no longer waits for its standby is told by
// a warning alone (manual, "Client Connection Defaults", "Synchronous Replication").
func serverProcess(ctx context.Context, c conn, limit time.Duration) (uint32, error) {
	if limit <= 0 {
		limit = store.DefaultConnectTimeout
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var pid int64
	var messages string
	began := time.Now()
	err := sqldb.One(bounded, c, `SELECT pg_catalog.pg_backend_pid()::bigint, pg_catalog.current_setting('client_min_messages')`, nil, &pid, &messages)
	if err != nil && errors.Is(bounded.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("nobody answered the first query for %v; if that is a connection pooler in session mode, "+
			"each client keeps one of its server connections for as long as it lives: run fewer clients than its pool_size, raise that, or use transaction mode, where clients share them: %w", time.Since(began).Round(time.Millisecond), err)
	}
	if err == nil && hidesWarnings(messages) {
		err = &store.OptionError{Option: "the server's setting", Value: parameterMessages + "=" + messages,
			Reason: "behind a connection pooler it hides the server's warning that a commit no longer waited for its standby",
			Want:   "warning or less: ALTER ROLE ... SET, ALTER DATABASE ... SET or the server's configuration give sessions a setting"}
	}
	return uint32(pid), err
}

// hidesWarnings reports whether sessions with this client_min_messages get no warnings.
func hidesWarnings(messages string) bool {
	return slices.Contains([]string{"error", "fatal", "panic"}, strings.ToLower(messages))
}

func (p *schema) way() (settings []store.Setting) {
	if p.pooled {
		settings = append(settings, store.Setting{Name: "pooler", Value: "in between: statements are sent without being prepared and settings hold for one transaction, " +
			"so that any mode of pooling does; response times include waiting for one of its connections to the server"})
	}
	if p.without != nil {
		settings = append(settings, store.Setting{Name: "without effect in the address", Value: strings.Join(p.without, ", ")})
	}
	return settings
}

func searchPath(schema string) string { return "SET LOCAL search_path TO " + schema }

// leftBehindPooler lists running work: of this run's sessions by their name $1, if the pooler
// passes names on ($2); otherwise all of this user's that began before $3.
const leftBehindPooler = `SELECT pid::text, coalesce(state, 'in an unknown state') FROM pg_catalog.pg_stat_activity
	WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid() AND backend_type = 'client backend'
	AND state IS DISTINCT FROM 'idle'
	AND CASE WHEN $2::bool THEN application_name = $1 ELSE xact_start <= $3::text::timestamptz END`

// settlePooled waits until nothing of this run is in flight behind the pooler. All its sessions
// were closed by a reset, so nothing more reaches the pooler. Clients are served in turn (PgBouncer
// documentation, "SHOW CLIENTS"), so earlier waiting work has begun, or was dropped, before this
// connection's query. From then on nothing of the run can begin, and the server shows what has
// begun. Work that lasts is ended if it is surely this run's.
func (p *schema) settlePooled(ctx context.Context) error {
	run, err := p.poolerRun(ctx)
	if nothing := (*store.NoSchemaError)(nil); errors.As(err, &nothing) {
		return nil
	}
	if err != nil {
		return err
	}
	config := p.config.Copy()
	name := p.SessionName(run)
	config.RuntimeParams["application_name"] = name
	raw, err := pgconn.ConnectConfig(ctx, &config.Config)
	if err != nil {
		return connectError(ctx, config, p.address, err)
	}
	c := conn{raw}
	defer c.HangUp()
	var told, began string
	if err := sqldb.One(ctx, c, `SELECT current_setting('application_name'), clock_timestamp()::text`, nil, &told, &began); err != nil {
		return err
	}
	named := told == name
	parameters := []store.Value{store.OfText(name), store.OfBool(named), store.OfText(began)}
	return sqldb.SettleBy(ctx, "transactions are still open behind the pooler", func() (left []string, state string, err error) {
		err = c.Query(ctx, leftBehindPooler, func(row store.Row) error {
			left = append(left, "")
			return row.Scan(&left[len(left)-1], &state)
		}, parameters...)
		return left, state, err
	}, func(pid string) error {
		if !named {
			return nil
		}
		err := sqldb.One(ctx, c, `SELECT pg_terminate_backend(`+pid+`)`, nil, new(bool))
		if hasCode(err, codeInsufficientPrivilege) {
			return nil
		}
		return err
	})
}

func (p *schema) poolerRun(ctx context.Context) (run string, err error) {
	if run = p.Owner(); run != "" {
		return run, nil
	}
	err = p.pool.Use(ctx, func(c conn) (err error) {
		run, err = p.Run(ctx, c)
		return err
	})
	return run, err
}
