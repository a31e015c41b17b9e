package runner

import (
	"errors"
	"slices"
	"testing"

	"assay/check"
	"assay/load"
	"assay/store"
	"assay/workload/bulkupdate"
)

func bulkUpdates(database string, seed uint64) Scenario {
	s := small(database, seed, 0)
	become(&s, bulkupdate.Definition())
	s.Config = &bulkupdate.Config{Users: 30, Documents: 8, Workers: "1,3..4", Field: bulkupdate.FieldRandom, Loaders: 2}
	s.Plan()
	return s
}

// TestBulkUpdates: every bug of the reference database is found, nothing in an
// honest one, and both again from the folder alone.
func TestBulkUpdates(t *testing.T) {
	t.Parallel()
	databases := map[string]string{"": "", "mem://?timeout=0.1": ""}
	for _, bug := range bugsOf(bulkupdate.Name) {
		chance := ":0.3"
		if bug.Name == "truncated-read" {
			chance = ":1"
		}
		databases["mem://?bug="+bug.Name+chance] = bug.Check
	}
	for database, want := range databases {
		out := carryOut(t, bulkUpdates(database, 1))
		got, verdict := convicting(out.Result), check.Valid
		if want != "" {
			verdict = check.Violated
		}
		if out.Result.Verdict != verdict || (want != "") != slices.Contains(got, want) || len(got) > 1 {
			t.Errorf("%q: %v by %v, want it by %q: %s", database, out.Result.Verdict, got, want, details(out.Result))
		}
		if len(out.Result.Rounds) != 3 || out.Result.Rounds[1].Name != "3 workers" || out.Result.Rounds[1].Clients != 3 || out.Result.Outcomes.Total() != 90 {
			t.Errorf("%q: rounds %+v, outcomes %+v", database, out.Result.Rounds, out.Result.Outcomes)
		}
		sameFigures(t, recheck(t, out.Folder).Result, out.Result)
	}
}

func TestBulkUpdateRefusals(t *testing.T) {
	for option, change := range map[string]func(*bulkupdate.Config){
		"--workers": func(c *bulkupdate.Config) { c.Workers = "0" },
		"--users":   func(c *bulkupdate.Config) { c.Users = -1 },
		"--field":   func(c *bulkupdate.Config) { c.Field = "blue" },
	} {
		s := bulkUpdates("mem://", 1)
		change(s.Config.(*bulkupdate.Config))
		var refused *store.OptionError
		if err := s.Validate(); !errors.As(err, &refused) || refused.Option != option {
			t.Errorf("%s: %v", option, err)
		}
	}
	s := bulkUpdates("mem://", 1)
	s.Load.Timeout = 0
	var refused *load.PlanError
	if err := s.Validate(); !errors.As(err, &refused) || refused.Option != "--timeout" {
		t.Errorf("without a time limit: %v", err)
	}
}
