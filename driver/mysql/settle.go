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
// A session is known by the name that it has since its beginning, or by that of a lock
// that it holds, with the number of its own connection, so that nobody else's is ended. A host that cannot be
// reached has no session if nothing listens there, or if it is no part of the
// Galera cluster or the group that others see: then nothing of it can be committed any more.
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

// settled is what came of one host.
type settled struct {
	err error // nil: no session is left
	// away is true if the host could not be asked.
	away bool
	// member tells a Galera node with a quorum, or a member of a group with a majority, from
	// others; size is its cluster's.
	member string
	size   int
}

// outvoted reports whether all hosts that can be asked are settled, and are a
// whole Galera cluster, or a whole group, among themselves.
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
				s.member, s.size = h.name, g.size
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
