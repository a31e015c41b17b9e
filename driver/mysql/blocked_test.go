package mysql

import (
	"context"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/store"
)

// idleForTransactions is longer than 0.1 s: information_schema.innodb_trx is refreshed only if it
// was not read for so long (MySQL manual, "Persistence and Consistency of InnoDB Transaction and
// Locking Information").
const idleForTransactions = 150 * time.Millisecond

func TestBlocked(t *testing.T) {
	db := openBank(t, target())
	must := func(err error) {
		t.Helper()
		expect.NoError(t, err)
	}
	holder := store.Holder{Token: "one", Run: "one"}
	must(db.TakeLease(t.Context(), holder, time.Hour, ""))
	must(db.Create(t.Context(), store.Marker{Workload: "bank", Run: "one"}))
	for name, c := range map[string]struct {
		hold, free string
		call       func(context.Context) error
	}{
		"a row": {"SELECT * FROM assay_bank.assay_lease FOR UPDATE", "ROLLBACK",
			func(ctx context.Context) error { return db.RenewLease(ctx, "one", time.Hour) }},
		"a table": {"SELECT * FROM assay_bank.account", "ROLLBACK",
			func(ctx context.Context) error {
				return db.Create(ctx, store.Marker{Workload: "bank", Run: "one"})
			}},
		"everything": {"FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES",
			func(ctx context.Context) error { return db.RenewLease(ctx, "one", time.Hour) }},
	} {
		conn := admin(t)
		exec(t, conn, "START TRANSACTION")
		exec(t, conn, c.hold)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.call(ctx) }()
		by := ""
		deadline := time.Now().Add(expect.Patience)
		for by == "" {
			if time.Now().After(deadline) {
				t.Fatalf("%s: nothing is told to be waited for in a minute; sessions:\n%s", name, processes(t))
			}
			var err error
			by, err = db.Blocked(t.Context())
			must(err)
			select {
			case err := <-ended:
				t.Fatalf("%s: the call ended though %q holds what it needs: %v", name, c.hold, err)
			case <-time.After(idleForTransactions):
			}
		}
		if !strings.Contains(by, "Waiting for") || !strings.Contains(by, "KILL") {
			t.Errorf("%s: %s", name, by)
		}
		cancel()
		<-ended
		exec(t, conn, c.free)
	}
	if by, err := db.Blocked(t.Context()); by != "" || err != nil {
		t.Errorf("nothing waits: %q, %v", by, err)
	}
	must(db.Drop(t.Context()))
	must(db.Close())
}

func processes(t *testing.T) string {
	t.Helper()
	rows, err := admin(t).QueryContext(t.Context(), `SELECT concat_ws(' | ', id, user, command, time, coalesce(state, ''), coalesce(info, '')) FROM information_schema.processlist`)
	expect.NoError(t, err)
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		expect.NoError(t, rows.Scan(&line))
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
