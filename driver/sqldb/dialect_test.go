package sqldb

import (
	"slices"
	"strings"
	"testing"

	"assay/store"
	"assay/workload/bank"
	"assay/workload/isolation"
)

func testDialect() Dialect {
	return Dialect{
		Prefix: "s.", IndexPrefix: "i_",
		Types:   map[store.Type]string{store.Integer: "INT", store.String: "CHAR(%d)", store.UUID: "UID"},
		NotNull: " NOT NULL", Derived: " CHECK (%s <> NULL)",
		Key: " CONSTRAINT %s_key PRIMARY KEY", LateKey: "KEY %[1]s ON %[2]s (%[3]s)", LateIndexes: true,
		Options: " O", KeyedOptions: " K", UpdatedOptions: " U",
	}
}

func TestTables(t *testing.T) {
	tables := []store.Table{
		{
			Name: "a", Columns: []store.Column{{Name: "id"}, {Name: "n", Type: store.String, Length: 7}, {Name: "v", Derived: true}},
			Floors:  []store.Minimum{{Name: "positive", Column: "n", Least: 1}},
			Indexes: []store.Index{{Name: "early", Columns: []string{"n"}}, {Name: "late", Columns: []string{"n", "v"}, Late: true}},
			LateKey: true, Updated: true,
		},
		{Name: "b", Columns: []store.Column{{Name: "id", Type: store.UUID}}},
		{
			Name: "c", Columns: []store.Column{{Name: "x"}, {Name: "y"}, {Name: "z"}}, KeyColumns: 2, LateKey: true,
			Indexes: []store.Index{{Name: "one", Columns: []string{"z"}, Unique: true}},
		},
	}
	d := testDialect()
	check := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	const columns = "n CHAR(7) NOT NULL, v INT CHECK (v <> NULL), CONSTRAINT positive CHECK (n >= 1)) O U"
	const early, b = "CREATE INDEX i_early ON s.a (n)", "CREATE TABLE s.b (id UID NOT NULL CONSTRAINT b_key PRIMARY KEY) O K"
	const late = "CREATE INDEX i_late ON s.a (n, v)"
	const several, one = "CREATE TABLE s.c (x INT NOT NULL, y INT NOT NULL, z INT NOT NULL", "CREATE UNIQUE INDEX i_one ON s.c (z)"
	check(d.Create(tables), "CREATE TABLE s.a (id INT NOT NULL, "+columns, early, b, several+") O K", one)
	check(d.Late(tables), "KEY a ON s.a (id)", late, "KEY c ON s.c (x, y)")
	d.LateKey, d.LateIndexes = "", false
	check(d.Create(tables), "CREATE TABLE s.a (id INT NOT NULL CONSTRAINT a_key PRIMARY KEY, "+columns, early, late, b,
		several+", CONSTRAINT c_key PRIMARY KEY (x, y)) O K", one)
	check(d.Late(tables))
}

func TestCounted(t *testing.T) {
	if got := Counted(bank.Schema().Tables); !slices.Equal(got, []string{"account"}) {
		t.Errorf("bank: %v", got)
	}
	if got := Counted(isolation.Schema().Tables); !slices.Equal(got, []string{"list", "register", "member", "pair"}) {
		t.Errorf("isolation: %v", got)
	}
}
