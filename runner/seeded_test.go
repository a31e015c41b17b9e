package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/driver/bugs"
	"assay/internal/expect"
	"assay/report"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/entity"
	"assay/workload/isolation"
)

// TestBugsOnRealDatabases: a bug seeded on SQLite or PostgreSQL, in turn, or on both in make trust,
// is found by its check. The run says that it was seeded, and is valid where it is no bug.
func TestBugsOnRealDatabases(t *testing.T) {
	t.Parallel()
	server := onServers(t, "postgres:1,fsync=off") // no power is cut
	for i, seeded := range []struct{ workload, bug string }{
		{bank.Name, "torn-transfer"}, {bank.Name, "lost-ack"}, {bank.Name, "moved-twice"}, {bank.Name, "lost-update"}, {bank.Name, "split-brain"},
		{bank.Name, "read-skew"}, {bank.Name, "late-apply"}, {isolation.Name, "dirty-read"}, {isolation.Name, "duplicate-apply"}, {isolation.Name, "lost-ack"},
		{isolation.Name, "late-apply"}, {availability.Name, "lost-ack"}, {availability.Name, "duplicate-apply"}, {entity.Name, "altered-field"},
		{entity.Name, "late-apply"},
	} {
		bug := bugsOf(seeded.workload)[slices.IndexFunc(bugsOf(seeded.workload), func(b bugs.Bug) bool { return b.Name == seeded.bug })]
		addresses := []string{"sqlite:" + t.TempDir() + "/seeded.db?synchronous=off", server.Address()}
		if *trustSeeds == 1 {
			addresses = addresses[i%2:][:1]
		}
		for _, address := range addresses {
			s := small("", 1, 600)
			s.Load.Clients = 4
			s.Config.(*bank.Config).Audits = trustAudits
			if seeded.workload != bank.Name {
				become(&s, workloadOf(seeded.workload))
			}
			switch c := s.Config.(type) {
			case *isolation.Config:
				c.Keys = 3
			case *availability.Config:
				s.Load.Rate, s.Load.Arrivals = 200, availability.LoadDefaults().Arrivals
			case *entity.Config:
				c.Entities = 0 // a load stops at the first insert that is not acknowledged
			}
			if s.Drop = true; seeded.workload == bank.Name || seeded.workload == isolation.Name {
				s.Isolation = "serializable"
			}
			s.Database = withOptions(address, []string{"bug=" + seeded.bug + ":0.2"})
			r := carryOut(t, s).Result
			product, _, _ := strings.Cut(address, ":")
			name := seeded.workload + ", " + seeded.bug + " on " + product
			if found := convictedBy(r, bug); len(found) > 0 != (bug.Check != "") || bug.Check == "" && r.Verdict != check.Valid {
				t.Errorf("%s: %v, found by %v: %s", name, r.Verdict, found, told(r))
			}
			if r.Data.Rows[bugs.StrikesOf(seeded.bug)] == 0 {
				t.Errorf("%s: it never struck", name)
			}
			if want := fmt.Sprintf("bug %s took effect %s", bug.Name, check.Counted(r.Data.Rows[bugs.StrikesOf(bug.Name)], "time", "times")); !slices.Contains(r.Notes, want) {
				t.Errorf("%s: the notes %q lack %q", name, r.Notes, want)
			}
			settings := r.Database.Settings
			if r.Seeded != seeded.bug+":0.2" || r.Promise.Kept != nil ||
				settings[len(settings)-1].Name != store.SettingBugs || !strings.Contains(r.Database.Version, "with seeded bugs") {
				t.Errorf("%s: the run does not say that there is a bug: %q, %+v", name, r.Notes, r.Database)
			}
		}
	}
}

// TestABugThatNeverStrikes: the run says so prominently, and its findings stay when judged again.
func TestABugThatNeverStrikes(t *testing.T) {
	t.Parallel()
	s := small("mem://?bug=phantom:1,lost-update:1", 1, 300)
	become(&s, isolation.Definition())
	s.Config.(*isolation.Config).Test = "register"
	out := carryOut(t, s)
	for _, r := range []*report.Result{out.Result, recheck(t, out.Folder).Result} {
		var terminal, markdown strings.Builder
		expect.NoError(t, errors.Join(report.Text(&terminal, r, report.TextOptions{Width: 400}), report.Markdown(&markdown, r)))
		for _, text := range []string{terminal.String(), strings.Join(r.Notes, "\n"), markdown.String()} {
			if !strings.Contains(text, "bug phantom NEVER TOOK EFFECT, so this run proves nothing about the checks") ||
				!strings.Contains(text, "bug lost-update took effect "+check.Counted(r.Data.Rows[bugs.StrikesOf("lost-update")], "time", "times")) ||
				strings.Contains(text, " in strikes of") {
				t.Errorf("it does not say how often the bugs struck: %s", text)
			}
		}
	}
}
