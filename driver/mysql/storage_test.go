package mysql

import (
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/store/durability"
)

// TestTablesOfAUser: a user's tables are reported with their engine, whatever the server's default,
// and exceptions are named.
func TestTablesOfAUser(t *testing.T) {
	conn := admin(t)
	exec(t, conn, "SET GLOBAL default_storage_engine = MyISAM")
	defer exec(t, conn, "SET GLOBAL default_storage_engine = InnoDB")
	const account, aside = "CREATE TABLE account (id int PRIMARY KEY)", "CREATE TABLE aside (id int PRIMARY KEY) ENGINE=MyISAM"
	for _, test := range []struct {
		name                  string
		change                func(*spot)
		statements            []string
		engine, apart, source string
		class                 durability.Class
	}{
		{"the default", func(*spot) {}, []string{account}, "InnoDB", "", "innodb_flush_log_at_trx_commit=1", durability.SystemCrash},
		{"asked for", parameter("engine", "MyRocks"), []string{account}, "ROCKSDB", "", "rocksdb_flush_log_at_trx_commit=1", durability.SystemCrash},
		{"of both", func(*spot) {}, []string{account, aside}, "InnoDB, MyISAM", "aside", "table aside is MyISAM: no transactions, not crash-safe", durability.None},
		{"of no other", parameter("default_storage_engine", "MyISAM"), []string{account, aside}, "MyISAM", "account, aside",
			"tables account, aside are MyISAM: no transactions, not crash-safe", durability.None},
		{"in memory", func(*spot) {}, []string{"CREATE TABLE account (id int) ENGINE=MEMORY"}, "MEMORY", "",
			"table account is MEMORY: no transactions, emptied when the server ends", durability.None},
	} {
		t.Run(test.name, func(t *testing.T) {
			settings, g := drivertest.StorageOf(t, drivertest.Store{Open: Open, Target: target(test.change)}, test.statements...)
			if engine, apart := drivertest.Value(settings, "engine"), drivertest.Value(settings, store.SettingStoredAs+"MyISAM"); engine != test.engine || apart != test.apart {
				t.Errorf("engine %q, apart %q; want %q, %q", engine, apart, test.engine, test.apart)
			}
			if g.Class != test.class || !strings.Contains(g.Source, test.source) {
				t.Errorf("class %q, source %q; want %q, %q", g.Class, g.Source, test.class, test.source)
			}
		})
	}
}

// TestTablesOfOurOwn are reported too.
func TestTablesOfOurOwn(t *testing.T) {
	db := openBank(t, target())
	defer db.Close()
	expect.NoError(t, db.Create(t.Context(), store.Marker{Run: "storage", Workload: "bank"}))
	exec(t, admin(t), "ALTER TABLE assay_bank.account ENGINE=MyISAM")
	product, err := db.Describe(t.Context())
	expect.NoError(t, err)
	if got := drivertest.Value(product.Settings, store.SettingStoredAs+"MyISAM"); got != "account" {
		t.Errorf("stored as MyISAM: %q", got)
	}
}
