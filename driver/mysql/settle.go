package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// settleGrace is how long an abandoned session may finish what it does before
// the server is told to end it; settleInterval the pause between two looks.
const (
	settleGrace    = time.Second
	settleInterval = 20 * time.Millisecond
)

// Settle waits until no abandoned session of this run is left, whichever Store
// opened it, on any host of the address; a Store that does not know its run has
// that of the mark. It is not enough that a session is
// idle: what a client sent before the network went silent may still be on its way
// to it. So one that does not end within a second by itself is ended by the
// server (KILL); its transaction is then rolled back or already committed.
//
// A session is known by the lock that it holds since its beginning, named after
// its own connection, so that nobody else's is ended. A host that cannot be
// reached has no session if nothing listens there, or if it is no part of the
// Galera cluster that others see: then nothing of it can be committed any more.
func (p *schema) Settle(ctx context.Context) error {
	hosts := make([]settled, len(p.hosts))
	var all sync.WaitGroup
	for i, h := range p.hosts {
		all.Go(func() { hosts[i] = p.settleHost(ctx, h) })
	}
	all.Wait()
	if ctx.Err() == nil && outvoted(hosts) {
		return nil
	}
	var failures []error
	for i, s := range hosts {
		if s.err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", p.hosts[i].name, s.err))
		}
	}
	return operation("settle", errors.Join(failures...))
}

// settled is what came of one host.
type settled struct {
	err error // nil: no session is left
	// away is true if the host could not be asked.
	away bool
	// member tells a Galera node with a quorum from others; size is its cluster's.
	member string
	size   int
}

// outvoted reports whether all hosts that can be asked are settled, and are a
// whole Galera cluster among themselves.
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
	s.err = p.useHost(ctx, h, func(c *conn) error {
		s.away = false
		if err := p.endOrphans(ctx, c); err != nil || !c.look.galera {
			return err
		}
		status, err := c.pairs(ctx, `SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_gcomm_uuid', 'wsrep_cluster_size', 'wsrep_cluster_status')`)
		if err == nil && status["wsrep_cluster_status"] == "Primary" {
			s.member = status["wsrep_gcomm_uuid"]
			s.size, _ = strconv.Atoi(status["wsrep_cluster_size"])
		}
		return err
	})
	if s.away && errors.Is(s.err, syscall.ECONNREFUSED) {
		s.err = nil // nobody listens: the server is gone, and its sessions with it
	}
	return s
}

// endOrphans waits for the end of the sessions on the connection's server that
// no session of this Store owns.
func (p *schema) endOrphans(ctx context.Context, c *conn) error {
	terminate := time.Now().Add(settleGrace)
	pause := time.NewTicker(settleInterval)
	defer pause.Stop()
	for {
		orphans, state, err := p.orphans(ctx, c)
		if err != nil || len(orphans) == 0 {
			return err
		}
		if time.Now().After(terminate) {
			for _, id := range orphans {
				if err := c.exec(ctx, fmt.Sprintf("KILL CONNECTION %d", id)); err != nil && !hasCode(err, codeNoSuchThread, codeKillDenied) {
					return err
				}
			}
			terminate = time.Now().Add(settleGrace)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d abandoned sessions are still in the database (%s): %w", len(orphans), state, ctx.Err())
		case <-pause.C:
		}
	}
}

// The numbers of the answers to KILL: the session is gone, or another user's.
const (
	codeNoSuchThread = 1094
	codeKillDenied   = 1095
)

// orphans lists the sessions of the workload on this server that are not ours,
// and what one of them does.
func (p *schema) orphans(ctx context.Context, c *conn) (ids []int64, state string, err error) {
	own := p.ownSessions(c.host)
	run, known, err := p.runOn(ctx, c)
	if err != nil || !known {
		return nil, "", err
	}
	err = c.query(ctx, func(row []driver.Value) error {
		var id int64
		if err := numbers(row[:1], &id); err != nil {
			return err
		}
		if !slices.Contains(own, id) {
			ids = append(ids, id)
			state = strings.TrimSpace(text(row[1]) + " " + text(row[2]))
		}
		return nil
	}, `SELECT id, command, state FROM `+p.dialect.sessions+` WHERE IS_USED_LOCK(CONCAT(?, id)) = id`, p.sessionLock(run))
	return ids, state, err
}

// ownSessions are the connections of the sessions that are open on a host.
func (p *schema) ownSessions(h *host) []int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := make([]int64, 0, len(p.sessions))
	for l := range p.sessions {
		if l.host == h {
			ids = append(ids, l.look.id)
		}
	}
	return ids
}
