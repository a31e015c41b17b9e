package runner

import (
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
	"assay/workload/isolation"
)

// TestPromiseIsJudged: a database that keeps its vendor's promise but misses the requested model
// differs from one broken on purpose, which says nothing of its vendor.
func TestPromiseIsJudged(t *testing.T) {
	t.Parallel()
	server := onServers(t, "postgres:1,fsync=off")
	kept := true
	for name, test := range map[string]struct {
		database, isolation, model string
		verdict                    check.Verdict
		want                       report.Promise
	}{
		"PostgreSQL below serializable": {server.Address(), "repeatable read", "serializable", check.Allowed,
			report.Promise{Model: "snapshot-isolation", Asked: "serializable", Kept: &kept}},
		"a bug, and another model asked": {"mem://?bug=write-skew:0.5", "", "serializable", check.Violated,
			report.Promise{Model: "strict-serializable", Asked: "serializable"}},
		"a bug that the model allows": {"mem://?bug=write-skew:0.5", "", "read-committed", check.Violated,
			report.Promise{Model: "strict-serializable", Asked: "read-committed"}},
		"the promise itself was asked": {"mem://", "", "strict-serializable", check.Valid,
			report.Promise{Model: "strict-serializable", Kept: &kept}},
	} {
		s := small(test.database, 1, 1000)
		become(&s, isolation.Definition())
		s.Isolation = test.isolation
		c := s.Config.(*isolation.Config)
		c.Model, c.Test, c.Keys = test.model, "append", 5
		r := carryOut(t, s).Result
		if r.Verdict != test.verdict {
			t.Errorf("%s: the verdict is %v, want %v: %s", name, r.Verdict, test.verdict, details(r))
		}
		got := r.Promise
		if got.Model != test.want.Model || got.Asked != test.want.Asked || (got.Kept == nil) != (test.want.Kept == nil) || got.Kept != nil && !*got.Kept {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
		if (got.Detail == "") != (r.Verdict == check.Valid) {
			t.Errorf("%s: what was found: %q", name, got.Detail)
		}
	}
	r := carryOut(t, small("mem://?bug=lost-ack:0.05", 1, 2000)).Result
	if r.Verdict != check.Violated || r.Seeded == "" || r.Promise == nil || r.Promise.Kept != nil {
		t.Errorf("a bank that lost transfers as was seeded: %s, %+v", r.Verdict, r.Promise)
	}
}

// TestUnknownPromiseIsUndecided: without the vendor's model the checks' verdict is not the
// vendor's.
func TestUnknownPromiseIsUndecided(t *testing.T) {
	s := small("mem://", 1, 1000)
	become(&s, isolation.Definition())
	s.Config.(*isolation.Config).Model = "serializable"
	out := carryOut(t, s)
	out.Result.Database.Promise = ""
	expect.NoError(t, writeResult(out.Folder, out.Result))
	p := recheck(t, out.Folder).Result.Promise
	if p.Kept != nil || p.Asked != "serializable" || p.Detail == "" {
		t.Errorf("%+v", p)
	}
}
