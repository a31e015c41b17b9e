package mysql

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"assay/driver/replicas"
)

// Settle is SettleOn on every host of the address.
//
// A session's name, or the name of its lock, has its connection's number, so that only our sessions
// are ended. An unreachable host has no session if nothing listens there, or if the others see a
// Galera cluster or a group without it: then nothing of it can commit any more.
func (p *schema) Settle(ctx context.Context) error {
	hosts, _ := replicas.AskAll(ctx, p.hosts, func(ctx context.Context, h *host) (settled, error) { return p.settleHost(ctx, h), nil })
	if ctx.Err() == nil && outvoted(hosts) {
		return nil
	}
	var failures []error
	for i, s := range hosts {
		if s.err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", p.hosts[i].name, s.err))
		}
	}
	return p.Operation("settle", errors.Join(failures...))
}

type settled struct {
	err error // nil: no session is left
	// away: the host could not be asked.
	away bool
	// member identifies a Galera node with a quorum, or a group's member with a majority. size is
	// its cluster's.
	member string
	size   int
}

// outvoted reports whether the hosts that answer are settled and form a whole Galera cluster or
// group.
func outvoted(hosts []settled) bool {
	members := make(map[string]bool)
	size := 0
	for _, s := range hosts {
		if s.away {
			continue
		}
		if s.err != nil || s.member == "" {
			return false
		}
		members[s.member] = true
		size = max(size, s.size)
	}
	return size > 0 && len(members) == size
}

func (p *schema) settleHost(ctx context.Context, h *host) (s settled) {
	s.away = true
	s.err = h.pool.Use(ctx, func(c *conn) error {
		s.away = false
		if err := p.SettleOn(ctx, c, h.name); err != nil {
			return err
		}
		switch {
		case c.look.galera:
			status, err := c.pairs(ctx, `SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_gcomm_uuid', 'wsrep_cluster_size', 'wsrep_cluster_status')`)
			if err == nil && status["wsrep_cluster_status"] == "Primary" {
				s.member = status["wsrep_gcomm_uuid"]
				s.size, _ = strconv.Atoi(status["wsrep_cluster_size"])
			}
			return err
		case c.look.grouped:
			g, err := c.askGroup(ctx)
			if err == nil && g.state == "ONLINE" && g.majority() {
				s.member, s.size = g.id, g.size // not the host, of which a server may have several names
			}
			return err
		}
		return nil
	})
	if s.away && (errors.Is(s.err, syscall.ECONNREFUSED) || NetworkOf(h.name) == "unix" && errors.Is(s.err, syscall.ENOENT)) {
		s.err = nil // nobody listens: the server is gone, and its sessions with it
	}
	return s
}
