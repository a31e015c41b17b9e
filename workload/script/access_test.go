package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/check/robustness"
	"assay/workload/script/access"
)

func shopCatalog(t *testing.T) *access.Catalog {
	t.Helper()
	var c access.Catalog
	for _, text := range []string{
		"CREATE TABLE item (id bigint PRIMARY KEY, name varchar(20) UNIQUE, stock bigint NOT NULL CHECK (stock >= 0), price numeric(8, 2))",
		"CREATE TABLE line (sale bigint REFERENCES sale, number int, item bigint, PRIMARY KEY (sale, number))",
		"CREATE TABLE IF NOT EXISTS sale (id bigint, PRIMARY KEY (id)) ENGINE = InnoDB",
		"CREATE TABLE parent (id bigint PRIMARY KEY)",
		"CREATE TABLE child (id bigint PRIMARY KEY, parent bigint REFERENCES parent ON DELETE CASCADE)",
		"CREATE UNIQUE INDEX other ON sale (id)",
		"INSERT INTO sale VALUES (1)",
	} {
		c.Made(wordsIn(text))
	}
	if c.Unclear != "" || len(c.Tables) != 5 {
		t.Fatalf("%+v", c)
	}
	return &c
}

// told is an access in one line.
func told(a access.Access) string {
	key := []string{}
	for _, k := range a.Key {
		key = append(key, k.Text)
	}
	text := fmt.Sprintf("%s %s", [...]string{access.Read: "read", access.Update: "update", access.Insert: "insert", access.Delete: "delete"}[a.Verb], a.Table)
	for name, all := range map[string][]string{"key": key} {
		if len(all) > 0 {
			text += " " + name + "=" + strings.Join(all, ",")
		}
	}
	if len(a.Condition) > 0 {
		text += " where " + strings.Join(a.Condition, ",")
	}
	if len(a.Reads) > 0 {
		text += " reads " + strings.Join(a.Reads, ",")
	}
	if len(a.Writes) > 0 {
		text += " writes " + strings.Join(a.Writes, ",")
	}
	if a.Locks {
		text += " locks"
	}
	if a.Simple {
		text += " simple"
	}
	return text
}

// TestAccesses holds what statements read and write, those that are not understood for all
// that they name.
func TestAccesses(t *testing.T) {
	c := shopCatalog(t)
	for text, want := range map[string]string{
		"SELECT stock FROM item WHERE id = $1":                                  "read item key=1 reads stock simple",
		"select i.stock, i.price from item as i where i.id = 5 and i.stock > 3": "read item key=5 where stock reads stock,price simple",
		"SELECT * FROM item WHERE name = $1 FOR UPDATE":                         "read item key=1 reads * locks",
		"SELECT count(*) FROM item WHERE stock < $1":                            "read item where stock",
		"SELECT stock FROM item WHERE id = $1 OR id = $2":                       "read item where id reads stock simple",
		"SELECT stock FROM item ORDER BY price LIMIT 1":                         "read item reads stock,price simple",
		"SELECT number FROM line WHERE sale = $1":                               "read line where sale reads number simple",
		"SELECT item FROM line WHERE sale = $1 AND $2 = number":                 "read line key=1,2 reads item simple",
		"SELECT stock FROM item WHERE id = $1 FOR SHARE":                        "read item key=1 reads stock",
		"UPDATE item SET stock = stock - $1 WHERE id = $2":                      "update item key=2 reads stock writes stock locks",
		"UPDATE item SET stock = $1 WHERE id = $2 AND stock >= $1":              "update item key=2 where stock writes stock locks",
		"UPDATE item SET stock = 0":                                             "update item writes stock locks",
		"UPDATE item SET id = $1 WHERE id = $2":                                 "update item where * writes * locks",
		"DELETE FROM parent WHERE id = $1":                                      "?",
		"DELETE FROM sale WHERE id = $1":                                        "delete sale key=1 writes * locks; read line where *",
		"INSERT INTO item (id, stock) VALUES ($1, 5)":                           "insert item key=1 writes * locks",
		"INSERT INTO line VALUES ($1, 1, 2)":                                    "insert line key=1,1 writes * locks; read sale",
		"INSERT INTO item (id, stock) VALUES ($1, 5) ON CONFLICT DO NOTHING":    "read item where * reads *; delete item where * reads * writes *",
		"SELECT stock FROM item WHERE id IN (SELECT item FROM line)":            "read item where * reads *; read line where * reads *",
		"SELECT sum(stock) FROM item JOIN line ON item = id":                    "read item where * reads *; read line where * reads *",
		"WITH x AS (DELETE FROM sale RETURNING id) SELECT id FROM x":            "read sale where * reads *; delete sale where * reads * writes *; read line where *",
		"SELECT take($1)":              "?",
		"SELECT take(stock) FROM item": "?",
		"SELECT stock FROM elsewhere":  "?",
		"UPDATE elsewhere SET n = 1":   "?",
		"VALUES (1)":                   "?",
	} {
		all, known := c.Of(wordsIn(text))
		var parts []string
		for _, a := range all {
			parts = append(parts, told(a))
		}
		got := strings.Join(parts, "; ")
		if !known {
			got = "?"
		}
		if got != want {
			t.Errorf("%s\n\tis  %s\n\twant %s", text, got, want)
		}
	}
	c.Made(wordsIn("CREATE VIEW v AS SELECT stock FROM item"))
	if _, known := c.Of(wordsIn("SELECT stock FROM item WHERE id = $1")); known {
		t.Error("a view may stand for anything, and what statements do is told all the same")
	}
}

// TestKnownSets holds the look at transactions of which the literature says how they are.
func TestKnownSets(t *testing.T) {
	c := shopCatalog(t)
	of := func(statements ...string) (all []robustness.Operation) {
		for i, text := range statements {
			accesses, known := c.Of(wordsIn(text))
			if !known {
				t.Fatal(text)
			}
			for _, a := range accesses {
				key := ""
				if a.Key != nil {
					key = rowKey(&a, []any{int64(1), int64(2), int64(3)})
				}
				all = append(all, operationsOf(&a, key, 1, i)...)
			}
		}
		return all
	}
	const (
		read, lock     = "SELECT stock FROM item WHERE id = $1", "SELECT stock FROM item WHERE id = $1 FOR UPDATE"
		write, add     = "UPDATE item SET stock = $2 WHERE id = $1", "UPDATE item SET stock = stock - 1 WHERE id = $1"
		other, sum     = "UPDATE item SET stock = $1 WHERE id = $2", "SELECT sum(stock) FROM item"
		insert, second = "INSERT INTO sale VALUES ($3)", "SELECT stock FROM item WHERE id = $2"
	)
	for _, test := range []struct {
		name       string
		statements []string
		// what is robust at read committed, with fixed reads, and at a snapshot
		want [3]bool
		// the first danger at read committed and at a snapshot
		danger, snapshot string
	}{
		{"read and written back", []string{read, write, insert}, [3]bool{false, false, true}, robustness.LostUpdate, ""},
		{"locked and written back", []string{lock, write, insert}, [3]bool{true, true, true}, "", ""},
		{"changed at once", []string{add, insert}, [3]bool{true, true, true}, "", ""},
		{"both looked at, one written", []string{read, second, write}, [3]bool{false, false, false}, robustness.LostUpdate, robustness.WriteSkew},
		{"one looked at, the other written", []string{read, other}, [3]bool{false, false, false}, robustness.WriteSkew, robustness.WriteSkew},
		{"all summed up, one written", []string{sum, write}, [3]bool{false, false, false}, robustness.WriteSkew, robustness.WriteSkew},
		{"read twice", []string{read, read}, [3]bool{true, true, true}, "", ""},
	} {
		set := []robustness.Template{{Name: test.name, Operations: of(test.statements...)}}
		for i, level := range []robustness.Level{robustness.ReadCommitted, robustness.FixedReads, robustness.Snapshot} {
			robust, dangers := robustness.Robust(set, level)
			want := map[robustness.Level]string{robustness.ReadCommitted: test.danger, robustness.Snapshot: test.snapshot}[level]
			if robust != test.want[i] || want != "" && (len(dangers) == 0 || dangers[0].Anomaly != want) {
				t.Errorf("%s at level %d: robust %v, %+v; want %v %s", test.name, level, robust, dangers, test.want[i], want)
			}
		}
	}
	if robust, _ := robustness.Robust(nil, robustness.Unknown); robust {
		t.Error("a level of which nothing is known is taken for a safe one")
	}
	reader := []robustness.Template{{Name: "twice", Operations: of(read, read)}, {Name: "writer", Operations: of(write)}}
	robust, dangers := robustness.Robust(reader, robustness.ReadCommitted)
	if robust || dangers[0].Anomaly != robustness.FuzzyRead {
		t.Errorf("a row that is read twice beside a writer: %v %+v", robust, dangers)
	}
	if robust, _ := robustness.Robust(reader, robustness.FixedReads); !robust {
		t.Error("reads of one snapshot are taken for two")
	}
	if slices.Contains([]robustness.Level{levelOf("", nil), levelOf("causal", nil)}, robustness.Serializable) {
		t.Error("a model that is not known is taken for serializable")
	}
}
