package judge

import (
	"errors"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
	"assay/store/durability"
	"assay/workload/bank"
	"assay/workload/definition"
)

// cutResult is a run on three nodes whose power was cut at these seconds.
func cutResult(product string, settings []report.Setting, cuts ...report.Fault) *report.Result {
	started := time.Unix(1000, 0)
	r := &report.Result{Started: started, Database: report.Database{Product: product, Settings: settings},
		Cluster: &report.Cluster{Nodes: []report.ClusterNode{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}, {Name: "n4", Arbiter: true}}}}
	for _, f := range cuts {
		at := started.Add(time.Duration(f.InjectedSecond * 1e9))
		f.Action, f.Proven, f.CutAt, f.HealedAt = "power-cut", true, &at, started.Add(time.Duration(f.HealedSecond*1e9))
		r.Faults = append(r.Faults, f)
	}
	return r
}

func TestWhatEachCutMayLose(t *testing.T) {
	periodic := []report.Setting{{Name: "commitlog_sync", Value: "periodic"}, {Name: "commitlog_sync_period", Value: "10s"},
		{Name: "consistency of writes", Value: "quorum"}, {Name: "replication", Value: "dc: 3"}}
	durable := []report.Setting{{Name: "synchronous_commit", Value: "on"}, {Name: "fsync", Value: "on"}}
	one := report.Fault{Nodes: []string{"n1"}, InjectedSecond: 5, HealedSecond: 6}
	all := report.Fault{Nodes: []string{"n1", "n2", "n3", "n4"}, InjectedSecond: 5, HealedSecond: 6}
	soon := report.Fault{Nodes: []string{"n2"}, InjectedSecond: 12, HealedSecond: 13}
	late := report.Fault{Nodes: []string{"n2"}, InjectedSecond: 23, HealedSecond: 24}
	for _, test := range []struct {
		name  string
		r     *report.Result
		allow []time.Duration
	}{
		{"one node of a majority", cutResult("Cassandra", periodic, one), []time.Duration{0}},
		{"all nodes", cutResult("Cassandra", periodic, all), []time.Duration{15 * time.Second}},
		{"a second node before the first has synced what it kept for it", cutResult("Cassandra", periodic, soon, one), []time.Duration{0, 15 * time.Second}},
		{"a second node long after", cutResult("Cassandra", periodic, one, late), []time.Duration{0, 0}},
		{"what promises durability", cutResult("PostgreSQL", durable, all), []time.Duration{0}},
		{"a product of which nothing is known", cutResult("Oracle", nil, all), []time.Duration{0}},
	} {
		l := allowedLosses(test.r)
		if l == nil || len(l.Cuts) != len(test.allow) {
			t.Fatalf("%s: %+v", test.name, l)
		}
		for i, cut := range l.Cuts {
			if cut.Allowed != test.allow[i] || i > 0 && cut.At <= l.Cuts[i-1].At {
				t.Errorf("%s: %+v, want %v", test.name, l.Cuts, test.allow)
			}
		}
	}
	torn := cutResult("PostgreSQL", durable, all)
	torn.Faults[0].Action = "power-cut=torn"
	if l := allowedLosses(torn); l == nil || len(l.Cuts) != 1 {
		t.Errorf("of a cut that says what is lost: %+v", l)
	}
	unproven := cutResult("PostgreSQL", durable, all)
	unproven.Faults[0].Proven = false
	if l := allowedLosses(unproven); l != nil {
		t.Errorf("of a cut that is not proven: %+v", l)
	}
}

func TestDurabilityOfAResult(t *testing.T) {
	r := cutResult("PostgreSQL", []report.Setting{{Name: "fsync", Value: "off"}})
	if EnterDurability(r); r.Durability == nil || r.Durability.Class != "process crash" || r.Durability.Window != nil || r.Durability.Tried {
		t.Errorf("%+v", r.Durability)
	}
	r = cutResult("PostgreSQL", []report.Setting{{Name: "synchronous_commit", Value: "off"}}, report.Fault{Nodes: []string{"n1"}, InjectedSecond: 5})
	if EnterDurability(r); r.Durability == nil || r.Durability.Window == nil || *r.Durability.Window != 600 || !r.Durability.Tried {
		t.Errorf("%+v", r.Durability)
	}
	r = cutResult("Oracle", nil)
	if EnterDurability(r); r.Durability != nil {
		t.Errorf("%+v", r.Durability)
	}
}

// TestNothingLostIsSaidOnlyWhereItWasLookedFor: after a cut, no form says that nothing was lost if a
// check that finds losses has no answer, such as that of a journal that was read too early.
func TestNothingLostIsSaidOnlyWhereItWasLookedFor(t *testing.T) {
	durable := []report.Setting{{Name: "synchronous_commit", Value: "on"}, {Name: "fsync", Value: "on"}}
	valid := check.Result{Name: "record", Verdict: check.Valid}
	for _, test := range []struct {
		open   string // the check without an answer
		record check.Result
		said   bool
	}{
		{"", valid, true},
		{"order", valid, true},
		{"transfers", valid, false},
		{"total", valid, false},
		{"", check.Result{Name: "record"}, false},
	} {
		r := cutResult("PostgreSQL", durable, report.Fault{Nodes: []string{"n1"}, InjectedSecond: 9, HealedSecond: 10})
		r.Workload, r.Outcomes.Committed = bank.Name, 70
		EnterDurability(r)
		var judged definition.Judgement
		for _, name := range []string{"total", "transfers", "order"} {
			one := check.Result{Name: name, Verdict: check.Valid}
			if name == test.open {
				one = check.Result{Name: name, Detail: "a session is still there"}
			}
			judged.Results = append(judged.Results, one)
		}
		of := Case{Workload: bank.Definition(), Evidence: definition.Evidence{InFlight: "a session is still there"}}
		expect.NoError(t, of.enterPromise(t.Context(), r, judged, test.record))
		var text, page strings.Builder
		expect.NoError(t, errors.Join(report.Markdown(&text, r), report.HTML(&page, r, report.Page{})))
		if said := r.Lost != nil; said != test.said || said && r.Lost.Operations != 0 {
			t.Errorf("%q open, record %s: lost %+v", test.open, test.record.Verdict, r.Lost)
		}
		for form, text := range map[string]string{"Markdown": text.String(), "page": page.String()} {
			if strings.Contains(text, "nothing acknowledged was lost") != test.said || strings.Contains(text, "operations lost: none") || !strings.Contains(text, "tried in this run") {
				t.Errorf("%q open, record %s: the %s does not say whether losses were looked for", test.open, test.record.Verdict, form)
			}
		}
	}
}

// TestAllIsGone: if a fault leaves nothing on our servers, the database broke its promise, if any.
func TestAllIsGone(t *testing.T) {
	cut := report.Fault{Nodes: []string{"n1", "n2", "n3"}, InjectedSecond: 9, HealedSecond: 10}
	for _, test := range []struct {
		name     string
		settings []report.Setting
		promised bool
		verdict  check.Verdict
	}{
		{"synced", []report.Setting{{Name: "fsync", Value: "on"}, {Name: "synchronous_commit", Value: "on"}}, true, check.Violated},
		{"synced soon", []report.Setting{{Name: "fsync", Value: "on"}, {Name: "synchronous_commit", Value: "off"}}, true, check.Violated},
		{"never synced", []report.Setting{{Name: "fsync", Value: "off"}}, false, check.Allowed},
	} {
		r := cutResult("PostgreSQL", test.settings, cut)
		r.Workload = bank.Name
		r.Outcomes.Committed = 70
		judged := definition.Judgement{Results: []check.Result{{Name: "total", Detail: "nothing was read back"}}}
		if !lostByFaults(r) {
			t.Fatal("a cut loses nothing")
		}
		enterGone(r, &judged, "n1 does not start again")
		of := Case{Workload: bank.Definition()}
		if err := of.enterPromise(t.Context(), r, judged, check.Result{}); err != nil {
			t.Fatal(err)
		}
		c := r.Checks[0]
		if len(r.Checks) != 2 || c.Verdict != test.verdict || c.Promised == nil || *c.Promised != test.promised || c.Found != 70 || r.Lost.Operations != 70 ||
			!strings.Contains(c.Detail, "70") || !strings.HasPrefix(c.Detail, "n1") || len(r.NotApplicable) != 1 {
			t.Errorf("%s: %+v, lost %+v, not applicable %v", test.name, c, r.Lost, r.NotApplicable)
		}
	}
	r := cutResult("PostgreSQL", nil, cut)
	r.Faults = append(r.Faults, report.Fault{Action: "bit-flip", Nodes: []string{"n1"}, Proven: true})
	if lostByFaults(r) {
		t.Error("what a damaged file does not give is lost by the cut")
	}
	if lostByFaults(cutResult("PostgreSQL", nil)) {
		t.Error("without a fault of ours nobody knows who did it")
	}
}

// TestWhatAReplacedNodeMayCost: an emptied node counts as lost until it has all data.
func TestWhatAReplacedNodeMayCost(t *testing.T) {
	majority := []report.Setting{{Name: "write concern", Value: "majority"}, {Name: "data nodes", Value: "3"}}
	one := []report.Setting{{Name: "write concern", Value: "1"}, {Name: "data nodes", Value: "3"}}
	fault := func(action, node string, from, healed float64) report.Fault {
		return report.Fault{Action: action, Nodes: []string{node}, Primary: "n1", InjectedSecond: from, HealedSecond: healed, Proven: true}
	}
	second, third := fault("replace", "n2", 5, 9), fault("replace", "n3", 5.1, 9)
	for _, test := range []struct {
		name     string
		settings []report.Setting
		faults   []report.Fault
		lost     bool
	}{
		{"one of three", majority, []report.Fault{second}, false},
		{"two of three at once", majority, []report.Fault{second, third}, true},
		{"two of three, one after the other", majority, []report.Fault{second, fault("replace", "n3", 10, 14)}, false},
		{"another is killed while one resynchronises", majority, []report.Fault{second, fault("kill", "n1", 7, 12)}, true},
		{"another is killed later", majority, []report.Fault{second, fault("kill", "n1", 10, 12)}, false},
		{"a secondary, where only the primary answers", one, []report.Fault{second}, false},
		{"the primary, where only it answers", one, []report.Fault{fault("replace", "n1", 5, 9)}, true},
		{"a backup meanwhile", majority, []report.Fault{second, fault("backup", "n3", 6, 7)}, false},
	} {
		r := cutResult("MongoDB", test.settings)
		for _, f := range test.faults {
			f.InjectedAt = r.Started.Add(time.Duration(f.InjectedSecond * 1e9))
			f.HealedAt = r.Started.Add(time.Duration(f.HealedSecond * 1e9))
			r.Faults = append(r.Faults, f)
		}
		lost := false
		if l := allowedLosses(r); l != nil {
			for _, c := range l.Cuts {
				lost = lost || c.Allowed == durability.Unbounded
			}
		}
		if lost != test.lost || eventsOf(r).Emptied != test.lost {
			t.Errorf("%s: may be lost: %v, %+v", test.name, lost, eventsOf(r))
		}
	}
}
