package cassandra

import (
	"testing"

	"assay/driver/drivertest"
)

func others(address, keyspace, table string) []drivertest.Other {
	one := func(t *testing.T, query string, parameters ...any) (value string) {
		t.Helper()
		if err := closing(t, address).session.Query(query, parameters...).ScanContext(t.Context(), &value); err != nil {
			t.Errorf("%s: %v", query, err)
		}
		return value
	}
	within := `"` + keyspace + `".`
	return []drivertest.Other{
		{
			Name: "type " + keyspace + ".others",
			Make: func(t *testing.T) { admin(t, address, "CREATE TYPE "+within+"others (n int)") },
			Intact: func(t *testing.T) {
				one(t, "SELECT type_name FROM system_schema.types WHERE keyspace_name = ? AND type_name = 'others'", keyspace)
			},
			Remove: func(t *testing.T) { admin(t, address, "DROP TYPE "+within+"others") },
		},
		{
			Name: "index " + keyspace + ".others",
			Make: func(t *testing.T) {
				column := one(t, "SELECT column_name FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ? AND kind = 'regular' LIMIT 1 ALLOW FILTERING", keyspace, table)
				admin(t, address, "CREATE INDEX others ON "+within+table+" ("+column+")")
			},
			Intact: func(t *testing.T) {
				one(t, "SELECT index_name FROM system_schema.indexes WHERE keyspace_name = ? AND table_name = ? AND index_name = 'others'", keyspace, table)
			},
			Remove: func(t *testing.T) { admin(t, address, "DROP INDEX "+within+"others") },
		},
	}
}
