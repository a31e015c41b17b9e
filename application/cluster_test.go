package application

import (
	"testing"
	"time"

	"assay/application/wire"
	"assay/fault"
	"assay/store"
	"assay/store/promise"
)

// TestWhatAFaultOfAClusterMayLose asks of each fault as the run of a workload does: a node that is
// replaced has lost its data, whatever it had written.
func TestWhatAFaultOfAClusterMayLose(t *testing.T) {
	began := time.Unix(1000, 0)
	holding := []string{"n1", "n2", "n3"}
	done := func(action, node, primary string) fault.Injection {
		return fault.Injection{Fault: fault.Fault{Action: action}, Nodes: []string{node}, Primary: "n1", NewPrimary: primary,
			InjectedAt: began.Add(10 * time.Second), HealedAt: began.Add(20 * time.Second)}
	}
	set := func(w string) store.Product {
		return store.Product{Name: "MongoDB", Settings: []store.Setting{{Name: "write concern", Value: w}, {Name: "data nodes", Value: "3"}}}
	}
	asked := func(w string) map[string]string { return map[string]string{"write concern": w} }
	inMemory := map[string]string{"write concern": "majority", "journal asked for": "false"}
	restarted := func(killed ...string) fault.Injection {
		i := done("rolling-restart", "n1", "")
		at := began.Add(9 * time.Second)
		i.Nodes, i.InjectedAt, i.KilledAt, i.Killed = holding, at, at, killed
		return i
	}
	for name, c := range map[string]struct {
		of       store.Product
		by       fault.Injection
		asked    map[string]string
		promised bool
	}{
		"replaced, one acknowledges":            {set("1"), done("replace", "n1", ""), nil, false},
		"replaced, a majority":                  {set("majority"), done("replace", "n1", "n2"), nil, true},
		"a secondary replaced":                  {set("1"), done("replace", "n2", ""), nil, true},
		"killed, and another took over":         {set("1"), done("kill", "n1", "n3"), nil, false},
		"one acknowledges, as was asked":        {set("majority"), done("kill", "n1", "n3"), asked("1"), false},
		"a majority, as was asked":              {set("1"), done("kill", "n1", "n3"), asked("majority"), true},
		"killed, another took over, a majority": {set("majority"), done("kill", "n1", "n3"), nil, true},
		"killed and back":                       {set("1"), done("kill", "n1", "n1"), nil, true},
		"restarted, and one had to be killed":   {set("majority"), restarted("n1"), inMemory, true},
		"restarted, and two had to be killed":   {set("majority"), restarted("n1", "n2"), inMemory, false},
		"restarted, and a pooler was killed":    {set("majority"), restarted("pooler"), inMemory, true},
	} {
		f := faultOf(c.by, began, holding)
		x := &wire.Transaction{Began: 8 * time.Second, Ended: 9 * time.Second, Statements: []*wire.Statement{{Settings: c.asked}}}
		lost := []loss{{x, "sale", askedFor([]*wire.Transaction{x}, x)}}
		if r := ruling(c.of, []promise.Fault{f}, len(holding), lost); r.Promised == nil || *r.Promised != c.promised || c.promised == (r.Source != "") {
			t.Errorf("%s: %+v", name, r)
		}
		x.Began, x.Ended = 30*time.Second, 31*time.Second
		if r := ruling(c.of, []promise.Fault{f}, len(holding), lost); r.Promised == nil || !*r.Promised {
			t.Errorf("%s, long after: %+v", name, r)
		}
	}
}
