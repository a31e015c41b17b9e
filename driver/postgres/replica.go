package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/workload/bank"
)

var _ sqldb.ReplicatedDatabase = (*schema)(nil)

// addressed is one of the servers that the address names, with connections to it
// alone.
type addressed struct {
	name string // host:port
	pool *pool
}

// serversOf takes a configuration of several hosts apart. The ways to one host
// (with TLS and without) stay together, and what the address wants of a server
// (target_session_attrs) is not asked for.
func serversOf(config *pgx.ConnConfig) []addressed {
	ways := []*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}
	ways = append(ways, config.Fallbacks...)
	var servers []addressed
	known := make(map[string]*pgx.ConnConfig)
	for _, way := range ways {
		name := net.JoinHostPort(way.Host, strconv.Itoa(int(way.Port)))
		if c := known[name]; c != nil {
			c.Fallbacks = append(c.Fallbacks, way)
			continue
		}
		c := config.Copy()
		c.Host, c.Port, c.TLSConfig, c.Fallbacks, c.ValidateConnect = way.Host, way.Port, way.TLSConfig, nil, nil
		known[name] = c
		servers = append(servers, addressed{name, newPool(c, name)})
	}
	return servers
}

// look is what a server says of itself: whether it replays another's log, and
// what tells it from all others, whatever name it is reached by.
type look struct {
	recovering bool
	identity   string
}

func lookAt(ctx context.Context, p *pool) (l look, err error) {
	err = p.use(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT pg_is_in_recovery(), concat_ws(' ', inet_server_addr(), inet_server_port(),
			pg_postmaster_start_time())`).Scan(&l.recovering, &l.identity)
	})
	return l, err
}

// Replicas implements sqldb.ReplicatedDatabase. A primary does not know at which
// addresses clients reach its standbys (pg_stat_replication has the other end of
// their connections), so replicas are the hosts of the address that replay a
// log. A host that does not, and is not the primary, has gone its own way. In a
// dialect without standbys no host has a state of its own to be compared.
func (p *schema) Replicas(ctx context.Context) ([]bank.Replica, map[string]error, error) {
	if !p.dialect.standbys {
		return nil, nil, nil
	}
	primary, err := lookAt(ctx, p.pool)
	if err != nil {
		return nil, nil, operation("look for replicas", err)
	}
	looks, failures := lookAtAll(ctx, p.servers)
	if ctx.Err() != nil {
		return nil, nil, operation("look for replicas", ctx.Err())
	}
	var members []bank.Replica
	unreachable := make(map[string]error)
	known := make(map[string]bool)
	for i, l := range looks {
		name := p.servers[i].name
		isPrimary := l.identity == primary.identity
		switch {
		case failures[i] != nil:
			unreachable[name] = failures[i]
		case known[l.identity]: // the same server by another name
		case isPrimary || l.recovering:
			known[l.identity] = true
			members = append(members, bank.Replica{Name: name, Primary: isPrimary})
		default:
			unreachable[name] = errors.New("it takes writes of its own, and is no standby of the server that the run used")
		}
	}
	return members, unreachable, nil
}

// lookAtAll asks all servers at once, each for as long as a connection may take.
func lookAtAll(ctx context.Context, servers []addressed) ([]look, []error) {
	looks, failures := make([]look, len(servers)), make([]error, len(servers))
	var all sync.WaitGroup
	for i, server := range servers {
		all.Go(func() {
			bounded, cancel := context.WithTimeout(ctx, server.pool.config.ConnectTimeout)
			defer cancel()
			looks[i], failures[i] = lookAt(bounded, server.pool)
		})
	}
	all.Wait()
	return looks, failures
}

func (p *schema) member(member bank.Replica) (*pool, error) {
	for _, server := range p.servers {
		if server.name == member.Name {
			return server.pool, nil
		}
	}
	return nil, fmt.Errorf("postgres: the address names no host %s", member.Name)
}

// catchUpInterval is the pause between two looks at a standby.
const catchUpInterval = 20 * time.Millisecond

// CatchUp implements sqldb.ReplicatedDatabase. A standby that cannot be reached may come
// back, and is asked until ctx ends.
func (p *schema) CatchUp(ctx context.Context, member bank.Replica) error {
	standby, err := p.member(member)
	if err != nil || member.Primary {
		return err
	}
	target, err := p.committed(ctx)
	if err != nil {
		return operation("ask the primary how far its log goes", err)
	}
	ticker := time.NewTicker(catchUpInterval)
	defer ticker.Stop()
	var reason error
	for {
		replayed, err := replayedBy(ctx, standby, target)
		if replayed {
			return nil
		}
		if promoted := (*promotedError)(nil); errors.As(err, &promoted) {
			return fmt.Errorf("postgres: wait for %s: %w", member.Name, err)
		}
		if reason == nil || ctx.Err() == nil { // the last one that is more than the end of ctx
			reason = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("postgres: wait for %s to replay the log up to %s: %w, and still: %w",
				member.Name, target, ctx.Err(), reason)
		case <-ticker.C:
		}
	}
}

// committed is a position in the primary's log that has all commits until now
// before it. A commit may have been answered before its record was written
// (synchronous_commit = off); so the end of the log is what is written after a
// commit of our own, which is written and has all others before it. It locks the
// mark and changes nothing.
func (p *schema) committed(ctx context.Context) (lsn string, err error) {
	err = p.pool.use(ctx, func(conn *pgx.Conn) error {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if err := p.mustMark(ctx, tx); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `SET LOCAL synchronous_commit = local`); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `SELECT FROM `+p.name+`.assay_mark FOR UPDATE`)
			return err
		})
		if err != nil {
			return err
		}
		return conn.QueryRow(ctx, `SELECT pg_current_wal_flush_lsn()::text`).Scan(&lsn)
	})
	return lsn, err
}

// promotedError says that a server is no standby any more, and will never
// replay what its primary writes.
type promotedError struct{}

func (*promotedError) Error() string { return "it replays no log any more: it was promoted" }

// replayedBy reports whether a standby has replayed the log up to target;
// unless it has, the error says why not.
func replayedBy(ctx context.Context, standby *pool, target string) (replayed bool, err error) {
	err = standby.use(ctx, func(conn *pgx.Conn) error {
		var recovering bool
		var last string
		err := conn.QueryRow(ctx, `SELECT pg_is_in_recovery(), coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false),
			coalesce(pg_last_wal_replay_lsn()::text, 'nothing')`, target).Scan(&recovering, &replayed, &last)
		switch {
		case err != nil:
			return err
		case !recovering:
			replayed = false
			return &promotedError{}
		case !replayed:
			return fmt.Errorf("it has replayed it up to %s", last)
		}
		return nil
	})
	return replayed, err
}

// ViewReplica implements sqldb.ReplicatedDatabase.
func (p *schema) ViewReplica(ctx context.Context, member bank.Replica, read func(sqldb.Reader) error) error {
	from, err := p.member(member)
	if err != nil {
		return err
	}
	return p.viewFrom(ctx, from, read)
}
