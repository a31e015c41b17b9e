package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/keyvalue"
)

// keyValueSchema is a schema with a table of records, whose reads may go to
// another server than its inserts.
type keyValueSchema struct {
	*schema
	// writers and readers are how sessions connect to insert and to read: with
	// the time limit of the address or, as the library, with none.
	writers, readers *pgx.ConnConfig
	read             string
}

// renamed are the names that SQL reserves.
func renamed() map[string]string { return map[string]string{"row": "entry"} }

// OpenKeyValue connects to the target and returns the Store on it, in the schema
// assay_ and the workload's name of the address's database. Which server answers
// reads is chosen by the library out of the hosts of the address: for
// target.Read secondary-preferred as by target_session_attrs=prefer-standby,
// for nearest as by any (PostgreSQL manual, "Database Connection Control
// Functions"); an address of one host has no choice. Other errors are as with
// OpenBank.
//
// A session's connections have no time limit but the address's
// connect_timeout. Without it, a host that went silent holds up the way to the
// next one for as long as the operating system tries, or the caller waits.
func OpenKeyValue(ctx context.Context, target workload.Target, table keyvalue.Table) (keyvalue.Store, error) {
	s, err := openKeyValueSchema(ctx, target, table)
	if err != nil {
		return nil, err
	}
	return sqldb.KeyValue(s, table, renamed()), nil
}

func openKeyValueSchema(ctx context.Context, target workload.Target, table keyvalue.Table) (*keyValueSchema, error) {
	p, err := openSchema(ctx, target, sqldb.KeyValueSchema(table, renamed()))
	if err != nil {
		return nil, err
	}
	p.replicates = true
	s := &keyValueSchema{schema: p, read: target.Read}
	if err := s.choose(target); err != nil {
		p.pool.Close()
		return nil, err
	}
	return s, nil
}

// choose sets how sessions connect.
func (s *keyValueSchema) choose(target workload.Target) error {
	address, _, err := takeDialect(target.Address)
	if err != nil {
		return err
	}
	plain, err := pgx.ParseConfig(address)
	if err != nil { // it was read before
		return malformed(target.Address, err)
	}
	s.writers, s.readers = s.config.Copy(), s.config.Copy()
	s.writers.ConnectTimeout, s.readers.ConnectTimeout = plain.ConnectTimeout, plain.ConnectTimeout
	if s.isolation != "" { // not for readers: a standby has no serializable
		s.writers.RuntimeParams["default_transaction_isolation"] = s.isolation
	}
	switch {
	case s.read == "" || s.read == workload.ReadPrimary:
		s.read = workload.ReadPrimary
	case !s.dialect.standbys:
		return &workload.OptionError{Option: "--read", Value: s.read,
			Want: "primary; in this dialect no server is a standby of another"}
	case len(s.servers) < 2:
		return &workload.OptionError{Option: "--read", Value: s.read,
			Want: "primary; for others the address is to name more than one host"}
	case s.read == workload.ReadSecondaryPreferred:
		s.readers.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPreferStandby
	case s.read == workload.ReadNearest:
		s.readers.ValidateConnect = nil
	default:
		return &workload.OptionError{Option: "--read", Value: s.read, Want: "primary, secondary-preferred, nearest"}
	}
	return nil
}

// current reports whether a statement sees all that was acknowledged before it
// was sent. One server alone shows a statement all that was "committed before
// the query began" (manual, "Read Committed Isolation Level"), and has committed
// what it acknowledged. Where several may take the primary's part, one that does
// not know yet that another has taken it answers with an old state, and nothing
// is promised. CockroachDB promises it of every node, by its clocks: "skew
// outside the configured clock offset bounds can result in violations of
// single-key linearizability" (docs, "Transaction Layer"; see cockroachdb).
func (p *schema) current() bool { return len(p.servers) == 1 || !p.dialect.standbys }

// Promise implements sqldb.KeyValueDatabase; see current.
func (s *keyValueSchema) Promise() string {
	if s.current() {
		return keyvalue.PromiseLinearizable
	}
	return ""
}

func (s *keyValueSchema) Describe(ctx context.Context) (workload.Product, error) {
	product, err := s.schema.Describe(ctx)
	if err != nil {
		return product, err
	}
	limit := "none, the library's default; connect_timeout in the address sets one"
	if t := s.writers.ConnectTimeout; t > 0 {
		limit = t.String() + " a host"
	}
	reads := "the primary"
	switch {
	case !s.dialect.standbys:
		reads = "the node that the session is connected to, which asks the leaseholder"
	case s.read == workload.ReadSecondaryPreferred:
		reads = "a standby if there is one (prefer-standby)"
	case s.read == workload.ReadNearest:
		reads = "the first of the address's hosts that can be reached (any)"
	}
	product.Settings = append(product.Settings,
		workload.Setting{Name: "reads are answered by", Value: reads},
		workload.Setting{Name: "session's time limit to connect", Value: limit},
		workload.Setting{Name: "session's time limit to answer", Value: "none beside the attempt's"},
	)
	return product, nil
}

// everywhereBound is how long the standbys may take to have the table.
const everywhereBound = 30 * time.Second

// behind counts the standbys that have not replayed the log up to a place, and
// names one. Of a user who may not see it the state is null, and nothing
// counts.
const behind = `SELECT count(*), coalesce(min(application_name), '') FROM pg_stat_replication
	WHERE state <> 'backup' AND (replay_lsn IS NULL OR replay_lsn < $1::text::pg_lsn)`

// everywhere returns when every standby that is connected has replayed what
// was written until now, as far as the primary tells.
func (p *schema) everywhere(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, everywhereBound)
	defer cancel()
	end, err := p.committed(ctx)
	if err != nil {
		return fmt.Errorf("ask the primary how far its log goes: %w", err)
	}
	return p.pool.Use(ctx, func(c conn) error {
		return sqldb.CatchUp(ctx, "have the standbys make the schema", func(ctx context.Context) (final bool, err error) {
			var left int
			var who string
			err = sqldb.One(ctx, c, behind, []sqldb.Value{sqldb.OfText(end)}, &left, &who)
			if err == nil && left > 0 {
				return false, fmt.Errorf("%d standbys, %q for one, have not replayed it", left, who)
			}
			return true, err
		})
	})
}

// ConnectKeyValue implements sqldb.KeyValueDatabase. Where another server than the
// primary answers reads, a session connects only when it is used, so that who
// reads does not wait for a primary.
func (s *keyValueSchema) ConnectKeyValue(ctx context.Context, statements []sqldb.Statement) (sqldb.Executor, error) {
	r := &sqldb.Routed{Apart: s.read != workload.ReadPrimary, Connect: func(ctx context.Context, read bool) (*sqldb.Session, error) {
		if read {
			return s.connectBy(ctx, s.readers, statements)
		}
		return s.connectBy(ctx, s.writers, statements)
	}}
	if r.Apart {
		return r, nil
	}
	_, err := r.Open(ctx, false)
	return r, err
}
