package judge

import (
	"testing"
	"time"

	"assay/check"
	"assay/report"
	"assay/store"
	"assay/store/promise"
	"assay/workload/bank"
	"assay/workload/definition"
)

// replicaSet is a run on a replica set of three with this write concern.
func replicaSet(w string, faults ...report.Fault) *report.Result {
	return &report.Result{
		Database: report.Database{Product: "MongoDB", Settings: []report.Setting{{Name: "write concern", Value: w},
			{Name: "read concern", Value: "snapshot"}, {Name: "data nodes", Value: "3"}, {Name: "majority waits for the journal", Value: "true"}}},
		Cluster: &report.Cluster{Nodes: []report.ClusterNode{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}}},
		Faults:  faults,
	}
}

func foundIn(name string, kinds ...string) check.Result {
	r := check.Result{Name: name}
	for _, kind := range kinds {
		r.Add(check.Evidence{Kind: kind, Text: kind})
	}
	return r
}

// TestFindingsAreRuledOn: allowed and forbidden losses at w:1 are told apart, also together.
func TestFindingsAreRuledOn(t *testing.T) {
	kept, broken := true, false
	unseen := report.Fault{Action: "isolate", Target: "primary", InjectedSecond: 6, HealedSecond: 16, Primary: "n1", NewPrimary: "n2", Nodes: []string{"n1"}}
	isolated := report.Fault{Action: "isolate", Target: "primary", Proven: true, InjectedSecond: 6, HealedSecond: 16}
	valid := check.Result{Name: "accounts", Verdict: check.Valid}
	for _, test := range []struct {
		name   string
		r      *report.Result
		checks []check.Result
		want   *bool
	}{
		{"a majority's read behind w:1", replicaSet("1", isolated), []check.Result{foundIn("snapshots", "stale-read"), valid}, &kept},
		{"the same with w:majority and no fault", replicaSet("majority"), []check.Result{foundIn("snapshots", "stale-read"), valid}, &broken},
		{"beside a wrong total", replicaSet("1", isolated), []check.Result{foundIn("snapshots", "stale-read"), foundIn("total", "sum")}, &broken},
		{"beside read skew", replicaSet("1", isolated), []check.Result{foundIn("snapshots", "stale-read", "read-skew"), valid}, &broken},
		{"beside a doubled transfer", replicaSet("1", isolated), []check.Result{foundIn("snapshots", "stale-read"), foundIn("transfers", "doubled")}, &broken},
		{"beside a check without an answer", replicaSet("1", isolated), []check.Result{foundIn("snapshots", "stale-read"), {Name: "order"}}, nil},
		{"a finding without a kind", replicaSet("1", isolated), []check.Result{{Name: "transfers", Verdict: check.Violated, Found: 1}, valid}, &broken},
		{"of no check of the workload's", replicaSet("1", isolated), []check.Result{foundIn("record", "lost"), valid}, &broken},
		{"lost without a fault", replicaSet("1"), []check.Result{foundIn("transfers", "lost"), valid}, &broken},
		{"lost, and a fault was not seen to act", replicaSet("1", unseen), []check.Result{foundIn("transfers", "lost"), valid}, nil},
		{"the same with w:majority", replicaSet("majority", unseen), []check.Result{foundIn("transfers", "lost"), valid}, &broken},
		{"doubled, and a fault was not seen to act", replicaSet("1", unseen), []check.Result{foundIn("transfers", "doubled"), valid}, &broken},
		{"nothing", replicaSet("1"), []check.Result{valid}, &kept},
	} {
		x := rulings{workload: bank.Definition(), circumstances: circumstancesOf(test.r), doubtful: ifAllActed(test.r), left: test.checks}
		x.enter(test.checks)
		test.r.Checks = test.checks
		got := promiseOf(test.r, "")
		if (got.Kept == nil) != (test.want == nil) || got.Kept != nil && *got.Kept != *test.want {
			t.Errorf("%s: %+v, want %v", test.name, got, test.want)
		}
		if verdict := check.Combine(test.checks); test.want == &kept && test.name != "nothing" && verdict != check.Allowed || test.want == &broken && verdict != check.Violated {
			t.Errorf("%s: it is %s", test.name, verdict)
		}
		if test.want == &kept && test.name != "nothing" && (got.Source != "w:1" || got.Manual == "") {
			t.Errorf("%s: allowed by %q, as %q says", test.name, got.Source, got.Manual)
		}
	}
}

// TestPartOfWhatIsLostIsAllowed parts findings of one kind by whether they vanish without the
// allowed losses.
func TestPartOfWhatIsLostIsAllowed(t *testing.T) {
	took := report.Fault{Action: "isolate", Target: "primary", Proven: true, InjectedSecond: 6, HealedSecond: 16, NewPrimary: "n2"}
	r := replicaSet("1", took)
	x := rulings{workload: bank.Definition(), circumstances: circumstancesOf(r), left: []check.Result{foundIn("transfers", "lost")}, lost: allowedLosses(r)}
	x.circumstances.Timed = true
	checks := []check.Result{foundIn("transfers", "lost", "lost", "lost")}
	x.enter(checks)
	got := checks[0].Findings
	if len(got) != 2 || got[0].Found != 2 || got[0].Promised == nil || *got[0].Promised || got[1].Found != 1 || got[1].Promised == nil || !*got[1].Promised {
		t.Errorf("%+v", got)
	}
	x.left = []check.Result{{Name: "transfers", Verdict: check.Valid}}
	checks = []check.Result{foundIn("transfers", "lost")}
	if x.enter(checks); checks[0].Promised == nil || *checks[0].Promised {
		t.Errorf("all that was lost is allowed: %+v", checks[0])
	}
	x.left = []check.Result{{Name: "transfers"}} // no answer
	checks = []check.Result{foundIn("transfers", "lost")}
	if x.enter(checks); checks[0].Promised == nil || !*checks[0].Promised {
		t.Errorf("without an answer nothing is excused: %+v", checks[0])
	}
}

// TestAllowedLosses only at events that lose something under the settings.
func TestAllowedLosses(t *testing.T) {
	postgres := func(commit string, f report.Fault) *report.Result {
		return &report.Result{Faults: []report.Fault{f}, Database: report.Database{Product: "PostgreSQL",
			Settings: []report.Setting{{Name: "synchronous_commit", Value: commit}, {Name: "fsync", Value: "on"}, {Name: "wal_writer_delay", Value: "200ms"}}}}
	}
	kill := report.Fault{Action: "kill", Proven: true, InjectedSecond: 3, HealedSecond: 4}
	unproven, pooler := kill, kill
	unproven.Proven, pooler.Nodes = false, []string{"pooler"}
	took := report.Fault{Action: "isolate", Proven: true, InjectedSecond: 3, HealedSecond: 9, NewPrimary: "n2"}
	redis := &report.Result{Faults: []report.Fault{took}, Cluster: replicaSet("1", took).Cluster, Database: report.Database{Product: "Redis",
		Settings: []report.Setting{{Name: "appendonly", Value: "yes"}, {Name: "appendfsync", Value: "always"}}}}
	one, most, later := kill, kill, kill
	one.Nodes, most.Nodes, later.Nodes = []string{"n1"}, []string{"n1", "n2"}, []string{"n2"}
	later.InjectedSecond, later.InjectedAt = 3.05, kill.InjectedAt.Add(50*time.Millisecond)
	inMemory := func(f ...report.Fault) *report.Result {
		r := replicaSet("majority", f[0])
		r.Faults, r.Database.Settings = f, append(r.Database.Settings, report.Setting{Name: "journal asked for", Value: "false"})
		return r
	}
	stoodStill := took
	stoodStill.Action = "pause"
	patroni := func(f report.Fault) *report.Result {
		return &report.Result{Faults: []report.Fault{f}, Cluster: redis.Cluster, Database: report.Database{Product: "PostgreSQL",
			Settings: []report.Setting{{Name: "synchronous_commit", Value: "on"}, {Name: "synchronous_standby_names", Value: "n2"},
				{Name: "standbys", Value: "2"}, {Name: "led by", Value: "Patroni"}, {Name: "synchronous_mode", Value: "on"}}}}
	}
	cameBack := took
	cameBack.Primary = took.NewPrimary
	unseen := replicaSet("1", unproven)
	unseen.Cluster.TookOver = "n2"
	unpowered, cutAt := later, later.InjectedAt
	unpowered.Action, unpowered.CutAt = "power-cut", &cutAt
	stop, forced, killedAt := kill, kill, kill.InjectedAt.Add(30*time.Second)
	stop.Action, forced.Action, forced.KilledAt, forced.HealedSecond, forced.Proven = "stop", "stop", &killedAt, 34, false
	ended := func(f report.Fault) *report.Result {
		r := postgres("off", f)
		r.Started = kill.InjectedAt.Add(-3 * time.Second)
		return r
	}
	unsaved := &report.Result{Faults: []report.Fault{stop}, Database: report.Database{Product: "Redis",
		Settings: []report.Setting{{Name: "appendonly", Value: "no"}, {Name: "save", Value: "(none)"}}}}
	arbiter := one
	arbiter.Nodes = []string{"n1", "n4"}
	withArbiter := inMemory(arbiter)
	withArbiter.Cluster.Nodes = append(withArbiter.Cluster.Nodes, report.ClusterNode{Name: "n4", Arbiter: true})
	second := int64(time.Second)
	for _, test := range []struct {
		name                string
		r                   *report.Result
		began, acknowledged int64
		allowed, any        bool
	}{
		{"just before a kill", postgres("off", kill), 3*second - 2, 3*second - 1, true, true},
		{"while it was killed", postgres("off", kill), 3*second + 1e8, 3*second + 2e8, true, true},
		{"long before a kill", postgres("off", kill), second, second + 1, false, true},
		{"after a kill", postgres("off", kill), 4 * second, 4*second + 1, false, true},
		{"synchronous", postgres("on", kill), 3*second - 2, 3*second - 1, false, false},
		{"not proven", postgres("off", unproven), 3*second - 2, 3*second - 1, false, false},
		{"of a pooler", postgres("off", pooler), 3*second - 2, 3*second - 1, false, false},
		{"before an end in order", ended(stop), 3*second - 2, 3*second - 1, false, false},
		{"just before it was killed that was to end in order", ended(forced), 33*second - 2, 33*second - 1, true, true},
		{"before that", ended(forced), 3*second - 2, 3*second - 1, false, true},
		{"before an end in order, at which it writes nothing", unsaved, second, second + 1, true, true},
		{"on the old primary", replicaSet("1", took), 8 * second, 8*second + 1, true, true},
		{"after the failover", replicaSet("1", took), 10 * second, 10*second + 1, false, true},
		{"on a primary that came back", replicaSet("1", cameBack), 8 * second, 8*second + 1, false, false},
		{"Redis, on an old primary that has been back for 20 s", redis, 29 * second, 29*second + 1, true, true},
		{"Redis, long after that", redis, 40 * second, 40*second + 1, false, true},
		{"a majority in memory, one node killed", inMemory(one), 3*second - 2, 3*second - 1, false, false},
		{"a majority in memory, most nodes killed", inMemory(most), 3*second - 2, 3*second - 1, true, true},
		{"a majority in memory, most nodes killed one after the other", inMemory(one, later), 3*second - 2, 3*second - 1, true, true},
		{"a majority in memory, one killed and then one without power", inMemory(one, unpowered), 3*second - 2, 3*second - 1, true, true},
		{"a majority in memory, one node and an arbiter killed", withArbiter, 3*second - 2, 3*second - 1, false, false},
		{"a majority in memory, long before most nodes were killed", inMemory(most), 2 * second, 2*second + 1, false, true},
		{"of a majority", replicaSet("majority", took), 2 * second, 2*second + 1, false, false},
		{"Patroni, synchronous, cut off", patroni(took), 8 * second, 8*second + 1, false, false},
		{"Patroni, synchronous, paused without a watchdog", patroni(stoodStill), 8 * second, 8*second + 1, true, true},
		{"a majority, paused", replicaSet("majority", stoodStill), 8 * second, 8*second + 1, false, false},
		{"a failover that nobody saw", unseen, 2 * second, 2*second + 1, true, true},
	} {
		l := allowedLosses(test.r)
		if (l != nil) != test.any {
			t.Errorf("%s: %+v", test.name, l)
		}
		if _, allowed := l.Add(test.began, test.acknowledged); allowed != test.allowed {
			t.Errorf("%s: allowed %v, want %v", test.name, allowed, test.allowed)
		}
	}
}

// TestOnlyWhatHadToBeKilledCountsAsKilled: a rolling restart concerns all nodes, and one that does not
// end in order in its time takes nothing with it that the others keep.
func TestOnlyWhatHadToBeKilledCountsAsKilled(t *testing.T) {
	const second = int64(time.Second)
	began := time.Unix(1000, 0)
	killedAt := began.Add(30 * time.Second)
	for _, test := range []struct {
		killed    []string
		noProcess int
		allowed   bool
	}{
		{[]string{"n1"}, 1, false},
		{[]string{"n1", "n3"}, 2, true},
		{nil, 3, true}, // a result that does not name them
	} {
		restart := report.Fault{Action: "rolling-restart", Target: "cluster", Nodes: []string{"n1", "n2", "n3"}, Proven: true, InjectedSecond: 3, HealedSecond: 60,
			InjectedAt: began.Add(3 * time.Second), HealedAt: began.Add(time.Minute), KilledAt: &killedAt, Killed: test.killed}
		for product, settings := range map[string][]report.Setting{
			"MongoDB": append(replicaSet("majority").Database.Settings, report.Setting{Name: "journal asked for", Value: "false"}),
			"MySQL": {{Name: "innodb_flush_log_at_trx_commit", Value: "0"}, {Name: "sync_binlog", Value: "0"},
				{Name: store.SettingGroupSize, Value: "3"}},
		} {
			r := replicaSet("majority", restart)
			r.Started, r.Database.Product, r.Database.Settings = began, product, settings
			if n := withoutProcess(r, &r.Faults[0], guaranteeOf(r)); n != test.noProcess {
				t.Errorf("%s, %v killed: %d nodes count as without a process, want %d", product, test.killed, n, test.noProcess)
			}
			if _, allowed := allowedLosses(r).Add(30*second-2, 30*second-1); allowed != test.allowed || eventsOf(r).MostKilled != test.allowed {
				t.Errorf("%s, %v killed: a loss is allowed: %v, want %v", product, test.killed, allowed, test.allowed)
			}
		}
	}
}

// TestAServerThatWasToEndIsAwayFromThen: it counts as killed only later, but is away while it ends.
func TestAServerThatWasToEndIsAwayFromThen(t *testing.T) {
	began := time.Unix(1000, 0)
	killedAt := began.Add(35 * time.Second)
	r := replicaSet("majority",
		report.Fault{Action: "stop", Nodes: []string{"n1"}, Proven: true, InjectedAt: began.Add(5 * time.Second), KilledAt: &killedAt, Killed: []string{"n1"},
			HealedSecond: 50, HealedAt: began.Add(50 * time.Second)},
		report.Fault{Action: "replace", Nodes: []string{"n2"}, Proven: true, InjectedAt: began.Add(10 * time.Second), HealedSecond: 40, HealedAt: began.Add(40 * time.Second)})
	if n := away(r, &r.Faults[1]); n != 2 {
		t.Errorf("%d nodes were away, want 2", n)
	}
	if n := withoutProcess(r, &r.Faults[1], guaranteeOf(r)); n != 1 {
		t.Errorf("%d nodes had been killed, want 1", n)
	}
}

// TestEveryFindingOfABankIsAboutSomething, and a finding about nothing is never excused.
func TestEveryFindingOfABankIsAboutSomething(t *testing.T) {
	w := bank.Definition()
	for kind, want := range map[[2]string]promise.Property{
		{"total", "sum"}: promise.Atomicity, {"total", "negative"}: promise.Rules, {"transfers", "lost"}: promise.Durability,
		{"transfers", "doubled"}: promise.Rules, {"snapshots", "stale-read"}: promise.Recency, {"snapshots", "read-skew"}: promise.Snapshot,
		{"order", "lost-update"}: promise.Isolation, {"order", "anything else"}: promise.Rules, {"no check", "lost"}: promise.Rules,
	} {
		if got := w.Property(kind[0], kind[1]); got != want {
			t.Errorf("%v: %q, want %q", kind, got, want)
		}
	}
}

// TestAnotherModelAskedForConvictsNobody: where the check by the vendor's promise has no answer, a
// miss of the model that was asked for breaks no promise, and a model kept is no promise kept.
func TestAnotherModelAskedForConvictsNobody(t *testing.T) {
	cut := check.Result{Name: "snapshots", Detail: "the search was cut"}
	for _, asked := range []check.Result{foundIn("snapshots", "read-skew"), {Name: "snapshots", Verdict: check.Valid}} {
		r := replicaSet("majority")
		r.Database.Promise = "snapshot-isolation"
		judged := definition.Judgement{Asked: "serializable", Results: []check.Result{asked}, Promised: []check.Result{cut}}
		c := Case{Workload: bank.Definition()}
		if err := c.enterPromise(t.Context(), r, judged, check.Result{Name: "record", Verdict: check.Valid}); err != nil {
			t.Fatal(err)
		}
		if r.Checks[0].Verdict == check.Violated || r.Promise.Kept != nil {
			t.Errorf("asked and %s: %+v, %+v", asked.Verdict, r.Checks[0], r.Promise)
		}
	}
}
