package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/store"
)

func TestBlocked(t *testing.T) {
	db := openBank(t, target(t))
	expect.NoError(t, db.TakeLease(t.Context(), store.Holder{Token: "one", Run: "one"}, time.Hour, ""),
		db.Create(t.Context(), store.Marker{Workload: "bank", Run: "one"}))
	for table, call := range map[string]func(context.Context) error{
		"assay_lease": func(ctx context.Context) error { return db.RenewLease(ctx, "one", time.Hour) },
		"assay_mark":  func(ctx context.Context) error { _, err := db.Marker(ctx); return err },
		"account": func(ctx context.Context) error {
			return db.Create(ctx, store.Marker{Workload: "bank", Run: "one"})
		},
		"transfer": db.Drop,
	} {
		rival := admin(t)
		exec(t, rival, `BEGIN; LOCK TABLE assay_bank.`+table+`; SELECT 'hidden'`)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		by := blockedBy(t, db)
		for _, part := range []string{"of process", "idle in transaction", "pg_terminate_backend", "LOCK TABLE assay_bank." + table} {
			if !strings.Contains(by, part) {
				t.Errorf("%s: %q does not say %q", table, by, part)
			}
		}
		if strings.Contains(by, "hidden") {
			t.Errorf("%q tells what others have written", by)
		}
		cancel()
		<-ended
		exec(t, rival, `ROLLBACK`)
	}
	if by, err := db.Blocked(t.Context()); by != "" || err != nil {
		t.Errorf("nothing waits: %q, %v", by, err)
	}
	expect.NoError(t, db.Drop(t.Context()))
	alone(t, `ALTER SYSTEM SET synchronous_standby_names = 'ghost'`)
	alone(t, `SELECT pg_reload_conf()`)
	ended := make(chan error, 1)
	go func() { ended <- db.Create(t.Context(), store.Marker{Workload: "bank", Run: "one"}) }()
	if by := blockedBy(t, db); !strings.Contains(by, `synchronous_standby_names is "ghost"`) {
		t.Errorf("%q", by)
	}
	alone(t, `ALTER SYSTEM RESET synchronous_standby_names`)
	alone(t, `SELECT pg_reload_conf()`)
	expect.NoError(t, <-ended, db.Drop(t.Context()), db.Close())
}

func blockedBy(t *testing.T, db *bankStore) (by string) {
	t.Helper()
	for deadline := time.Now().Add(expect.Patience); by == "" && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var err error
		by, err = db.Blocked(t.Context())
		expect.NoError(t, err)
	}
	return by
}
