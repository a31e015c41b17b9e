package mysql

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/driver/sqldb"
	"assay/store"
)

type waits struct {
	// session asks whether the connection of id $1 waits for a row's lock.
	session string
	// ours ask what any of the connections of the ids $1 waits for. held asks for possible
	// holders: id, user, host, command, seconds and statement, of open transactions first and
	// then of sessions. Without ours nothing is known.
	ours []string
	held [2]string
}

func innodbWaits() waits {
	return waits{
		session: `SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = $1`,
		ours:    []string{ourWaits, ourRowWaits}, held: [2]string{heldByTransaction, heldBySession},
	}
}

// tidbWaits cannot tell for assay's own statements. A single statement meets a lock at its commit
// and is not LockWaiting then; definitions of data wait for transactions ("Metadata Lock").
func tidbWaits() waits {
	return waits{session: `SELECT count(*) FROM information_schema.tidb_trx WHERE state = 'LockWaiting' AND waiting_time > 0.05 AND session_id = $1`}
}

// ourWaits asks which connections wait for a lock or a replica (MariaDB documentation and MySQL
// manual, "General Thread States"). Only InnoDB tells of row locks.
const ourWaits = `SELECT p.state FROM information_schema.processlist p WHERE FIND_IN_SET(p.id, $1) > 0
	AND (p.state LIKE 'Waiting for % lock' OR p.state LIKE 'Waiting for semi-sync%') LIMIT 1`

const ourRowWaits = `SELECT 'Waiting for a row''s lock' FROM information_schema.innodb_trx
	WHERE trx_state = 'LOCK WAIT' AND FIND_IN_SET(trx_mysql_thread_id, $1) > 0 LIMIT 1`

// The holder is probably the oldest open transaction, for metadata and rows, or else the session
// idle for longest. Neither query needs optional parts (metadata_lock_info, performance_schema).
const (
	heldByTransaction = `SELECT p.id, p.user, p.host, p.command, UNIX_TIMESTAMP() - UNIX_TIMESTAMP(t.trx_started), coalesce(p.info, t.trx_query, '')
		FROM information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
		WHERE FIND_IN_SET(p.id, $1) = 0 AND t.trx_state <> 'LOCK WAIT' ORDER BY t.trx_started LIMIT 1`
	heldBySession = `SELECT p.id, p.user, p.host, p.command, coalesce(p.time, 0), coalesce(p.info, '') FROM information_schema.processlist p
		WHERE FIND_IN_SET(p.id, $1) = 0 AND p.id <> CONNECTION_ID() AND p.command IN ('Sleep', 'Query') AND coalesce(p.state, '') NOT LIKE 'Waiting for%'
		ORDER BY p.time DESC LIMIT 1`
)

func (p *schema) Blocked(ctx context.Context) (by string, err error) {
	for _, h := range p.hosts {
		var ids []string
		for _, c := range h.pool.Lent() {
			ids = append(ids, strconv.FormatInt(c.look.id, 10))
		}
		for _, s := range p.Sessions.All() {
			if s.Server == h.name {
				ids = append(ids, s.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		slices.Sort(ids)
		err = h.pool.Use(ctx, func(c *conn) error {
			by, err = p.dialect.waits.blockedOn(ctx, c, store.OfText(strings.Join(ids, ",")))
			return err
		})
		if by != "" || err != nil {
			break
		}
	}
	return by, p.Operation("ask what is waited for", err)
}

func (w waits) blockedOn(ctx context.Context, c *conn, ids store.Value) (by string, err error) {
	for _, query := range w.ours {
		err := c.Query(ctx, query, func(row store.Row) error { return row.Scan(&by) }, ids)
		if err != nil && !hasCode(err, codePrivilege) { // not every user sees InnoDB's transactions
			return "", err
		}
		if by != "" {
			break
		}
	}
	if by == "" || strings.Contains(by, "semi-sync") {
		return by, nil
	}
	for i, query := range w.held {
		found := ""
		err := c.Query(ctx, query, func(row store.Row) error {
			var id, seconds int64
			var user, host, command, info string
			err := row.Scan(&id, &user, &host, &command, &seconds, &info)
			what := []string{"has had a transaction open", "has been as it is"}[i]
			found = fmt.Sprintf("connection %d, user %s from %s, now in %s, %s for %v", id, user, host, command, what, time.Duration(seconds)*time.Second)
			if info != "" {
				found += ", statement " + sqldb.WithoutLiterals(info)
			}
			found += fmt.Sprintf(", and may hold it; end its transaction, or the connection with KILL %d", id)
			return err
		}, ids)
		if err != nil && !hasCode(err, codePrivilege) {
			return "", err
		}
		if found != "" {
			return by + "; " + found, nil
		}
	}
	return by + "; the server does not tell this user who holds it (SHOW PROCESSLIST)", nil
}
