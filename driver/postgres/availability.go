package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/availability"
)

// availabilitySchema is the place of workload availability in the database.
const availabilitySchema = "assay_availability"

// availabilityStore implements availability.Store.
type availabilityStore struct {
	*schema
	// writers and readers are how sessions connect to insert and to read: with
	// the time limit of the address or, as the library, with none.
	writers, readers *pgx.ConnConfig
	read             string
}

// OpenAvailability connects to the target and returns the Store on it, in the
// schema assay_availability of the address's database. Which server answers
// reads is chosen by the library out of the hosts of the address: for
// target.Read secondary-preferred as by target_session_attrs=prefer-standby,
// for nearest as by any (PostgreSQL manual, "Database Connection Control
// Functions"); an address of one host has no choice. Other errors are as with
// OpenBank.
//
// A session's connections have no time limit but the address's
// connect_timeout. Without it, a host that went silent holds up the way to the
// next one for as long as the operating system tries, or the caller waits.
func OpenAvailability(ctx context.Context, target workload.Target) (availability.Store, error) {
	p, err := openSchema(ctx, target, sqldb.Schema{Workload: "availability", Transactions: true})
	if err != nil {
		return nil, err
	}
	s := &availabilityStore{schema: p, read: target.Read}
	if err := s.choose(target); err != nil {
		p.pool.close()
		return nil, err
	}
	return s, nil
}

// choose sets how sessions connect.
func (s *availabilityStore) choose(target workload.Target) error {
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

// Promise implements availability.Promising; see current.
func (s *availabilityStore) Promise() string {
	if s.current() {
		return availability.PromiseLinearizable
	}
	return ""
}

// Describe implements availability.Store.
func (s *availabilityStore) Describe(ctx context.Context) (workload.Product, error) {
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

// Find implements availability.Store.
func (s *availabilityStore) Find(ctx context.Context) (*workload.Leftover, error) {
	return s.find(ctx, "entry")
}

// Size implements availability.Store.
func (s *availabilityStore) Size(ctx context.Context) (workload.Size, error) {
	return s.size(ctx, "entry")
}

// Create implements availability.Store.
func (s *availabilityStore) Create(ctx context.Context, mark workload.Marker) error {
	err := s.create(ctx, mark, []string{
		`CREATE TABLE ` + availabilitySchema + `.entry (key bigint PRIMARY KEY, value bigint NOT NULL)`,
	})
	if err != nil || !s.dialect.standbys {
		return err
	}
	return s.everywhere(ctx)
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
func (s *availabilityStore) everywhere(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, everywhereBound)
	defer cancel()
	end, err := s.committed(ctx)
	if err != nil {
		return operation("ask the primary how far its log goes", err)
	}
	err = s.pool.use(ctx, func(conn *pgx.Conn) error {
		pause := time.NewTicker(catchUpInterval)
		defer pause.Stop()
		for {
			var left int
			var who string
			if err := conn.QueryRow(ctx, behind, end).Scan(&left, &who); err != nil {
				return err
			}
			if left == 0 {
				return nil
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%d standbys, %q for one, have not replayed it: %w", left, who, ctx.Err())
			case <-pause.C:
			}
		}
	})
	return operation("have the standbys make the schema", err)
}

const readEntries = `SELECT key, value FROM ` + availabilitySchema + `.entry`

// Read implements availability.Store.
func (s *availabilityStore) Read(ctx context.Context, row func(availability.Row) error) error {
	return s.view(ctx, s.pool, func(conn *pgx.Conn) error {
		return stream(ctx, conn, readEntries, func(columns [][]byte) error {
			var r availability.Row
			if err := bigints(columns, &r.Key, &r.Value); err != nil {
				return err
			}
			return stopped(row(r))
		})
	})
}
