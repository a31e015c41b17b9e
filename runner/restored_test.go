package runner

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"assay/check"
	"assay/internal/expect"
	"assay/load"
	"assay/report"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/tpcb"
)

// backedUp is a run of the bank with as many backups and restores as the machine can bear.
func backedUp(cluster string, faults ...string) Scenario {
	s := Defaults(bank.Definition())
	s.Cluster, s.Faults = cluster, faults
	s.Config.(*bank.Config).Accounts = 500
	s.Load.Clients, s.Load.Warmup, s.Load.Duration, s.Load.Seed = 4, 500*time.Millisecond, 8*time.Second, 11
	s.Load.Rate, s.Load.Arrivals = 300, load.Poisson
	return s
}

func restoredCheck(t *testing.T, r *report.Result) check.Result {
	t.Helper()
	i := slices.IndexFunc(r.Checks, func(c check.Result) bool { return c.Name == "restored" })
	if i < 0 {
		t.Fatalf("no check of what was restored: %+v", r.Faults)
	}
	return r.Checks[i]
}

// checkBackedUp checks a good backup; primary says that it is of the primary.
func checkBackedUp(t *testing.T, out Outcome, primary bool) {
	t.Helper()
	r := out.Result
	if c := restoredCheck(t, r); c.Verdict != check.Valid || r.Verdict != check.Valid {
		t.Fatalf("%v: %s; %s %v", c.Verdict, c.Detail, details(r), c.Evidence)
	}
	for i, f := range r.Faults {
		b := f.Backup
		if b == nil || !f.Proven || b.Bytes == 0 || b.Seconds <= 0 || b.By == "" || b.Number != 1 || (b.Restore > 0) != (f.Action != "backup") {
			t.Fatalf("fault %d: %+v, %+v", i, f, b)
		}
		if b.During == nil || b.Before == nil || b.Before.PerSecond <= 0 || b.Before.P99 <= 0 && r.Client.StalledSeconds == 0 {
			t.Errorf("fault %d: the load before it %+v, and during it %+v", i, b.Before, b.During)
		}
		if m := b.Moment; (b.Restore > 0) != (m != nil) {
			t.Errorf("fault %d: moment %+v", i, m)
		} else if m != nil && (m.From == nil || m.To == nil || *m.From > *m.To || m.Lacks == 0 || primary && m.LacksBegun > 0) {
			t.Errorf("the restored state lies at %+v", *m)
		}
	}
	keepsSchema(t, out.Folder)
	sameFigures(t, recheck(t, out.Folder).Result, r)
}

// carryOutInTime repeats a run with more time if a backup did not end, or nothing was answered
// before it.
func carryOutInTime(t *testing.T, scenario func(k time.Duration) Scenario) (out Outcome) {
	t.Helper()
	for k := time.Second; k <= 4*time.Second; k *= 2 {
		out = carryOut(t, scenario(k))
		if !slices.ContainsFunc(out.Result.Faults, func(f report.Fault) bool {
			return f.Action != "kill" && (f.Backup == nil || f.Backup.Before != nil && f.Backup.Before.P99 == 0)
		}) {
			break
		}
		t.Logf("with %v: %+v", k, out.Result.Faults)
	}
	return out
}

// TestServersAreBackedUp: the only server of a product, or one that follows another. PostgreSQL is
// there with Patroni and in TestPointInTime, and TestManagedPointInTime has all managers.
func TestServersAreBackedUp(t *testing.T) {
	t.Parallel()
	for cluster, node := range map[string]string{"mariadb:1,engines=innodb+rocksdb": "n1", "mongodb:3": "n2", "patroni:2,dcs=1": "n2"} {
		t.Run(cluster, func(t *testing.T) {
			t.Parallel()
			out := carryOutInTime(t, func(k time.Duration) Scenario {
				s := backedUp(cluster, fmt.Sprintf("backup %s at %v", node, 1*k), fmt.Sprintf("restore at %v", 3*k))
				s.Load.Duration = 9 * k
				if strings.Contains(cluster, "rocksdb") {
					s.Options = []string{"engine=rocksdb"}
				}
				return s
			})
			checkBackedUp(t, out, node == "n1")
		})
	}
}

// TestPointInTime restores the states of two moments, of a set whose primary was away.
func TestPointInTime(t *testing.T) {
	t.Parallel()
	checkMoments(t, carryOutInTime(t, func(k time.Duration) Scenario {
		s := backedUp("postgres:2", fmt.Sprintf("backup n1 at %v", 1*k), fmt.Sprintf("kill n1 at %v for 1s", 3*k),
			fmt.Sprintf("restore=%v at %v", 4*k, 7*k), fmt.Sprintf("restore=%v at %v", 6*k, 7*k))
		s.Load.Duration = 13 * k
		return s
	}))
}

// TestManagedPointInTime: before and after a manager's promotion.
func TestManagedPointInTime(t *testing.T) {
	for _, cluster := range []string{
		"patroni:2,dcs=1,ttl=8s,loop_wait=2s,retry_timeout=3s", "repmgr:2,reconnect_attempts=2,reconnect_interval=1s",
		"pg-auto-failover:2,node_considered_unhealthy_timeout=5s",
	} {
		t.Run(cluster, func(t *testing.T) {
			s := backedUp(cluster, "backup n2 at 1s", "kill n1 at 6s for 15s", "restore=4s at 65s", "restore=60s at 65s")
			s.Load.Duration = 75 * time.Second
			out := carryOut(t, s)
			checkMoments(t, out)
			if !slices.ContainsFunc(out.Result.Faults, func(f report.Fault) bool { return f.NewPrimary == "n2" }) {
				t.Errorf("nobody was promoted: %+v", out.Result.Faults)
			}
		})
	}
}

// checkMoments requires the states of the requested moments.
func checkMoments(t *testing.T, out Outcome) {
	t.Helper()
	if c := restoredCheck(t, out.Result); c.Verdict != check.Valid {
		t.Fatalf("%v: %s %v", c.Verdict, c.Detail, c.Evidence)
	}
	for _, f := range out.Result.Faults {
		b := f.Backup
		if b == nil || b.Restore == 0 {
			continue
		}
		if m := b.Moment; b.Target == nil || m == nil || m.From == nil || m.To == nil || *m.From > *b.Target+1e-6 || *m.To < *b.Target {
			t.Errorf("target %v, moment %+v", b.Target, m)
		}
	}
}

// TestSQLiteIsBackedUp within assay, in both journal modes.
func TestSQLiteIsBackedUp(t *testing.T) {
	t.Parallel()
	for _, journal := range []string{"wal", "delete"} {
		t.Run(journal, func(t *testing.T) {
			t.Parallel()
			s := backedUp("", "backup n1 at 2s", "restore at 4s")
			s.Options = []string{"journal=" + journal}
			out := carryOut(t, s)
			checkBackedUp(t, out, true)
			if exists(out.Folder, "backups") {
				t.Error("the backups are still there")
			}
		})
	}
}

// reading keeps a transaction open from before the work on, so that nothing moves from the log into
// the file.
type reading struct {
	unmonitored
	file string
	// opened gets the connection once it reads.
	opened func(*sql.DB, error)
}

func (r reading) Phase(phase string) {
	if phase != PhaseWarmup {
		return
	}
	db, err := sql.Open("sqlite", "file:"+r.file)
	if err == nil {
		db.SetMaxOpenConns(1)
		_, err = db.Exec("BEGIN; SELECT count(*) FROM assay_account")
	}
	r.opened(db, err)
}

// TestACopyWithoutItsLog lacks earlier acknowledged writes, as SQLite's manual warns: the file is
// whole, and old.
func TestACopyWithoutItsLog(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "run")
	s := backedUp("", "backup=copy n1 at 1s", "restore at 2s")
	s.Load.Duration = 3 * time.Second
	out := carryOutBy(t, s, Options{Out: folder, Monitor: reading{file: filepath.Join(folder, "bank.sqlite"), opened: func(db *sql.DB, err error) {
		if err != nil {
			t.Error(err)
		}
		expect.AtEnd(t, db.Close)
	}}})
	c, m := restoredCheck(t, out.Result), out.Result.Faults[1].Backup.Moment
	if c.Verdict != check.Allowed || m == nil || m.LacksBegun == 0 || len(c.Findings) != 1 || c.Findings[0].Kind != "missing-before-backup" || c.Findings[0].Found != m.LacksBegun {
		t.Errorf("%v: %s %v; %+v", c.Verdict, c.Detail, c.Findings, m)
	}
	for _, other := range out.Result.Checks {
		if other.Name != "restored" && other.Verdict == check.Violated {
			t.Errorf("the database itself is convicted: %s", other.Detail)
		}
	}
	if p := out.Result.Promise; p.Kept == nil || !*p.Kept || p.Source != "backup=copy" || p.Manual == "" {
		t.Errorf("the database is convicted of a copy that its manual warns of: %+v", p)
	}
}

// breaking damages each backup at once.
type breaking struct {
	unmonitored
	do func()
}

func (b breaking) Fault(action, _ string, _ []string, active bool) {
	if action == "backup" && !active {
		b.do()
	}
}

// TestBrokenBackups are convicted of their damage.
func TestBrokenBackups(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, change string
		kinds        []string // any of them
	}{
		{"an account is older than the rows", "UPDATE assay_account SET balance = balance - 1, version = version - 1 WHERE version > 0 AND id = (SELECT min(id) FROM assay_account WHERE version > 0)", []string{"sum", "balance", "version"}},
		{"a row is missing", "DELETE FROM assay_transfer WHERE id = (SELECT min(id) FROM assay_transfer)", []string{"balance", "version", "missing-version"}},
		{"a transfer is missing with both its sides", `UPDATE assay_account SET version = version - 1, balance = balance + CASE
			WHEN id = (SELECT source FROM assay_transfer ORDER BY id LIMIT 1) THEN 1 ELSE -1 END * (SELECT amount FROM assay_transfer ORDER BY id LIMIT 1)
			WHERE id IN (SELECT source FROM assay_transfer ORDER BY id LIMIT 1) OR id IN (SELECT destination FROM assay_transfer ORDER BY id LIMIT 1);
			DELETE FROM assay_transfer WHERE id = (SELECT min(id) FROM assay_transfer)`, []string{"missing-version", "no-moment"}},
		{"a row says another amount", "UPDATE assay_transfer SET amount = amount + 1 WHERE id = (SELECT max(id) FROM assay_transfer)", []string{"altered"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "run")
			s := backedUp("", "backup n1 at 1s", "restore at 2s")
			s.Load.Duration = 3 * time.Second
			out := carryOutBy(t, s, Options{Out: folder, Monitor: breaking{do: func() {
				db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "backups", "backup-1", "backup.sqlite"))
				if err == nil {
					_, err = db.Exec(c.change)
					err = errors.Join(err, db.Close())
				}
				if err != nil {
					t.Error(err)
				}
			}}})
			got := restoredCheck(t, out.Result)
			convicted := slices.ContainsFunc(got.Evidence, func(e check.Evidence) bool { return slices.Contains(c.kinds, e.Kind) })
			if got.Verdict != check.Violated || !convicted || out.Result.Verdict != check.Violated || !strings.Contains(got.Evidence[0].Text, "backup 1 as restored by restore 1") {
				t.Errorf("%v: %s %v", got.Verdict, got.Detail, got.Evidence)
			}
			for _, other := range out.Result.Checks {
				if other.Name != "restored" && other.Verdict == check.Violated {
					t.Errorf("the database itself is convicted: %s", other.Detail)
				}
			}
		})
	}
}

// TestBackupsThatCannotBe are refused before loading.
func TestBackupsThatCannotBe(t *testing.T) {
	other := backedUp("", "backup n1 at 1s", "restore at 2s")
	become(&other, tpcb.Definition())
	killed := backedUp("", "kill n1 at 1s")
	loading := backedUp("postgres:1", "backup n1 while loading")
	onMem := backedUp("", "backup n1 at 1s")
	onMem.Database = "mem://"
	moved := backedUp("postgres:1", "clock=+60s n1 at 1s", "backup n1 at 4s", "restore=6s at 7s")
	for name, s := range map[string]Scenario{"another workload": other, "no server to kill": killed, "while loading": loading, "in memory": onMem, "a moment by moved clocks": moved} {
		var refused *store.OptionError
		if err := s.Validate(); !errors.As(err, &refused) || refused.Option != "--fault" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, s := range map[string]Scenario{
		"a moment of SQLite's": backedUp("", "backup n1 at 1s", "restore=1s at 2s"), "no such node": backedUp("", "backup n2 at 1s"),
		"a copy of PostgreSQL's": backedUp("postgres:1", "backup=copy n1 at 1s"),
	} {
		folder := filepath.Join(t.TempDir(), "run")
		if _, err := Run(t.Context(), s, Options{Version: "test", Out: folder, Progress: &diary{}}); err == nil || exists(folder, FileScenario) {
			t.Errorf("%s: %v", name, err)
		}
	}
	backup := backedUp("", "backup n1 at 1s") // alone it goes with any
	become(&backup, tpcb.Definition())
	expect.NoError(t, backup.Validate())
}

// TestNothingIsRestored: an unreadable or missing backup leaves the check unknown, with the reason.
func TestNothingIsRestored(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "run")
	s := backedUp("", "backup n1 at 1s", "restore at 2s")
	s.Load.Duration = 3 * time.Second
	out := carryOutBy(t, s, Options{Out: folder, Monitor: breaking{do: func() {
		if err := os.RemoveAll(filepath.Join(folder, "backups", "backup-1")); err != nil {
			t.Error(err)
		}
	}}})
	c := restoredCheck(t, out.Result)
	if c.Verdict != check.Unknown || out.Result.Verdict != check.Unknown || !strings.Contains(c.Detail, "restore backup at 2s: ") {
		t.Errorf("%v, %v: %s", out.Result.Verdict, c.Verdict, c.Detail)
	}
}
