package report

import (
	"fmt"
	"strings"

	"assay/check"
	"assay/history"
)

// passed is a check that found nothing.
func passed(name, detail string) check.Result {
	return check.Result{Name: name, Verdict: check.Valid, Detail: detail}
}

// bankRun is a replica set in the normal case, judged by all checks that there
// are for a bank, in their own words.
func bankRun() *Result {
	r := validRun()
	r.Database = Database{Product: "MongoDB", Version: "8.0.4",
		Address: "mongodb://127.0.0.1:27017,127.0.0.1:27018/?replicaSet=rs0",
		Settings: []Setting{{"isolation", "snapshot"}, {"write concern", "majority"}, {"read concern", "snapshot"},
			{"journal", "true"}, {"storage engine", "wiredTiger"}},
		Nodes: number(3), Replicas: number(3), Arbiters: number(0)}
	r.Checks = []check.Result{
		passed("total", "10,000 accounts hold 10,000,999,000,000, exactly what was loaded, and none is below zero"),
		passed("accounts", "each of 10,000 accounts has the balance and the version that 155,260 journal rows give it"),
		passed("transfers", "155,260 committed transfers have exactly one journal row each, 0 rejected and 18 failed ones have none, 0 of 0 unknown ones took effect"),
		passed("order", "155,260 journal rows gave each account the versions from 1 on once each, in one order for all accounts that agrees with real time; 310,520 acknowledged balances follow from it"),
		passed("snapshots", "640 audits of 5,120 accounts and 8 of all accounts each saw one state of the order, both sides or neither of every transfer, and all that had been acknowledged"),
		passed("replicas", "2 replicas hold exactly the primary's 10,000 accounts and 155,260 journal rows"),
		passed("record", "155,278 operations in 155,278 attempts are in the history, as many as were counted while it went on (155,278 in 155,278)"),
	}
	r.Outcomes, r.Measured = history.Counts{Committed: 155260, Failed: 18}, history.Counts{Committed: 138559, Failed: 16}
	r.Errors = []ErrorCount{{Class: "serialization failure", Outcome: "failed", Attempts: 18}}
	r.ServiceTime, r.Thresholds = r.Latency, nil
	r.Data.Kept = "database assay_bank"
	return r
}

// isolationRun is a database that does not keep the isolation that it
// promises, judged by all checks that there are for that.
func isolationRun() *Result {
	r := validRun()
	r.Workload, r.Verdict = "isolation", check.Violated
	r.Database.Promise = "strict-serializable"
	r.Options = []Setting{{"test", "all"}, {"keys", "8"}, {"length", "4"}, {"per-key", "16"}}
	r.Data.Rows = map[string]int64{"list": 4120, "register": 300}
	isolation := check.Result{Name: "isolation", Verdict: check.Violated, Found: 16,
		Detail: "120,000 transactions with 301,244 operations on 4,420 keys, 812,331 dependencies: not strict-serializable: " +
			"G-single, G0, G1b, G2-item-realtime, lost-update; the weakest model ruled out is read-uncommitted",
		Evidence: []check.Evidence{
			cycleEvidence("G0", 4, twoWrites()),
			{Kind: "G1b", Text: "T1 read [1 3 2 4 5 7 6 10 8] from key 9, a state that T2 passed through: after 8, T2 wrote to it again",
				Fields: map[string]int64{"found": 5}},
			cycleEvidence("G-single", 5, skew()),
			cycleEvidence("G-single", 1, skew()),
			cycleEvidence("G2-item-realtime", 1, longCycle(5)),
			{Kind: "lost-update", Text: "T1 and T2 both read [4 1 2 5] in key 9, then both wrote to it, and both were committed: each missed the other's update",
				Fields: map[string]int64{"found": 1}},
		}}
	predicate := check.Result{Name: "predicate", Detail: "1,204 repeated counts of a group: 1 differs from the first, which strict-serializable forbids"}
	predicate.Add(check.Evidence{Kind: "phantom", Text: "transaction 81 (client 3, operation 17, attempt 0), from 1.204311 s to 1.209921 s, " +
		"counted 4 rows of group 7, inserted 1, and counted again: 6", Fields: map[string]int64{"group": 7, "first": 4, "own": 1, "second": 6}})
	r.Checks = []check.Result{isolation,
		passed("durability", "88,120 acknowledged appends and 2,210 writes: all are in the lists and registers that were read back"),
		predicate,
		passed("pairs", "5,120 withdrawals: none broke the rule"),
		{Name: "snapshots", Detail: "no audit was done"},
		passed("record", "120,000 operations in 120,040 attempts are in the history, as many as were counted while it went on (120,000 in 120,040)"),
	}
	return r
}

// cycleEvidence says a cycle the way check/cycle does.
func cycleEvidence(kind string, found int64, c *check.Cycle) check.Evidence {
	var lines []string
	for i, s := range c.Steps {
		lines = append(lines, fmt.Sprintf("%s is before %s (%s): %s", s.Name, after(c, i).Name, s.Kind, s.Why))
	}
	return check.Evidence{Kind: kind, Cycle: c, Fields: map[string]int64{"found": found},
		Text: strings.Join(lines, ". ") + ". No order of these transactions can satisfy all of that."}
}

func twoWrites() *check.Cycle {
	return &check.Cycle{Steps: []check.Step{
		{Name: "T1", Text: "transaction 95 of process 2: read [1 2 3 4 5 6] from key 6; append 9 to key 7; append 10 to key 7; append 14 to key 8",
			Kind: "ww", Why: "T1 appended 9 to key 7, and then T2 appended 11: transaction 99 read [3 2 1 4 5 6 7 8 9 11]"},
		{Name: "T2", Text: "transaction 93 of process 0: read [(19 elements) 21 19 22 23 25 24 26 29 27 28] from key 9; append 30 to key 9; append 11 to key 7",
			Kind: "ww", Why: "T2 appended 11 to key 7, and then T1 appended 10: transaction 99 read [(1 elements) 2 1 4 5 6 7 8 9 11 10]"},
	}}
}

func skew() *check.Cycle {
	return &check.Cycle{Steps: []check.Step{
		{Name: "T1", Text: "transaction 12 of process 3: append 4 to key 2; read [1 2] from key 1",
			Kind: "rw", Why: "T1 read [1 2] from key 1, without 3, which T2 appended"},
		{Name: "T2", Text: "transaction 14 of process 1: append 3 to key 1", Kind: "wr",
			Why: "T3 read [1 2 3] from key 1, whose last element T2 appended"},
		{Name: "T3", Text: "transaction 15 of process 1: read [1 2 3] from key 1; read [] from key 2", Kind: "rw",
			Why: "T3 read [] from key 2, without 4, which T1 appended"},
	}}
}

// longCycle has n transactions and each kind of dependency in turn.
func longCycle(n int) *check.Cycle {
	c := &check.Cycle{}
	kinds := dependencies()
	for i := range n {
		name, next := fmt.Sprintf("T%d", i+1), fmt.Sprintf("T%d", (i+1)%n+1)
		s := check.Step{Name: name, Kind: kinds[i%len(kinds)].Kind,
			Text: fmt.Sprintf("transaction %d of process %d: read [1 2] from key %d; append %d to key %d", 100+i, i%4, i, i+7, i+1)}
		switch s.Kind {
		case "ww":
			s.Why = fmt.Sprintf("%s appended %d to key %d, and then %s appended %d: transaction 99 read [1 2 %d %d]", name, i+7, i+1, next, i+8, i+7, i+8)
		case "wr":
			s.Why = fmt.Sprintf("%s read [1 2 %d] from key %d, whose last element %s appended", next, i+7, i+1, name)
		case "rw":
			s.Why = fmt.Sprintf("%s read [1 2] from key %d, without %d, which %s appended", name, i, i+8, next)
		case "process":
			s.Why = fmt.Sprintf("client %d ran %s before %s", i%4, name, next)
		default:
			s.Why = fmt.Sprintf("%s was acknowledged at %d, before %s was begun at %d", name, 1204000+i, next, 1205000+i)
		}
		c.Steps = append(c.Steps, s)
	}
	return c
}

// cyclesRun has cycles of all lengths, also those that no checker finds.
func cyclesRun() *Result {
	r := isolationRun()
	all := check.Result{Name: "isolation", Detail: "cycles of many lengths"}
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 21} {
		all.Add(cycleEvidence(fmt.Sprintf("cycle-of-%d", n), 1, longCycle(n)))
	}
	odd := twoWrites()
	odd.Steps[0].Name, odd.Steps[0].Kind, odd.Steps[0].Why = "transaction-1", "by decree of the king", ""
	all.Add(check.Evidence{Kind: "odd", Text: "a name and a kind that are too long, and no reason", Cycle: odd})
	all.Add(check.Evidence{Kind: "empty", Text: "a cycle without steps", Cycle: &check.Cycle{}})
	r.Checks = []check.Result{all}
	return r
}
