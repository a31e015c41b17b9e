package runner

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/check"
	"assay/cluster"
	"assay/report"
	"assay/workload/bank"
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
	if enterDurability(r); r.Durability == nil || r.Durability.Class != "process crash" || r.Durability.Window != nil || r.Durability.Tried {
		t.Errorf("%+v", r.Durability)
	}
	r = cutResult("PostgreSQL", []report.Setting{{Name: "synchronous_commit", Value: "off"}}, report.Fault{Nodes: []string{"n1"}, InjectedSecond: 5})
	if enterDurability(r); r.Durability == nil || r.Durability.Window == nil || *r.Durability.Window != 600 || !r.Durability.Tried {
		t.Errorf("%+v", r.Durability)
	}
	r = cutResult("Oracle", nil)
	if enterDurability(r); r.Durability != nil {
		t.Errorf("%+v", r.Durability)
	}
}

// TestRowsLostWithThePower: that all rows are gone is no sign of somebody who emptied the
// table where the power was cut.
func TestRowsLostWithThePower(t *testing.T) {
	for fault, want := range map[string]bool{"power-cut all at 1s for 1s": true, "power-cut=torn n1 every 5s for 1s": true, "kill n1 at 1s": false} {
		if got := (Scenario{Cluster: "cassandra:3", Faults: []string{fault}}).cutsPower(); got != want {
			t.Errorf("%s: %v", fault, got)
		}
	}
}

// lying has a PostgreSQL that has said that commits wait for the disk not wait for it,
// once the work begins.
type lying struct {
	unmonitored
	t    *testing.T
	spec string
	done bool
}

func (l *lying) Phase(name string) {
	if name != PhaseWarmup {
		return
	}
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	records, err := cluster.Records()
	if err != nil {
		l.t.Error(err)
	}
	for _, r := range records {
		if !r.Own() || r.Spec != l.spec {
			continue
		}
		conn, err := pgx.Connect(ctx, r.Address)
		if err != nil {
			l.t.Error(err)
			return
		}
		defer conn.Close(ctx)
		for _, statement := range []string{"ALTER SYSTEM SET synchronous_commit = off", "SELECT pg_reload_conf()"} {
			if _, err := conn.Exec(ctx, statement); err != nil {
				l.t.Error(err)
			}
		}
		l.done = true
	}
}

// TestALyingServerIsConvicted: the server has said synchronous_commit=on and does not
// keep to it. A cut loses something nearly always; it is tried again where it did not.
func TestALyingServerIsConvicted(t *testing.T) {
	t.Parallel()
	for range 5 {
		l := &lying{t: t, spec: "postgres:1,disk=image,shared_buffers=17MiB"}
		s := Defaults(bank.Definition())
		s.Cluster, s.Faults = l.spec, []string{"power-cut primary at 2s for 100ms"}
		s.Load.Clients, s.Load.Warmup, s.Load.Duration, s.Load.Seed = 8, 500*time.Millisecond, 4*time.Second, 1
		r := carryOutBy(t, s, Options{Monitor: l}).Result
		if !l.done {
			t.Fatal("it was not made to lie")
		}
		if r.Durability == nil || r.Durability.Class != "system crash" || r.Lost == nil {
			t.Fatalf("%+v, lost %+v", r.Durability, r.Lost)
		}
		if r.Lost.Operations > 0 {
			if r.Verdict != check.Violated || r.Lost.Beyond != r.Lost.Operations || !strings.Contains(r.Lost.Text, "promises that none is") {
				t.Errorf("%v, lost %+v", r.Verdict, r.Lost)
			}
			return
		}
	}
	t.Error("nothing was lost in five cuts")
}
