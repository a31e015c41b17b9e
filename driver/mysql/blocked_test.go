package mysql

import (
	"context"
	"strings"
	"testing"
	"time"

	"assay/workload"
)

// TestBlocked has another session keep the lease, the schema and every write to itself.
func TestBlocked(t *testing.T) {
	store := openBank(t, target())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	holder := workload.Holder{Token: "one", Run: "one"}
	must(store.TakeLease(t.Context(), holder, time.Hour, ""))
	must(store.Create(t.Context(), workload.Marker{Workload: "bank", Run: "one"}))
	for name, c := range map[string]struct {
		hold, free string
		call       func(context.Context) error
	}{
		"a row": {"SELECT * FROM assay_bank.assay_lease FOR UPDATE", "ROLLBACK",
			func(ctx context.Context) error { return store.RenewLease(ctx, "one", time.Hour) }},
		"a table": {"SELECT * FROM assay_bank.account", "ROLLBACK",
			func(ctx context.Context) error {
				return store.Create(ctx, workload.Marker{Workload: "bank", Run: "one"})
			}},
		"everything": {"FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES",
			func(ctx context.Context) error { return store.RenewLease(ctx, "one", time.Hour) }},
	} {
		conn := admin(t)
		exec(t, conn, "START TRANSACTION")
		exec(t, conn, c.hold)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.call(ctx) }()
		by := ""
		for by == "" && t.Context().Err() == nil {
			var err error
			by, err = store.Blocked(t.Context())
			must(err)
			time.Sleep(20 * time.Millisecond)
		}
		if !strings.Contains(by, "Waiting for") || !strings.Contains(by, "KILL") {
			t.Errorf("%s: %s", name, by)
		}
		cancel()
		<-ended
		exec(t, conn, c.free)
	}
	if by, err := store.Blocked(t.Context()); by != "" || err != nil {
		t.Errorf("nothing waits: %q, %v", by, err)
	}
	must(store.Drop(t.Context()))
	must(store.Close())
}
