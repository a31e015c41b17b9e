package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/workload/bank"
)

func TestOptionsGoIntoTheAddress(t *testing.T) {
	for address, want := range map[string]string{
		"mongodb://a:1,b:2":               "mongodb://a:1,b:2/?w=1&x=a+b",
		"mongodb://a:1/":                  "mongodb://a:1/?w=1&x=a+b",
		"mongodb://a/?replicaSet=rs0":     "mongodb://a/?replicaSet=rs0&w=1&x=a+b",
		"postgres://u:p@h/db?sslmode=off": "postgres://u:p@h/db?sslmode=off&w=1&x=a+b",
		"sqlite:some/file.db":             "sqlite:some/file.db?w=1&x=a+b",
		"mem://?bug=lost-ack:0.1":         "mem://?bug=lost-ack:0.1&w=1&x=a+b",
		"cassandra://a,b/keyspace":        "cassandra://a,b/keyspace?w=1&x=a+b",
	} {
		if got := withOptions(address, []string{"w=1", "x=a b"}); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
		if got := withOptions(address, nil); got != address {
			t.Errorf("%s became %s", address, got)
		}
	}
	for _, bad := range []string{"", "w", "=1", "w=", "a&b=1", "sslpassword=hunter2", "tlsKeyFilePassword=hunter2"} {
		s := Defaults(bank.Definition())
		s.Options = []string{bad}
		if err := s.Validate(); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("option %q: %v", bad, err)
		}
	}
}

// TestScenarioRunsFromAnywhere: a run's scenario names the same file from another directory.
func TestScenarioRunsFromAnywhere(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	out := carryOut(t, small("sqlite:some bank.db?synchronous=normal", 3, 20))
	if want := "sqlite:some bank.db?synchronous=normal"; out.Result.Database.Address != want {
		t.Errorf("the result says %q, want %q as it was given", out.Result.Database.Address, want)
	}
	t.Chdir(t.TempDir())
	s, err := ReadScenario(filepath.Join(out.Folder, FileScenario))
	if want := "sqlite:" + filepath.Join(here, "some bank.db") + "?synchronous=normal"; err != nil || s.Database != want {
		t.Fatalf("the scenario says %q, %v; want %q", s.Database, err, want)
	}
	carryOut(t, s)
	if left, err := os.ReadDir("."); err != nil || len(left) != 0 {
		t.Errorf("it made %v here, %v", left, err)
	}
}

func TestFromAnywhere(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, same := range []string{"", "mem://", "sqlite:/a/b.db?journal=delete", "sqlite:///a/b.db", "postgres://h/d?sslrootcert=x", "sqlite:"} {
		if got := fromAnywhere(same); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
	expect.NoError(t, os.Mkdir("what?", 0o755))
	t.Chdir("what?")
	if got := fromAnywhere("sqlite:a.db"); got != "sqlite:a.db" {
		t.Errorf("in a directory that no address can hold: %q", got)
	}
}
