package runner

import (
	"slices"
	"testing"

	"assay/check"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
	"assay/workload/tpcc"
	"assay/workload/ycsb"
)

// extreme leaves out some usual work of a workload by its options.
type extreme struct {
	workload definition.Workload
	set      func(s *Scenario)
	// without are the checks without a subject.
	without []string
}

func mixed(mix string, without ...string) extreme {
	return extreme{ycsb.Definition(), func(s *Scenario) {
		s.Config.(*ycsb.Config).Mix, s.Config.(*ycsb.Config).Records = mix, 20
	}, without}
}

func extremes() map[string]extreme {
	tested := func(test string, without ...string) extreme {
		return extreme{isolation.Definition(), func(s *Scenario) { s.Config.(*isolation.Config).Test = test }, without}
	}
	entities := func(share float64, entities int64, without ...string) extreme {
		return extreme{entity.Definition(), func(s *Scenario) {
			s.Config.(*entity.Config).WriteShare, s.Config.(*entity.Config).Entities = share, entities
		}, without}
	}
	banks := func(share float64, without ...string) extreme {
		return extreme{smallbank.Definition(), func(s *Scenario) {
			c := s.Config.(*smallbank.Config)
			c.Customers, c.Hotspot, c.BalanceShare = 20, 5, share
		}, without}
	}
	transfers := func(payroll, audits float64, without ...string) extreme {
		return extreme{bank.Definition(), func(s *Scenario) {
			c := s.Config.(*bank.Config)
			c.Accounts, c.Payroll, c.Audits = 20, payroll, audits
		}, without}
	}
	inserts := func(readers int, rate float64, without ...string) extreme {
		return extreme{availability.Definition(), func(s *Scenario) {
			s.Config.(*availability.Config).Readers, s.Config.(*availability.Config).ReadRate = readers, rate
			s.Load.Rate, s.Load.Arrivals = 200, availability.LoadDefaults().Arrivals
		}, without}
	}
	day := func(queries, intervals int) extreme {
		return extreme{candles.Definition(), func(s *Scenario) {
			c := s.Config.(*candles.Config)
			c.Candles, c.Tickers, c.Queries, c.Intervals, c.Repeats = 200, 2, queries, intervals, 2
		}, nil}
	}
	return map[string]extreme{
		"insert alone": mixed("insert=1", ycsb.CheckReads, ycsb.CheckScans, ycsb.CheckLinearizable, ycsb.CheckSessions),
		"update alone": mixed("update=1", ycsb.CheckReads, ycsb.CheckScans, ycsb.CheckLinearizable, ycsb.CheckSessions),
		"both":         mixed("update=0.5,insert=0.5", ycsb.CheckReads, ycsb.CheckScans, ycsb.CheckLinearizable, ycsb.CheckSessions),
		"read alone":   mixed("read=1", ycsb.CheckScans), "scan alone": mixed("scan=1"), "rmw alone": mixed("rmw=1", ycsb.CheckScans),
		"append": tested("append", "predicate", "pairs"), "register": tested("register", "predicate", "pairs"),
		"predicate": tested("predicate", "isolation", "durability", "pairs"), "pairs": tested("pairs", "isolation", "durability", "predicate"),
		"all tests": tested("all"), "writes alone": entities(1, 0, "reads"), "writes beside entities": entities(1, 20, "reads"),
		"reads alone": entities(0, 20), "no entities": entities(0.5, 0),
		"balances alone": banks(1, "operations", "isolation"), "no balances": banks(0),
		"no audits": transfers(0.2, 0, "snapshots"), "payroll alone": transfers(1, 50), "no payroll": transfers(0, 50),
		"no readers": inserts(0, 200, "reads"), "no rate of reads": inserts(4, 0, "reads"), "readers": inserts(4, 200),
		"no queries": day(0, 0), "quick queries": day(4, 0), "intervals": day(0, 2),
		"one row": {churn.Definition(), func(s *Scenario) { s.Config.(*churn.Config).Rows, s.Config.(*churn.Config).Cycles = 1, 1 }, nil},
		"one document": {bulkupdate.Definition(), func(s *Scenario) {
			c := s.Config.(*bulkupdate.Config)
			c.Users, c.Documents, c.Workers = 1, 1, "1"
		}, nil},
		"one account": {tpcb.Definition(), func(s *Scenario) { s.Config.(*tpcb.Config).Accounts = 1 }, nil},
		"orders": {tpcc.Definition(), func(s *Scenario) {
			s.Config.(*tpcc.Config).Items, s.Config.(*tpcc.Config).Customers = 100, 10
		}, nil},
	}
}

// TestEveryMixHasAVerdict: each check of a workload has a verdict, or the reason why it has no
// subject.
func TestEveryMixHasAVerdict(t *testing.T) {
	t.Parallel()
	for name, x := range extremes() {
		t.Run(name, func(t *testing.T) {
			s := Defaults(x.workload)
			s.Database, s.Load.Seed = "mem://", 3
			if rounds := []string{candles.Name, churn.Name, bulkupdate.Name}; !slices.Contains(rounds, s.Workload) {
				s.Load.Ops, s.Load.Warmup = 200, 0
			}
			x.set(&s)
			s.Plan()
			mustHaveAVerdict(t, s, x)
		})
	}
}

// mustHaveAVerdict uses databases of one member that promise linearizability, without a backup.
func mustHaveAVerdict(t *testing.T, s Scenario, x extreme) {
	t.Helper()
	r := carryOut(t, s).Result
	if r.Verdict != check.Valid {
		t.Errorf("the verdict is %v: %s", r.Verdict, details(r))
	}
	var without []string
	for _, n := range r.NotApplicable {
		without = append(without, n.Name)
		if n.Reason == "" {
			t.Errorf("%s is not applicable without a reason", n.Name)
		}
	}
	elsewhere := []string{"replicas", "restored", ycsb.CheckSessions}
	for _, declared := range x.workload.Checks {
		judged := slices.ContainsFunc(r.Checks, func(c check.Result) bool { return c.Name == declared.Name })
		switch wanted := slices.Contains(x.without, declared.Name); {
		case judged && wanted, slices.Contains(without, declared.Name) != wanted:
			t.Errorf("check %s: judged %v, not applicable %v, want %v", declared.Name, judged, without, wanted)
		case !judged && !wanted && !slices.Contains(elsewhere, declared.Name):
			t.Errorf("check %s is left out without a reason", declared.Name)
		}
	}
}
