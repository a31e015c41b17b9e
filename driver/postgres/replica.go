package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/replicas"
	"assay/driver/sqldb"
	"assay/store"
)

var _ store.Replicated = (*schema)(nil)

// addressed is one server of the address, with connections to it alone.
type addressed struct {
	name string // host:port
	pool *pool
}

// serversOf splits a configuration into its hosts. The ways to one host (with TLS and without) stay
// together, and target_session_attrs is dropped.
func serversOf(config *pgx.ConnConfig, pooled bool) []addressed {
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
		servers = append(servers, addressed{name, newPool(c, name, pooled)})
	}
	return servers
}

// nodesParameter names the servers behind a pooler, a proxy or a moving address, as
// host:port,host:port. Clients do not connect to them; they are read to be compared.
const nodesParameter = "nodes"

func namedNodes(front *pgx.ConnConfig, text string) (*pgx.ConnConfig, error) {
	config := front.Copy()
	ways := append([]*pgconn.FallbackConfig{{Host: front.Host, TLSConfig: front.TLSConfig}}, front.Fallbacks...)
	var all []*pgconn.FallbackConfig
	for item := range strings.SplitSeq(text, ",") {
		host, digits, err := net.SplitHostPort(item)
		port, wrong := strconv.ParseUint(digits, 10, 16)
		if err != nil || wrong != nil || host == "" || port == 0 {
			return nil, &store.OptionError{Option: nodesParameter, Value: item, Want: "host:port of each server, with commas between"}
		}
		for _, way := range ways {
			if way.Host != front.Host { // another front
				continue
			}
			node := &pgconn.FallbackConfig{Host: host, Port: uint16(port)}
			if way.TLSConfig != nil {
				node.TLSConfig = way.TLSConfig.Clone()
				node.TLSConfig.ServerName = host
			}
			all = append(all, node)
		}
	}
	config.Host, config.Port, config.TLSConfig, config.Fallbacks = all[0].Host, all[0].Port, all[0].TLSConfig, all[1:]
	return config, nil
}

// look is a server's own account: whether it replays a log, and its identity under any name.
type look struct {
	recovering bool
	identity   string
}

// lookAt takes at most ConnectTimeout.
func (p *schema) lookAt(ctx context.Context, from *pool) (l look, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.config.ConnectTimeout)
	defer cancel()
	err = from.Use(ctx, func(c conn) error {
		return sqldb.One(ctx, c, `SELECT pg_is_in_recovery(), concat_ws(' ', inet_server_addr(), inet_server_port(),
			pg_postmaster_start_time())`, nil, &l.recovering, &l.identity)
	})
	return l, err
}

// Replicas implements store.Replicated by the hosts of the address that replay a log. A primary
// does not know its standbys' addresses (pg_stat_replication has the other end of their
// connections). A host that neither replays nor is the primary has diverged. Without standbys in
// the dialect, no host has a state of its own.
func (p *schema) Replicas(ctx context.Context) ([]store.Replica, map[string]error, error) {
	if !p.dialect.standbys {
		return nil, nil, nil
	}
	primary, err := p.lookAt(ctx, p.pool)
	if err != nil {
		return nil, nil, p.Operation("look for replicas", err)
	}
	looks, failures := replicas.AskAll(ctx, p.servers, func(ctx context.Context, s addressed) (look, error) { return p.lookAt(ctx, s.pool) })
	if ctx.Err() != nil {
		return nil, nil, p.Operation("look for replicas", ctx.Err())
	}
	members := make([]replicas.Member, len(looks))
	for i, l := range looks {
		members[i] = replicas.Member{Name: p.servers[i].name, Identity: l.identity, Err: failures[i]}
		if failures[i] == nil && !l.recovering && l.identity != primary.identity {
			members[i].Err = store.ErrOwnWrites
		}
	}
	found, unreachable := replicas.Of(primary.identity, members)
	return found, unreachable, nil
}

func (p *schema) member(member store.Replica) (*pool, error) {
	for _, server := range p.servers {
		if server.name == member.Name {
			return server.pool, nil
		}
	}
	return nil, fmt.Errorf("postgres: the address names no host %s", member.Name)
}

// CatchUp implements store.Replicated. It asks an unreachable standby until ctx ends.
func (p *schema) CatchUp(ctx context.Context, member store.Replica) error {
	standby, err := p.member(member)
	if err != nil || member.Primary {
		return err
	}
	target, err := p.committed(ctx)
	if err != nil {
		return p.Operation("ask the primary how far its log goes", err)
	}
	return replicas.CatchUp(ctx, "postgres: wait for "+member.Name+" to replay the log up to "+target.lsn, func(ctx context.Context) (promoted bool, err error) {
		err = standby.Use(ctx, func(c conn) (err error) {
			promoted, err = replayed(ctx, c, target)
			return err
		})
		return promoted, err
	})
}

// place is a position in the log of a timeline. Equal positions of two timelines are unrelated
// (manual, "Timelines").
type place struct{ lsn, timeline string }

// committed is a place in the primary's log after all commits so far. With synchronous_commit=off a
// commit may be answered before its record is written. So committed makes a commit of its own,
// which is flushed after all others. It locks the mark and changes nothing.
func (p *schema) committed(ctx context.Context) (at place, err error) {
	err = p.pool.Use(ctx, func(c conn) error {
		err := sqldb.InTransaction(ctx, c, []string{"BEGIN", "SET LOCAL synchronous_commit = local"}, func() error {
			if _, err := p.MustMark(ctx, c); err != nil {
				return err
			}
			_, err := c.Change(ctx, `SELECT FROM `+p.SQL.Table("assay_mark")+` FOR UPDATE`)
			return err
		})
		if err != nil {
			return err
		}
		return sqldb.One(ctx, c, `SELECT pg_current_wal_flush_lsn()::text,
			('x' || substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8))::bit(32)::bigint::text`, nil, &at.lsn, &at.timeline)
	})
	return at, err
}

var errPromoted = errors.New("it replays no log any more: it was promoted")

// standbyTimeline is the timeline that a standby receives, or else that of its last restart point.
// It is empty without the privilege.
const standbyTimeline = `coalesce((SELECT coalesce(received_tli::text, '') FROM pg_stat_wal_receiver),
	(SELECT timeline_id::text FROM pg_control_checkpoint()))`

// replayed returns nil if a standby has replayed up to target, else why not. A standby on another
// timeline may be further and have other rows. promoted means that it will never replay target.
func replayed(ctx context.Context, c conn, target place) (promoted bool, err error) {
	var recovering, done bool
	var last, timeline string
	err = sqldb.One(ctx, c, `SELECT pg_is_in_recovery(), coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false),
		coalesce(pg_last_wal_replay_lsn()::text, 'nothing'), `+standbyTimeline, []store.Value{store.OfText(target.lsn)}, &recovering, &done, &last, &timeline)
	switch {
	case err != nil:
		return false, err
	case !recovering:
		return true, errPromoted
	case timeline != "" && timeline != target.timeline:
		return false, fmt.Errorf("it has a log of timeline %s, and the server that the run used writes timeline %s", timeline, target.timeline)
	case !done:
		return false, fmt.Errorf("it has replayed it up to %s", last)
	}
	return false, nil
}

func (p *schema) ViewReplica(ctx context.Context, member store.Replica, read func(store.Reader) error) error {
	from, err := p.member(member)
	if err != nil {
		return err
	}
	return p.ViewBy(ctx, p.useOf(from), read)
}
