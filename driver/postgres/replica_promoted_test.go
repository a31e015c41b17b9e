package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/driver/replicas"
	"assay/internal/expect"
	"assay/store"
)

// testPromoted: a standby is promoted behind the driver's back and the other follows it. On their
// own timeline they never catch up with the primary.
func testPromoted(t *testing.T, p *troupe) {
	promoted, follower := connectTo(t, p.at(2)), connectTo(t, p.at(1))
	port := func(node int) string { return "port='" + strconv.Itoa(p.set.Node(node).Port) + "'" }
	var conninfo string
	expect.NoError(t, follower.QueryRow(p.ctx, `SELECT current_setting('primary_conninfo')`).Scan(&conninfo))
	conninfo = strings.Replace(conninfo, port(0), port(2), 1)
	exec(t, follower, `ALTER SYSTEM SET primary_conninfo = '`+strings.ReplaceAll(conninfo, "'", "''")+`'`)
	exec(t, follower, `SELECT pg_reload_conf()`)
	awaitReceiver(t, p.ctx, follower, "sender_port = "+strconv.Itoa(p.set.Node(2).Port))
	exec(t, promoted, `SELECT pg_promote()`)
	if err := p.catchUp(p.member(1), expect.Patience); !errors.Is(err, errPromoted) {
		t.Errorf("CatchUp: %v", err)
	}
	members, unreachable := p.members()
	if len(members) != 2 || !errors.Is(unreachable[p.member(1).Name], store.ErrOwnWrites) {
		t.Errorf("members %+v, unreachable %v", members, unreachable)
	}
	exec(t, promoted, `SET synchronous_commit = local`)
	exec(t, promoted, `CREATE TABLE filler AS SELECT generate_series(1, 100000)`)
	awaitReceiver(t, p.ctx, follower, "received_tli = 2")
	if err := p.catchUp(p.member(0), 3*time.Second); err == nil || !strings.Contains(err.Error(), "timeline 2") {
		t.Errorf("CatchUp of another's standby: %v", err)
	}
}

// awaitReceiver waits for a condition on a standby's log receiver.
func awaitReceiver(t *testing.T, ctx context.Context, standby *pgx.Conn, so string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, expect.Patience)
	defer cancel()
	expect.NoError(t, replicas.CatchUp(ctx, so, func(ctx context.Context) (final bool, err error) {
		var there bool
		err = standby.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming' AND `+so+`)`).Scan(&there)
		if err == nil && !there {
			err = errors.New("not yet")
		}
		return false, err
	}))
}
