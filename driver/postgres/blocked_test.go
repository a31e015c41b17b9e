package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"assay/workload"
)

// TestBlocked has another session keep the lease, the mark and a table to itself.
func TestBlocked(t *testing.T) {
	store := openBank(t, target(t))
	must(t, store.TakeLease(t.Context(), workload.Holder{Token: "one", Run: "one"}, time.Hour, ""),
		store.Create(t.Context(), workload.Marker{Workload: "bank", Run: "one"}))
	for table, call := range map[string]func(context.Context) error{
		"assay_lease": func(ctx context.Context) error { return store.RenewLease(ctx, "one", time.Hour) },
		"assay_mark":  func(ctx context.Context) error { _, err := store.Marker(ctx); return err },
		"account": func(ctx context.Context) error {
			return store.Create(ctx, workload.Marker{Workload: "bank", Run: "one"})
		},
		"transfer": store.Drop,
	} {
		rival := admin(t)
		exec(t, rival, `BEGIN; LOCK TABLE assay_bank.`+table+`; SELECT 'hidden'`)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		by := blockedBy(t, store)
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
	if by, err := store.Blocked(t.Context()); by != "" || err != nil {
		t.Errorf("nothing waits: %q, %v", by, err)
	}
	must(t, store.Drop(t.Context()))
	alone(t, `ALTER SYSTEM SET synchronous_standby_names = 'ghost'`)
	alone(t, `SELECT pg_reload_conf()`)
	ended := make(chan error, 1)
	go func() { ended <- store.Create(t.Context(), workload.Marker{Workload: "bank", Run: "one"}) }()
	if by := blockedBy(t, store); !strings.Contains(by, `synchronous_standby_names is "ghost"`) {
		t.Errorf("%q", by)
	}
	alone(t, `ALTER SYSTEM RESET synchronous_standby_names`)
	alone(t, `SELECT pg_reload_conf()`)
	must(t, <-ended, store.Drop(t.Context()), store.Close())
}

// blockedBy waits until something is told.
func blockedBy(t *testing.T, store *bankStore) (by string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); by == "" && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var err error
		by, err = store.Blocked(t.Context())
		must(t, err)
	}
	return by
}
