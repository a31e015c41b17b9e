package runner

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
	"assay/workload/definition"
	"assay/workload/script"
)

// scripted is a run of a user's script in SQL with this setup.
func scripted(t *testing.T, cluster, setup, text string) Scenario {
	t.Helper()
	s := small("", 1, 0)
	become(&s, script.Definition())
	s.Cluster, s.Load.Duration = cluster, 3*time.Second
	for name, content := range map[string]string{"script": text, "setup": setup} {
		path := filepath.Join(t.TempDir(), name+".sql")
		put(t, path, content)
		flag, _ := definition.Lookup(s.Config, name)
		expect.NoError(t, flag.Value.(interface{ Set(string) error }).Set(path))
	}
	return s
}

const transfersOfAScript = `-- assay: invariant money equals 200: SELECT sum(balance) FROM account
\set d random(1, 5)
BEGIN;
UPDATE account SET balance = balance - :d WHERE id = 1;
UPDATE account SET balance = balance + :d WHERE id = 2;
COMMIT;
`

// TestTablesOfAScriptAreJudgedAsTheyAre: their engine is reported, and tables without transactions
// promise nothing.
func TestTablesOfAScriptAreJudgedAsTheyAre(t *testing.T) {
	t.Parallel()
	server := onServers(t, "mariadb:1")
	const two = "; INSERT INTO account (id, balance) VALUES (1, 100), (2, 100);"
	for name, test := range map[string]struct{ engine, class string }{
		"of no engine": {"", "system crash"}, "of MyISAM": {" ENGINE=MyISAM", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			s := scripted(t, "", "CREATE TABLE account (id int PRIMARY KEY, balance int)"+test.engine+two, transfersOfAScript)
			s.Database, s.Config.(*script.Config).Observe = server.Address(), 200
			r := carryOut(t, s).Result
			if r.Durability == nil || r.Durability.Class != test.class {
				t.Errorf("durability %+v, want %s", r.Durability, test.class)
			}
			if test.engine == "" {
				if r.Verdict != check.Valid || *r.Promise.Kept != true {
					t.Errorf("%s: %s", r.Verdict, details(r))
				}
				return
			}
			if r.Promise.Kept == nil || !*r.Promise.Kept {
				t.Errorf("nothing was promised, and kept is %+v: %s", r.Promise, details(r))
			}
			if r.Verdict == check.Allowed && !strings.Contains(r.Promise.Source, "table account is MyISAM: no transactions") {
				t.Errorf("allowed by %q", r.Promise.Source)
			}
		})
	}
}

// TestWhatACrashMayTake: a loss that PostgreSQL's manual allows is no broken promise and ends with
// 0, unless all findings were to fail.
func TestWhatACrashMayTake(t *testing.T) {
	t.Parallel()
	unlogged := func(t *testing.T) Scenario {
		return scripted(t, "postgres:1", "CREATE UNLOGGED TABLE j (id int, t text);", "-- assay: counted j:\n\\set x random(1, 100)\nINSERT INTO j (id, t) VALUES (:x, 'a');\n")
	}
	asynchronous := func(t *testing.T) Scenario {
		s := small("", 1, 0)
		s.Cluster, s.Options, s.Load.Duration = "postgres:1", []string{"synchronous_commit=off"}, 3*time.Second
		return s
	}
	for name, test := range map[string]struct {
		scenario func(*testing.T) Scenario
		source   string
	}{
		"an unlogged table": {unlogged, "table j is unlogged"}, "an asynchronous commit": {asynchronous, "synchronous_commit=off"},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.scenario(t)
			s.Faults = []string{"kill n1 at 1s for 500ms"}
			r := carryOut(t, s).Result
			if r.Promise.Kept == nil || !*r.Promise.Kept {
				t.Fatalf("%+v: %s", r.Promise, details(r))
			}
			if r.Verdict == check.Allowed && !strings.Contains(r.Promise.Source, test.source) {
				t.Errorf("allowed by %q", r.Promise.Source)
			}
			if name == "an unlogged table" && r.Verdict != check.Allowed {
				t.Errorf("nothing was lost: %s", details(r))
			}
			for _, why := range report.ExitOf(r).Reasons {
				if strings.HasPrefix(why, "violated") || strings.HasPrefix(why, "no verdict") {
					t.Errorf("the exit says %q", why)
				}
			}
			r.Judge = report.JudgeFound
			if code := report.ExitOf(r).Code; r.Verdict == check.Allowed && code != report.ExitViolated {
				t.Errorf("with --judge found it ends with %d", code)
			}
		})
	}
}
