package runner

import (
	"slices"
	"strings"
	"testing"

	"assay/catalog"
	"assay/check"
	"assay/cluster/postgres"
	"assay/driver/bugs"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/entity"
	"assay/workload/isolation"
)

// TestBugsOnRealDatabases: a bug that is seeded on SQLite or PostgreSQL is found by
// the check that it names, the run says that it was seeded, and nothing is found
// where the bug is none.
func TestBugsOnRealDatabases(t *testing.T) {
	server, err := postgres.Start(t.Context(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, seeded := range []struct{ workload, bug string }{
		{bank.Name, "torn-transfer"}, {bank.Name, "lost-ack"}, {bank.Name, "moved-twice"}, {bank.Name, "lost-update"}, {bank.Name, "split-brain"},
		{bank.Name, "read-skew"}, {bank.Name, "late-apply"}, {isolation.Name, "dirty-read"}, {isolation.Name, "duplicate-apply"}, {isolation.Name, "lost-ack"},
		{isolation.Name, "late-apply"}, {availability.Name, "lost-ack"}, {availability.Name, "duplicate-apply"}, {entity.Name, "altered-field"},
		{entity.Name, "late-apply"},
	} {
		bug := bugs.For(seeded.workload)[slices.IndexFunc(bugs.For(seeded.workload), func(b bugs.Bug) bool { return b.Name == seeded.bug })]
		for _, address := range []string{"sqlite:" + t.TempDir() + "/seeded.db", server.Address()} {
			s := small("", 1, 600)
			s.Load.Clients = 4
			s.Config.(*bank.Config).Audits = trustAudits
			if seeded.workload != bank.Name {
				w, err := catalog.WorkloadOf(seeded.workload)
				if err != nil {
					t.Fatal(err)
				}
				become(&s, w)
			}
			switch c := s.Config.(type) {
			case *isolation.Config:
				c.Keys = 3
			case *entity.Config:
				c.Entities = 0 // a load stops at the first insert that is not acknowledged
			}
			if s.Drop = true; seeded.workload == bank.Name || seeded.workload == isolation.Name {
				s.Isolation = "serializable"
			}
			if s.Database, err = WithOptions(address, []string{"bug=" + seeded.bug + ":0.2"}); err != nil {
				t.Fatal(err)
			}
			r := carryOut(t, s).Result
			product, _, _ := strings.Cut(address, ":")
			name := seeded.workload + ", " + seeded.bug + " on " + product
			if found := convictedBy(r, bug); len(found) > 0 != (bug.Check != "") || bug.Check == "" && r.Verdict != check.Valid {
				t.Errorf("%s: %v, found by %v: %s", name, r.Verdict, found, told(r))
			}
			if r.Data.Rows[bugs.StrikesOf(seeded.bug)] == 0 {
				t.Errorf("%s: it never struck", name)
			}
			settings := r.Database.Settings
			if len(r.Notes) == 0 || !strings.HasPrefix(r.Notes[0], "bugs were seeded on purpose ("+seeded.bug+":0.2)") ||
				settings[len(settings)-1].Name != workload.SettingBugs || !strings.Contains(r.Database.Version, "with seeded bugs") {
				t.Errorf("%s: the run does not say that there is a bug: %q, %+v", name, r.Notes, r.Database)
			}
		}
	}
}
