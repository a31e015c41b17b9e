package postgres

import (
	"testing"

	"assay/driver/drivertest"
	"assay/store"
	"assay/store/durability"
)

// TestTablesOfAUser reports unlogged or distant tables, and what they promise.
func TestTablesOfAUser(t *testing.T) {
	for _, test := range []struct {
		name       string
		statements []string
		way, names string
		class      durability.Class
	}{
		{"logged", []string{"CREATE TABLE j (id int)"}, "unlogged", "", durability.SystemCrash},
		{"unlogged", []string{"CREATE TABLE k (id int)", "CREATE UNLOGGED TABLE j (id int)"}, "unlogged", "j", durability.None},
		{"a partition", []string{"CREATE TABLE j (id int) PARTITION BY RANGE (id)", "CREATE UNLOGGED TABLE j1 PARTITION OF j FOR VALUES FROM (0) TO (10)",
			"CREATE TABLE j2 PARTITION OF j FOR VALUES FROM (10) TO (20)"}, "unlogged", "j1", durability.None},
		{"a sequence", []string{"CREATE UNLOGGED SEQUENCE s", "CREATE TABLE j (id int)"}, "unlogged", "s", durability.None},
		{"elsewhere", []string{"DROP FOREIGN DATA WRAPPER IF EXISTS assay_none CASCADE", "CREATE FOREIGN DATA WRAPPER assay_none", "CREATE SERVER assay_none FOREIGN DATA WRAPPER assay_none",
			"CREATE FOREIGN TABLE j (id int) SERVER assay_none"}, "foreign", "j", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			settings, g := drivertest.StorageOf(t, drivertest.Store{Open: Open, Target: target(t)}, test.statements...)
			if names := drivertest.Value(settings, store.SettingStoredAs+test.way); names != test.names || g.Class != test.class {
				t.Errorf("stored as %s: %q, class %q; want %q, %q", test.way, names, g.Class, test.names, test.class)
			}
		})
	}
}
