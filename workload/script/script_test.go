package script

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"assay/internal/expect"
	"assay/workload"
	"assay/workload/definition"
)

// declared is a script that does nothing, with more behind it.
func declared(more string) string {
	return "def f(tx, r):\n    pass\ntransaction(\"f\", run = f)\n" + more
}

func configOf(file, text string) Config {
	c := Defaults()
	c.File, c.Text = file, source(text)
	return c
}

// TestErrorsHaveTheirPlace: whatever is wrong with a script says where, and what to do.
func TestErrorsHaveTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"def f(tx, r)\n  pass\n": "x.star:2:1: got newline",
		"x = y\n":                "x.star:1:5: undefined: y",
		"def setup(a, b):\n    pass\n" + declared(""):                                                            "x.star: setup is no function of one parameter",
		"load(\"a\", \"b\")\n":                                                                                   "x.star:1:1: load",
		"x = 1\n":                                                                                                "x.star: it declares no transaction",
		declared("transaction(\"f\", run = f)\n"):                                                                "x.star:4:12: the transaction \"f\" is declared twice",
		declared("transaction(\"g\", run = f, weight = 0)\n"):                                                    "x.star:4:12: the weight",
		declared("transaction(\"g\", run = f, think = -1)\n"):                                                    "x.star:4:12: the think time",
		declared("invariant(\"i\", \"SELECT 1\")\n"):                                                             "x.star:4:10: invariant \"i\": say what",
		declared("invariant(\"i\", \"SELECT $1\", empty=1)\n"):                                                   "for parameter \"empty\"",
		declared("invariant(\"i\", \"DELETE FROM a\", empty = True)\n"):                                          "it is no query",
		declared("invariant(\"i\", \"SELECT a FROM other.b\", empty = True)\n"):                                  "other.b lies outside of assay's schema",
		declared("counted(\"journal\", transaction = \"g\")\n"):                                                  "the transaction \"g\", which is not declared",
		declared("def setup(db):\n    db.exec(\"DROP DATABASE x\")\n"):                                           "x.star:5:12: setup cannot drop DATABASE",
		declared("def setup(db):\n    db.exec(\"GRANT ALL ON t TO u\")\n"):                                       "x.star:5:12: setup cannot have a statement that begins with \"GRANT\" unless --allow-foreign is given",
		declared("def setup(db):\n    db.exec(\"CREATE TABLE other.t (a int)\")\n"):                              "x.star:5:12: other.t lies outside of assay's schema; leave the qualifier out, or give --allow-foreign",
		declared("invariant(\"i\", \"SELECT 1; SELECT 2\", equals = 1)\n"):                                       "x.star:4:10: invariant \"i\": there are several statements in one text",
		declared("invariant(\"i\", \"SELECT n FROM assay_mark\", equals = 1)\n"):                                 "assay_mark is assay's own and cannot be used",
		declared("invariant(\"i\", \"SELECT 1 INTO OUTFILE 'x'\", equals = 1)\n"):                                "a statement cannot write files of the server",
		declared("def setup(db):\n    db.exec(\"COMMIT\")\n"):                                                    "x.star:5:12: COMMIT cannot be used",
		declared("def setup(db):\n    db.insert(\"a.b\", columns = [], rows = [])\n"):                            "x.star:5:14: \"a.b\" is no name",
		declared("def setup(db):\n    db.insert(\"a\", columns = [\"b\"], count = 3, row = lambda i: (1, 2))\n"): "a row has 2 values",
		declared("def setup(db):\n    for i in range(1000000000):\n        pass\n"):                              "too many steps",
		declared("param(\"a\", None)\nparam(\"b\", [])\n") + "":                                                  "",
	} {
		err := configOf("x.star", text).Validate()
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", text, err, want)
		}
	}
}

func TestFlagsOfAScript(t *testing.T) {
	for name, c := range map[string]Config{
		"no file":           Defaults(),
		"define twice":      {Script: Script{File: "x.star", Text: source(declared(""))}, Loaders: 1, Define: "a=1,a=2"},
		"define of nothing": {Script: Script{File: "x.star", Text: source(declared(""))}, Loaders: 1, Define: "a=1"},
		"define of no int":  {Script: Script{File: "x.star", Text: source(declared("param(\"a\", 1)\n"))}, Loaders: 1, Define: "a=x"},
		"setup":             {Script: Script{File: "x.star", Text: source(declared(""))}, Loaders: 1, Setup: "s.sql"},
		"loaders":           {Script: Script{File: "x.star", Text: source(declared(""))}},
		"observe":           {Script: Script{File: "x.star", Text: source(declared(""))}, Loaders: 1, Observe: -1},
	} {
		if err := c.Validate(); err == nil {
			t.Errorf("%s: is taken", name)
		}
	}
	c := Config{Script: Script{File: "x.star", Text: source(declared("param(\"a\", 1)\n"))}, Loaders: 1, Define: "a=7"}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	for _, f := range c.Flags() {
		if f.Name != "define" {
			continue
		}
		for _, text := range []string{"a=8", "b=2,c=3"} { // the first replaces what the configuration had
			expect.NoError(t, f.Value.(definition.Several).Set(text))
		}
	}
	if c.Define != "a=8,b=2,c=3" {
		t.Errorf("two definitions are %q", c.Define)
	}
}

// TestStatementsWithinTheSchema: what lies outside of it is refused, and what only looks
// like it is not.
func TestStatementsWithinTheSchema(t *testing.T) {
	s := &statements{}
	for _, text := range []string{
		"SELECT a.x, b.y FROM t AS a JOIN u b ON a.id = b.id WHERE a.x IS DISTINCT FROM b.y",
		"SELECT t.x FROM t", "SELECT extract(year FROM t.x), 1.5, '$' FROM t", "DELETE FROM t USING u WHERE t.id = u.id",
		"INSERT INTO t (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET b = excluded.b", "UPDATE t SET a = 'other.t' -- other.t\n",
		"SELECT (t.c).d FROM t", "SELECT x::int FROM t;", "INSERT INTO t SELECT 1 ON DUPLICATE KEY UPDATE t.b = t.b + 1",
		"(SELECT 1) UNION (SELECT 2)", "WITH q AS (SELECT 1 AS x) SELECT q.x FROM q",
	} {
		n := strings.Count(text, "$1")
		if _, err := s.inTransaction(text, n); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"SELECT * FROM other.t", "SELECT * FROM t, other.u", "SELECT other.t.x FROM t", "SELECT 1 FROM a JOIN other.b ON true",
		"UPDATE other.t SET a = 1", "INSERT INTO \"other\".t VALUES (1)", "DELETE FROM `other`.`t`", "SELECT 1 AS other FROM other.t",
		"SELECT other.f(1)", "SELECT * FROM assay_mark", "SELECT * FROM ASSAY_LEASE", "SELECT 1; SELECT 2", "", ";", "BEGIN", "COMMIT",
		"ROLLBACK", "SET search_path = x", "DROP TABLE t", "ATTACH 'x' AS y", "PRAGMA x", "SELECT 1 INTO OUTFILE 'x'", "SELECT 1--1 FROM t",
		"SELECT 'a\\' FROM other.t -- '", "SELECT /*! 1 */ 2", "SELECT # 1", "SELECT '$1'", "SELECT $2", "SELECT $$a$$", "CALL f()",
	} {
		if _, err := s.inTransaction(text, 0); err == nil || errors.As(err, new(*sqlError)) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, allowed := range map[string]bool{
		"CREATE TABLE t (a int REFERENCES u (b))": true, "CREATE UNIQUE INDEX i ON t (a)": true, "CREATE OR REPLACE VIEW v AS SELECT a.x FROM t a JOIN u b ON a.x = b.x": true,
		"INSERT INTO t VALUES (1)": true, "DROP TABLE IF EXISTS t": true, "CREATE TABLE other.t (a int)": false, "CREATE INDEX i ON other.t (a)": false,
		"CREATE DATABASE x": false, "DROP SCHEMA x": false, "CREATE FUNCTION f() RETURNS int": false, "GRANT ALL ON t TO u": false,
		"ALTER SYSTEM SET x = 1": false, "DROP TABLE assay_mark": false, "SELECT $1": false, "COMMIT": false, "CREATE TABLE t (a int REFERENCES other.u (b))": false,
	} {
		if _, err := s.inSetup(text); (err == nil) != allowed {
			t.Errorf("%s: %v; allowed is %v", text, err, allowed)
		}
	}
	all := &statements{anySchema: true}
	if _, err := all.inTransaction("SELECT * FROM other.t", 0); err != nil {
		t.Error(err)
	}
	if _, err := all.inTransaction("SELECT * FROM x.assay_mark", 0); err == nil {
		t.Error("the marker can be read")
	}
	for i := range maxStatements + 1 {
		_, err := s.inTransaction(fmt.Sprintf("SELECT %d", i), 0)
		if i == maxStatements && err == nil {
			t.Error("the number of statements is not bounded")
		}
	}
}

// TestSourceThroughYAML: a scenario has the text as it is.
func TestSourceThroughYAML(t *testing.T) {
	for _, text := range []string{"a: b\n", "  x\n\ty  \n\n", "\"'`\\ $1 %s \u00fc\u2028 <&>", "#\r\n---\n...\n", ""} {
		c := configOf("x.star", text)
		written, err := yaml.Marshal(c)
		expect.NoError(t, err)
		var back Config
		if err := yaml.Unmarshal(written, &back); err != nil || !reflect.DeepEqual(back, c) {
			t.Errorf("%q became %q, %v by way of %s", text, back.Text, err, written)
		}
	}
}

// TestDrawsFollowTheirLaws holds the means and the ends of each distribution against what
// pgbench's manual says of it.
func TestDrawsFollowTheirLaws(t *testing.T) {
	const n = 20_000
	for name, d := range map[string]struct {
		draw      distribution
		parameter float64
		least     float64 // of the mean
		most      float64
	}{
		"gaussian":    {gaussian, 2.5, 49, 52},
		"exponential": {exponential, 5, 19, 21}, // 100 (1/5 - 1/(e^5 - 1))
		"zipfian":     {zipfian, 1.5, 6.5, 8.5}, // 18.59 / 2.412
		"uniform": {func(r *workload.Random, low, high int64, _ float64) (int64, error) { return uniform(r, low, high) }, 0,
			49.5, 51.5},
	} {
		r := workload.NewRandom(1, 2)
		sum := 0.0
		for range n {
			v, err := d.draw(&r, 1, 100, d.parameter)
			if err != nil || v < 1 || v > 100 {
				t.Fatalf("%s: %d, %v", name, v, err)
			}
			sum += float64(v)
		}
		if mean := sum / n; mean < d.least || mean > d.most {
			t.Errorf("%s: the mean is %v, want %v to %v", name, mean, d.least, d.most)
		}
	}
	r := workload.NewRandom(1, 3)
	seen := map[int64]int{}
	for range 1000 {
		drawn, err := distinct(&r, 2, 1, 3)
		if err != nil || len(drawn) != 2 || drawn[0] == drawn[1] {
			t.Fatalf("distinct: %v, %v", drawn, err)
		}
		seen[drawn[0]*10+drawn[1]]++
	}
	for pair, times := range seen {
		if len(seen) != 6 || times < 110 || times > 225 {
			t.Errorf("of %d pairs %d was drawn %d times", len(seen), pair, times)
		}
	}
}
