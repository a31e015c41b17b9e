package postgres

import (
	"context"
	"errors"
	"testing"

	"assay/store"
	"assay/workload/bank"
)

func TestAuditLevel(t *testing.T) {
	for level, want := range map[string]string{"": "repeatable read", "read committed": "repeatable read",
		"repeatable read": "repeatable read", "serializable": "serializable"} {
		checkAuditLevel(t, at(t, level), want)
	}
	checkAuditLevel(t, target(t, parameter("default_transaction_isolation", "serializable")), "serializable")
}

func checkAuditLevel(t *testing.T, to store.Target, want string) {
	t.Helper()
	opened := openBank(t, to)
	defer opened.Close()
	var level, readOnly string
	err := opened.below.Audit(context.Background(), func(r store.Reader) error {
		return r.Read(context.Background(), store.Statement{Name: "level", Verb: store.Native, Reads: true,
			Text: `SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only')`},
			func(row store.Row) error { return row.Scan(&level, &readOnly) })
	})
	if err != nil || level != want || readOnly != "on" {
		t.Errorf("%q: an audit is at %q, read only %s, %v; want %q", to.Isolation, level, readOnly, err, want)
	}
}

func TestAuditEnds(t *testing.T) {
	s := setScene(t, target(t))
	db := s.store
	exec(t, s.rival, `BEGIN`)
	exec(t, s.rival, `LOCK TABLE assay_bank.account IN ACCESS EXCLUSIVE MODE`)
	for name, audit := range map[string]func(context.Context) error{
		"some": func(ctx context.Context) error { return db.Audit(ctx, []int64{1}, make([]bank.State, 1)) },
		"all":  func(ctx context.Context) error { _, err := db.AuditAll(ctx); return err },
	} {
		ctx, cancel := context.WithCancel(s.ctx)
		ended := make(chan error, 1)
		go func() { ended <- audit(ctx) }()
		awaitWait(t, s.ctx, admin(t), applicationName, "Lock", "")
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if err := audit(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a context that is over: %v", name, err)
		}
	}
	exec(t, s.rival, `ROLLBACK`)
	if all, err := db.AuditAll(s.ctx); err != nil || all.Balance != 4000 {
		t.Errorf("afterwards: %+v, %v", all, err)
	}
}
