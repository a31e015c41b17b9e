package script

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/store"
	"assay/workload"
	"assay/workload/script/pgbench"
)

// fakeSender takes all texts, and answers each with the next of its results.
type fakeSender struct {
	sent    []store.UserText
	bounds  []int // how many were sent with each call
	results []store.Result
	status  store.Status
}

func (f *fakeSender) Status() store.Status { return f.status }

func (f *fakeSender) Send(_ context.Context, texts ...store.UserText) ([]store.Result, error) {
	f.sent, f.bounds = append(f.sent, texts...), append(f.bounds, len(texts))
	for _, text := range texts {
		switch text.Kind {
		case store.Begins:
			f.status = store.Open
		case store.Commits, store.RollsBack:
			f.status = store.Idle
		}
		if strings.HasPrefix(text.Text, "SAVEPOINT") {
			f.status = store.Open // as in SQLite
		}
	}
	if len(f.results) == 0 {
		return make([]store.Result, len(texts)), nil
	}
	next := f.results[:1]
	f.results = f.results[1:]
	return next, nil
}

// callOf is a call of the only transaction of a program.
func callOf(p *program, defines ...string) *call {
	c := newCall(p, &p.transactions[0], workload.NewRandom(1, 1), 3, 5)
	c.variables = &pgbench.Variables{}
	for i := 0; i < len(defines); i += 2 {
		c.variables.SetText(defines[i], defines[i+1])
	}
	return c
}

// runFake runs the transactions of a program and returns what they send.
func runFake(t *testing.T, p *program) []store.UserText {
	over, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond) // of a script that sleeps
	defer cancel()
	f := &fakeSender{}
	if err := callOf(p).runTexts(over, f); over.Err() == nil {
		hasPlace(t, string(make([]byte, 1<<20)), err)
	}
	return f.sent
}

func TestErrorsOfSQLHaveTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"":                                          "x.sql:1:1: it has no statement",
		"\\set a 1\n":                               "x.sql: it has no statement",
		"\\set a (1\nSELECT :a;":                    "x.sql:1:",
		"\\set a foo(1)\nSELECT :a;":                "x.sql:1:8: ",
		"\\sleep 1 min\nSELECT 1;":                  "x.sql:1:",
		"SELECT 1;\nSELECT 'a;":                     "x.sql:2:8: ",
		"UPDATE public.a SET b = 1;":                "x.sql:1:1: public.a lies outside",
		"SELECT 1;\n\tCREATE ROLE a;":               "x.sql:2:2: setup cannot create ROLE",
		"DO $$ BEGIN DELETE FROM other.t; END $$;":  "other.t lies outside",
		"SET search_path = x;":                      "SET cannot be used",
		"COPY t FROM PROGRAM 'x';":                  "COPY cannot be used",
		"PREPARE TRANSACTION 'a';":                  "PREPARE cannot be used",
		"\\startpipeline\nSELECT 1;\n\\endpipeline": "x.sql:1:1: a pipeline cannot use the simple protocol; give --protocol",
		"-- assay: invariant x\nSELECT 1;":          "x.sql:1:1: a declaration that is not understood",
		"-- assay: counted x foo:\nSELECT 1;":       "x.sql:1:1: \"foo\" is not understood",
	} {
		err := configOf("x.sql", text).Validate()
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", text, err, want)
		}
	}
}

// TestKindsOfStatements: what a statement does to its transaction is told by its words, and
// so are the tables that it names.
func TestKindsOfStatements(t *testing.T) {
	s := &statements{}
	for text, want := range map[string]struct {
		kind          store.TextKind
		reads, writes string
	}{
		"SELECT a.x FROM t AS a, u b JOIN v ON a.x = b.x WHERE x IN (SELECT y FROM w)": {store.NoEffect, "t u v w", ""},
		"SELECT count(*), coalesce(sum(a), 0) FROM t FOR UPDATE":                       {store.NoEffect, "t", ""},
		"SELECT nextval('s')":                                                              {store.Writes, "", "what its functions and procedures write"},
		"SELECT * INTO n FROM t":                                                           {store.Defines, "t", "n"},
		"WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x":                            {store.Writes, "", "t"},
		"WITH x AS (SELECT a FROM t) SELECT count(*) FROM x":                               {store.NoEffect, "t", ""},
		"WITH a (n) AS (SELECT 1), b (m) AS MATERIALIZED (SELECT 2) SELECT n, m FROM a, b": {store.NoEffect, "", ""},
		"WITH d AS (SELECT 5 AS n) SELECT n, transfer(1, 2, n) AS done FROM d":             {store.Writes, "", "what its functions and procedures write"},
		"INSERT INTO t (a) SELECT b FROM u":                                                {store.Writes, "u", "t"},
		"UPDATE t SET a = :x WHERE b = ANY (ARRAY[1])":                                     {store.Writes, "", "t"},
		"BEGIN ISOLATION LEVEL SERIALIZABLE":                                               {store.Begins, "", ""},
		"START TRANSACTION READ ONLY":                                                      {store.Begins, "", ""},
		"END":                                                                              {store.Commits, "", ""},
		"COMMIT AND CHAIN":                                                                 {store.Commits, "", ""},
		"ROLLBACK":                                                                         {store.RollsBack, "", ""},
		"ROLLBACK TO SAVEPOINT a":                                                          {store.NoEffect, "", ""},
		"SAVEPOINT a":                                                                      {store.NoEffect, "", ""},
		"SET LOCAL work_mem = '1MB'":                                                       {store.NoEffect, "", ""},
		"SET autocommit = 1":                                                               {store.Anything, "", ""},
		"EXPLAIN SELECT 1 FROM t":                                                          {store.NoEffect, "t", ""},
		"EXPLAIN ANALYZE DELETE FROM t":                                                    {store.Writes, "", "t"},
		"CREATE TEMP TABLE x (a int)":                                                      {store.Defines, "x", ""},
		"TRUNCATE t":                                                                       {store.Defines, "", "t"},
		"CALL p(1)":                                                                        {store.Anything, "", "what its functions and procedures write"},
		"DO $x$ BEGIN UPDATE t SET a = 'it''s $y$'; END $x$":                               {store.Anything, "", "t"},
		"SELECT $$a.b$$, E'it\\'s c.d', 'x\\' /* /* e.f */ */ -- g.h":                      {store.NoEffect, "", ""},
		"PREPARE p AS SELECT 1":                                                            {store.NoEffect, "", ""},
		"LOCK TABLE t IN EXCLUSIVE MODE":                                                   {store.Anything, "t", ""},
		"MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DO NOTHING":                   {store.Writes, "", "t"},
		"VACUUM t":                             {store.Anything, "", ""},
		"CREATE INDEX CONCURRENTLY i ON t (a)": {store.Anything, "", ""},
		"INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = t.b + 1": {store.Writes, "", "t"},
	} {
		of, err := s.asWritten(text)
		if err != nil || of.kind != want.kind || strings.Join(of.writes, " ") != want.writes || want.reads != "" && strings.Join(of.reads, " ") != want.reads {
			t.Errorf("%s: %+v, %v; want %+v", text, of, err, want)
		}
	}
}

// TestARunOfAScript: branches, \gset, \aset and the protocols send what pgbench sends.
func TestARunOfAScript(t *testing.T) {
	one, two := "7", "b"
	answers := func() []store.Result {
		return []store.Result{{Columns: []string{"x", "y"}, Rows: 1, Last: []*string{&one, nil}}, {Columns: []string{"z"}, Rows: 3, Last: []*string{&two}}}
	}
	const text = `\set a 1 + 1
BEGIN;
SELECT x, y FROM t WHERE a = :a AND b = ':a' \gset p_
SELECT z FROM t \aset
\if :p_x > 5
UPDATE t SET a = :a, b = ':z:p_y' WHERE id = :id::int;
\else
SELECT 1;
\endif
END
`
	for protocol, want := range map[store.Protocol]string{
		store.Simple:   "BEGIN|SELECT x, y FROM t WHERE a = 2 AND b = '2'|SELECT z FROM t|UPDATE t SET a = 2, b = 'b' WHERE id = 9::int|END",
		store.Prepared: "BEGIN|SELECT x, y FROM t WHERE a = $1 AND b = $2|SELECT z FROM t|UPDATE t SET a = $1, b = $2$3 WHERE id = $4::int|END",
	} {
		config := configOf("x.sql", text)
		if protocol != store.Simple { // which has no parameters in quotes
			config.Text = source(strings.ReplaceAll(text, "'", ""))
		}
		config.Protocol = protocol
		p, err := config.compile(0)
		expect.NoError(t, err)
		f := &fakeSender{results: append([]store.Result{{}}, answers()...)}
		c := callOf(p, "id", "9")
		expect.NoError(t, c.runTexts(t.Context(), f))
		var sent []string
		for _, text := range f.sent {
			sent = append(sent, text.Text)
			for i, at := range text.At {
				if !strings.HasPrefix(text.Text[at:], "$"+string(rune('1'+i))) {
					t.Errorf("%q has no parameter %d at %d", text.Text, i+1, at)
				}
			}
		}
		if strings.Join(sent, "|") != want {
			t.Errorf("%s: sent %q, want %q", protocol, strings.Join(sent, "|"), want)
		}
		if left, _ := c.left.Text("p_x"); left != "7" {
			t.Errorf("the run leaves p_x = %q", left)
		}
	}
}

// TestGsetWantsOneRow: another number ends the run of the script, at its place.
func TestGsetWantsOneRow(t *testing.T) {
	for _, result := range []store.Result{{Columns: []string{"a"}}, {Columns: []string{"a"}, Rows: 2}, {Rows: 1}} {
		p, err := configOf("x.sql", "SELECT 1;\nSELECT a FROM t \\gset").compile(0)
		expect.NoError(t, err)
		err = callOf(p).runTexts(t.Context(), &fakeSender{results: []store.Result{{}, result}})
		var wrong *Error
		if !errors.As(err, &wrong) || wrong.Line != 2 || wrong.ofDatabase() {
			t.Errorf("%+v: %v", result, err)
		}
	}
}

// TestPipelines: what stands between two bounds is sent together, and what cannot be in a
// pipeline is said.
func TestPipelines(t *testing.T) {
	for text, want := range map[string][]int{
		"SELECT 1;\n\\startpipeline\nSELECT 2;\nSELECT 3;\n\\syncpipeline\nSELECT 4;\n\\endpipeline\nSELECT 5;": {1, 2, 1, 1},
		"\\startpipeline\n\\endpipeline\nSELECT 1;":                                                             {1},
		"\\startpipeline\nSELECT 1;":                                                                            nil,
		"\\startpipeline\nSELECT 1 AS a \\gset\n\\endpipeline":                                                  nil,
		"SELECT 1;\n\\endpipeline":                                                                              nil,
		"\\startpipeline\n\\startpipeline\nSELECT 1;":                                                           nil,
	} {
		config := configOf("x.sql", text)
		config.Protocol = store.Extended
		p, err := config.compile(0)
		f := &fakeSender{}
		if err == nil {
			err = callOf(p).runTexts(t.Context(), f)
		}
		if (err == nil) != (want != nil) || err == nil && !slices.Equal(f.bounds, want) {
			t.Errorf("%q: %v, sent %v; want %v", text, err, f.bounds, want)
		}
	}
}

// TestTheTrialRollsBack: nothing that could be committed is sent.
func TestTheTrialRollsBack(t *testing.T) {
	for text, want := range map[string]string{
		"BEGIN; INSERT INTO t VALUES (1); COMMIT; SELECT 2;": "BEGIN|INSERT INTO t VALUES (1)",
		"INSERT INTO t VALUES (1); SELECT 2;":                "BEGIN|INSERT INTO t VALUES (1)|SELECT 2",
		"SELECT 2; CREATE TABLE x (a int); SELECT 3;":        "SELECT 2",
		"CALL p();":                            "",
		"DELETE FROM t; BEGIN; SELECT 1; END;": "BEGIN|DELETE FROM t",
		"BEGIN; SELECT 1; ROLLBACK; SELECT 2;": "BEGIN|SELECT 1",
		// In SQLite the first SAVEPOINT begins a transaction, and its RELEASE commits it.
		"SAVEPOINT a; DELETE FROM t; RELEASE a; SELECT 2;":                "SAVEPOINT a|DELETE FROM t",
		"SAVEPOINT a; DELETE FROM t\\; RELEASE a; SELECT 2;":              "SAVEPOINT a",
		"BEGIN; SAVEPOINT a; DELETE FROM t; RELEASE a; SELECT 2; COMMIT;": "BEGIN|SAVEPOINT a|DELETE FROM t|RELEASE a|SELECT 2",
	} {
		p, err := configOf("x.sql", text).compile(0)
		expect.NoError(t, err)
		f := &fakeSender{}
		if err := callOf(p).runTexts(t.Context(), &trialSender{Sender: f}); err != nil && !errors.Is(err, errTried) {
			t.Errorf("%q: %v", text, err)
		}
		var sent []string
		for _, text := range f.sent {
			sent = append(sent, text.Text)
		}
		if strings.Join(sent, "|") != want {
			t.Errorf("%q: sent %q, want %q", text, sent, want)
		}
	}
}

// TestExistingTables: which tables are read and written is said, and none is made, altered
// or dropped, whatever else a script may do.
func TestExistingTables(t *testing.T) {
	c := configOf("x.sql", "-- assay: invariant sum equals 0: SELECT sum(b) FROM public.u\nUPDATE public.t SET a = 1 WHERE b IN (SELECT c FROM v);\nCREATE TEMP TABLE x (a int);")
	c.UseExisting()
	expect.NoError(t, c.Validate())
	if read, written := c.Touched(); strings.Join(read, " ") != "public.u v x" || strings.Join(written, " ") != "public.t" {
		t.Errorf("reads %q, writes %q", read, written)
	}
	for _, text := range []string{"DROP TABLE t;", "CREATE TABLE x (a int);", "ALTER TABLE t ADD b int;", "GRANT ALL ON t TO u;", "SELECT * INTO x FROM t;", "DELETE FROM assay_mark;"} {
		c := configOf("x.sql", text)
		c.UseExisting()
		if err := c.Validate(); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	setup := configOf("x.sql", "SELECT 1;")
	setup.Setup, setup.SetupText = "s.sql", "CREATE TABLE x (a int);"
	setup.UseExisting()
	star := configOf("x.star", declared(""))
	star.UseExisting()
	for _, c := range []Config{setup, star} {
		if err := c.Validate(); err == nil {
			t.Errorf("%s is taken", c.File)
		}
	}
}

// TestFunctionsInSettings: a function may write wherever it is called.
func TestFunctionsInSettings(t *testing.T) {
	for text, want := range map[string]store.TextKind{
		"SET @x = f();": store.Writes, "SET @x = 1, @y = (SELECT g(2));": store.Writes, "SET @x = (SELECT count(*) FROM t);": store.NoEffect, "SET @x = 1;": store.NoEffect,
		"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;": store.NoEffect, "SET autocommit = f();": store.Anything, "SET LOCAL work_mem = '1MB';": store.NoEffect,
		"DECLARE c CURSOR FOR SELECT f(a) FROM t;": store.Writes, "DECLARE c CURSOR FOR SELECT max(a) FROM t FOR UPDATE;": store.NoEffect,
	} {
		p, err := configOf("x.sql", text).compile(0)
		expect.NoError(t, err)
		if got := p.transactions[0].texts.sends[0].kind; got != want {
			t.Errorf("%s is of kind %d, want %d", text, got, want)
		}
	}
}
