package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay/driver/sqldb"
	"assay/store"
)

// blocking asks what these connections and sessions wait for: locks, or a synchronous standby
// (manual, "Wait Event Types"). pg_blocking_pids gives 0 for a prepared transaction. A holder that
// waits for nobody comes first.
const blocking = `SELECT a.wait_event_type = 'Lock', coalesce(a.wait_event, ''), coalesce(h.pid, 0)::bigint, coalesce(b.usename::text, ''),
		coalesce(b.application_name, ''), coalesce(host(b.client_addr), 'the server itself'), coalesce(b.state, ''),
		coalesce(extract(epoch FROM now() - b.xact_start), 0)::bigint, coalesce(left(b.query, 400), ''),
		coalesce((SELECT min(gid) FROM pg_prepared_xacts WHERE database = current_database()), ''), current_setting('synchronous_standby_names')
	FROM pg_stat_activity a LEFT JOIN LATERAL unnest(pg_blocking_pids(a.pid)) AS h(pid) ON true LEFT JOIN pg_stat_activity b ON b.pid = h.pid
	WHERE (a.pid::text = ANY (string_to_array($1, ',')) OR a.application_name = $2)
		AND (a.wait_event_type = 'Lock' OR a.wait_event = 'SyncRep') AND coalesce(h.pid, 0)::text <> ALL (string_to_array($1, ','))
	ORDER BY b.wait_event_type = 'Lock', b.xact_start LIMIT 1`

func (p *schema) Blocked(ctx context.Context) (by string, err error) {
	if !p.dialect.waits {
		return "", nil
	}
	var ids []string
	for _, c := range p.pool.Lent() {
		ids = append(ids, strconv.FormatUint(uint64(c.PID()), 10))
	}
	name := ""
	if run := p.Owner(); run != "" {
		name = p.SessionName(run)
	}
	err = p.pool.Use(ctx, func(c conn) error {
		return c.Query(ctx, blocking, func(row store.Row) error {
			var h holder
			err := row.Scan(&h.locked, &h.event, &h.pid, &h.user, &h.application, &h.client, &h.state, &h.seconds, &h.query, &h.prepared, &h.standbys)
			by = h.String()
			return err
		}, store.OfText(strings.Join(ids, ",")), store.OfText(name))
	})
	return by, p.Operation("ask what is waited for", err)
}

type holder struct {
	locked                                  bool
	event                                   string
	pid                                     int64
	user, application, client, state, query string
	seconds                                 int64
	prepared, standbys                      string
}

func (h holder) String() string {
	switch {
	case !h.locked:
		return fmt.Sprintf("its commit waits for a synchronous standby (synchronous_standby_names is %q), and none confirms it; "+
			"start the standby again, or set synchronous_standby_names to those that run", h.standbys)
	case h.pid == 0 && h.prepared != "":
		return fmt.Sprintf("it waits for a lock (%s) that the prepared transaction %q may hold; end that with ROLLBACK PREPARED or COMMIT PREPARED", h.event, h.prepared)
	case h.pid == 0:
		return fmt.Sprintf("it waits for a lock (%s), and the server does not tell whose; pg_locks has more", h.event)
	}
	return fmt.Sprintf("it waits for a lock (%s) of process %d, user %s, application %q, from %s, %s, in its transaction for %v, whose last statement begins %s; "+
		"end that transaction, or its session with SELECT pg_terminate_backend(%d)",
		h.event, h.pid, h.user, h.application, h.client, h.state, time.Duration(h.seconds)*time.Second, sqldb.WithoutLiterals(h.query), h.pid)
}
