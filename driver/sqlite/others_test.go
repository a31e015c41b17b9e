package sqlite_test

import (
	"database/sql"
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/internal/expect"
)

func others(path string) (all []drivertest.Other) {
	execute := func(t *testing.T, text string) {
		t.Helper()
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
		expect.NoError(t, err)
		defer db.Close()
		var table, column string
		err = db.QueryRowContext(t.Context(), `SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table' AND s.name <> 'others'
			ORDER BY s.name = 'assay_mark', s.name, c.cid LIMIT 1`).Scan(&table, &column)
		if err == nil {
			_, err = db.ExecContext(t.Context(), strings.NewReplacer("{table}", table, "{column}", column).Replace(text))
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for name, text := range map[string]struct{ make, intact string }{
		"table others":   {`CREATE TABLE others AS SELECT 7 AS n`, `SELECT n FROM others`},
		"view others":    {`CREATE VIEW others AS SELECT {column} FROM {table}`, `SELECT {column} FROM others`},
		"index others":   {`CREATE INDEX others ON {table} ({column})`, `REINDEX others`},
		"trigger others": {`CREATE TRIGGER others BEFORE DELETE ON {table} BEGIN SELECT 1; END`, `DROP TRIGGER others; CREATE TRIGGER others BEFORE DELETE ON {table} BEGIN SELECT 1; END`},
	} {
		kind, _, _ := strings.Cut(name, " ")
		all = append(all, drivertest.Other{
			Name:   name,
			Make:   func(t *testing.T) { execute(t, text.make) },
			Intact: func(t *testing.T) { execute(t, text.intact) },
			Remove: func(t *testing.T) { execute(t, "DROP "+kind+" others") },
		})
	}
	return all
}
