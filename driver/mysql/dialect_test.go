package mysql

import (
	"errors"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/churn"
)

func TestDialectOfAServer(t *testing.T) {
	for _, c := range []struct{ named, version, want string }{
		{"", "10.11.14-MariaDB-0+deb12u2", "mysql"}, {"", "8.4.2", "mysql"}, {"", "8.0.11-TiDB-v8.5.0", "tidb"},
		{"mysql", "8.0.11-TiDB-v8.5.0", "mysql"}, {"tidb", "10.11.14-MariaDB", "tidb"},
	} {
		if got := dialectOf(c.named, c.version); got.name != c.want {
			t.Errorf("%+v: %s", c, got.name)
		}
	}
	tidb := server{name: "TiDB", version: "8.0.11-TiDB-v8.5.0"}
	if err := dialectOf("", tidb.version).sufficient(tidb); err == nil {
		t.Error("a TiDB that keeps no CHECK constraints is sufficient")
	}
	if text := dialectOf("", tidb.version).refresh; text != "ANALYZE TABLE" {
		t.Errorf("statistics by %s, which TiDB does not take", text)
	}
	tidb.checks = "ON"
	expect.NoError(t, dialectOf("", tidb.version).sufficient(tidb))
	calling := &schema{settings: new(settings), dialect: dialectOf("", tidb.version), server: server{level: serializable}}
	if _, err := calling.chooseLevel(); err == nil {
		t.Error("a TiDB whose default level is called serializable is taken at its word")
	}
}

// TestDialectOfTiDB uses MariaDB, which accepts its statements.
func TestDialectOfTiDB(t *testing.T) {
	ctx := expect.Patiently(t)
	to := target(parameter("dialect", "tidb"))
	var refused *store.OptionError
	db, err := Open(ctx, to, churn.Schema())
	expect.NoError(t, err)
	defer db.Close()
	churning := churn.Defaults()
	if _, err := churning.Open(ctx, db, 1, 1); !errors.As(err, &refused) || refused.Option != "dialect" {
		t.Errorf("churn: %v", err)
	}
	serial := to
	serial.Isolation = "serializable"
	if _, err := Open(ctx, serial, bank.Schema()); !errors.As(err, &refused) || refused.Option != "isolation level" {
		t.Errorf("serializable: %v", err)
	}
	if _, err := Open(ctx, target(parameter("dialect", "oracle")), bank.Schema()); !errors.As(err, &refused) || refused.Want != "mysql, tidb" {
		t.Errorf("an unknown one: %v", err)
	}
	opened := openBank(t, to)
	err = errors.Join(opened.Create(ctx, store.Marker{Run: "r", Workload: "bank", Created: time.Now()}),
		opened.LoadAccounts(ctx, []bank.Account{{ID: 1, Balance: 5}, {ID: 2, Balance: 5}}), opened.FinishLoad(ctx))
	expect.NoError(t, err)
	session, err := opened.Session(ctx)
	expect.NoError(t, err)
	if r := session.Transfer(ctx, bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 2}); r.Outcome != history.Committed || r.Source.Balance != 3 {
		t.Errorf("got %+v", r)
	}
	if size, err := opened.Size(ctx); err != nil || size.Tables == 0 {
		t.Errorf("size %+v, %v", size, err)
	}
	totals, err := opened.AuditAll(ctx)
	if err != nil || totals.Balance != 10 || totals.Versions != 2 {
		t.Errorf("audit: %+v, %v", totals, err)
	}
	journal := 0
	err = opened.Read(ctx, func(bank.Account) error { return nil }, func(bank.Entry) error { journal++; return nil })
	session.Close()
	if err = errors.Join(err, opened.Settle(ctx), opened.Drop(ctx), opened.Close()); err != nil || journal != 1 {
		t.Errorf("%d rows, %v", journal, err)
	}
}
