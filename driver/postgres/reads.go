package postgres

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/replicas"
	"assay/driver/sqldb"
	"assay/store"
)

// reads is for workloads whose reads may go to another server than the inserts.
type reads struct {
	// writers and readers connect sessions, with the address's time limit or, as in the library,
	// with none.
	writers, readers *pgx.ConnConfig
	from             string // as Target.Read, never empty
}

func reserved() map[string]string { return map[string]string{"row": "entry"} }

// chooseReads sets how sessions connect. The library chooses the reading server among the address's
// hosts: secondary-preferred is target_session_attrs=prefer-standby, nearest is any (PostgreSQL
// manual, "Database Connection Control Functions").
//
// Only the address's connect_timeout limits a session's connecting. Without it, a silent host
// delays the next one for as long as the operating system or the caller waits.
func (p *schema) chooseReads(target store.Target) error {
	address, _, err := takeDialect(target.Address)
	if err != nil {
		return err
	}
	plain, err := parseConfig(address)
	if err != nil { // it was read before
		return malformed(target.Address, err)
	}
	r := &reads{p.config.Copy(), p.config.Copy(), cmp.Or(target.Read, store.ReadPrimary)}
	p.reads = r
	r.writers.ConnectTimeout, r.readers.ConnectTimeout = plain.ConnectTimeout, plain.ConnectTimeout
	if p.isolation != "" && !p.pooled { // not for readers: a standby has no serializable
		r.writers.RuntimeParams["default_transaction_isolation"] = p.isolation
	}
	want := ""
	switch {
	case r.from == store.ReadPrimary:
	case p.Judged && p.level == serializable: // manual, "Serializable Consistency"
		want = "primary; a hot standby has no serializable: --isolation 'repeatable read' is its strictest level"
	case !p.dialect.standbys:
		want = "primary; in this dialect no server is a standby of another"
	case p.behind:
		want = "primary; clients connect to none of the servers in " + nodesParameter + ", but to what is before them"
	case len(p.servers) < 2:
		want = "primary; for others the address is to name more than one host"
	case r.from == store.ReadSecondaryPreferred:
		r.readers.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPreferStandby
	case r.from == store.ReadNearest:
		r.readers.ValidateConnect = nil
	default:
		want = "primary, secondary-preferred, nearest"
	}
	if want != "" {
		return &store.OptionError{Option: "--read", Value: r.from, Want: want}
	}
	return nil
}

// current reports whether a statement sees everything acknowledged before it was sent. A single
// server promises that (manual, "Read Committed Isolation Level"). If several may be primary, one
// that does not yet know of a promotion answers with an old state. CockroachDB promises it of every
// node while clocks stay within their offset (docs, "Transaction Layer"; see cockroachdb).
func (p *schema) current() bool { return len(p.servers) == 1 || !p.dialect.standbys }

// Promises implements store.Database; see current.
func (p *schema) Promises() store.Promises {
	if p.current() {
		return sqldb.Promises(p.promise, store.Linearizable)
	}
	return sqldb.Promises(p.promise, "")
}

// describe says who answers reads, and how long a session waits for a connection.
func (r *reads) describe(standbys bool) []store.Setting {
	limit := "none, the library's default; connect_timeout in the address sets one"
	if t := r.writers.ConnectTimeout; t > 0 {
		limit = t.String() + " a host"
	}
	by := "the primary"
	switch {
	case !standbys:
		by = "the node that the session is connected to, which asks the leaseholder"
	case r.from == store.ReadSecondaryPreferred:
		by = "a standby if there is one (prefer-standby)"
	case r.from == store.ReadNearest:
		by = "the first of the address's hosts that can be reached (any)"
	}
	return []store.Setting{
		{Name: "reads are answered by", Value: by}, {Name: "session's time limit to connect", Value: limit},
		{Name: "session's time limit to answer", Value: "none beside the attempt's"},
	}
}

const everywhereBound = 30 * time.Second

// behind counts the standbys that have not replayed up to a place, and names one. Without the
// privilege the state is null, and nothing counts.
const behind = `SELECT count(*), coalesce(min(application_name), '') FROM pg_stat_replication
	WHERE state <> 'backup' AND ` + replays + ` AND (replay_lsn IS NULL OR replay_lsn < $1::text::pg_lsn)`

// replays is true of a standby, which names in each of its messages how far it has replayed. A
// receiver of log (pg_receivewal, or pg_basebackup beside its copy) replays nothing.
const replays = `NOT (replay_lsn IS NULL AND write_lsn IS NOT NULL)`

// everywhere returns when every standby known to the primary has replayed everything written so
// far.
func (p *schema) everywhere(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, everywhereBound)
	defer cancel()
	end, err := p.committed(ctx)
	if err != nil {
		return fmt.Errorf("ask the primary how far its log goes: %w", err)
	}
	return p.pool.Use(ctx, func(c conn) error {
		return replicas.CatchUp(ctx, "have the standbys make the schema", func(ctx context.Context) (final bool, err error) {
			var left int
			var who string
			err = sqldb.One(ctx, c, behind, []store.Value{store.OfText(end.lsn)}, &left, &who)
			if err == nil && left > 0 {
				return false, fmt.Errorf("%d standbys, %q for one, have not replayed it", left, who)
			}
			return true, err
		})
	})
}

// connectApart is Connect for reads elsewhere. A session then connects at first use, so that
// readers do not wait for a primary.
func (p *schema) connectApart(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
	r := &sqldb.Routed{Apart: p.reads.from != store.ReadPrimary, Connect: func(ctx context.Context, read bool) (*sqldb.Session, error) {
		if read {
			return p.connectBy(ctx, p.reads.readers, statements)
		}
		return p.connectBy(ctx, p.reads.writers, statements)
	}}
	if r.Apart {
		return r, nil
	}
	_, err := r.Open(ctx, false)
	return r, err
}
