package multiregister

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/check/simulated"
	"assay/history"
	"assay/history/exchange"
)

func TestMinimalCases(t *testing.T) {
	const w = "0 invoke txn [[:write :x 1] [:write :y 1]]; 0 ok txn [[:write :x 1] [:write :y 1]]; "
	for _, c := range []struct {
		events string
		want   check.Verdict
		says   string
	}{
		{w + "1 invoke txn [[:read :x nil] [:read :y nil]]; 1 ok txn [[:read :x 1] [:read :y 1]]", check.Valid, "2 registers"},
		{w + w + "1 invoke txn [[:r :x nil]]; 1 ok txn [[:r :x 1]]", check.Valid, ""},
		{w + "1 invoke txn [[:read :x nil]]; 1 ok txn [[:read :x 3]]", check.Violated, "on 2 registers; not linearizable"},
		{w + "1 invoke txn [[:read :x nil]]; 1 ok txn [[:read :x 2]]", check.Violated, "unexplained: process 1 (operation 2) did [[:read :x 2]]"},
		{w + "1 invoke txn [[:write :x 2]]; 1 info txn; 2 invoke txn [[:read :x nil] [:read :y nil]]; 2 ok txn [[:read :x 2] [:read :y 1]]", check.Valid, "1 of unknown outcome"},
		{w + "1 invoke txn [[:write :x 2]]; 1 fail txn; 2 invoke txn [[:read :x nil]]; 2 ok txn [[:read :x 2]]", check.Violated, ""},
		{w + "1 invoke txn [[:write :x 2] [:write :y 2]]; 2 invoke txn [[:read :x nil] [:read :y nil]]; 2 ok txn [[:read :x 2] [:read :y 1]]; 1 ok txn", check.Violated, ""},
		{w, check.Unknown, "nothing was read"},
	} {
		simulated.Expect(t, New(), c.events, c.want, c.says)
	}
	for _, text := range []string{"0 invoke add 1", "0 invoke txn 5", "0 invoke txn [[:append 1 2]]", "0 invoke txn [[:r 1]]", "0 invoke txn [[:r [1] 2]]", "0 invoke txn [[:w 1 [2]]]", "0 invoke read [[:r 1 nil]]"} {
		simulated.Refused(t, New(), text)
	}
}

// When the time is over, nothing is said.
func TestTimeIsOver(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	j := New()
	for _, op := range simulated.MustRead(t, "0 invoke txn [[:w 1 1]]; 0 ok txn [[:w 1 1]]; 0 invoke txn [[:r 1 nil]]; 0 ok txn [[:r 1 1]]") {
		if err := j.Add(&op); err != nil {
			t.Fatal(err)
		}
	}
	if r := j.Result(ended); r.Verdict != check.Unknown || !strings.Contains(r.Detail, "time limit") {
		t.Errorf("%v %s", r.Verdict, r.Detail)
	}
}

// explained reports whether some order of the operations explains them, by
// trying all.
func explained(ops []exchange.Operation, registers map[exchange.Atom]exchange.Atom) bool {
	done := true
	for i := range ops {
		op := &ops[i]
		done = done && op.Outcome != history.Committed
		if slices.ContainsFunc(ops, func(o exchange.Operation) bool {
			return o.Outcome == history.Committed && o.Complete < op.Invoke
		}) {
			continue
		}
		value, after, fits := op.Request, map[exchange.Atom]exchange.Atom{}, true
		if op.Outcome == history.Committed {
			value = op.Answer
		}
		for k, v := range registers {
			after[k] = v
		}
		for _, s := range value.Items {
			key, v := s.Items[1].Atom, s.Items[2].Atom
			if s.Items[0].Word() == "write" {
				after[key] = v
			} else if v.Kind != exchange.Nil && after[key] != v {
				fits = false
			}
		}
		if fits && explained(slices.Delete(slices.Clone(ops), i, i+1), after) {
			return true
		}
	}
	return done
}

// simulate makes a history of transactions on two registers, whose reads may
// be stale.
func simulate(random *rand.Rand, stale bool, operations int) []exchange.Operation {
	clients := simulated.Clients{Random: random, Processes: 3, Operations: operations, Crash: 0.05}
	now, old := map[int64]int64{}, map[int64]int64{}
	return clients.History(func(int64) (simulated.Action, bool) {
		request := exchange.Value{Form: exchange.List}
		for range 1 + random.IntN(2) {
			key := random.Int64N(2)
			if random.IntN(2) == 0 {
				request.Items = append(request.Items, simulated.List(simulated.Word("read"), simulated.Int(key), exchange.Value{}))
			} else {
				request.Items = append(request.Items, simulated.List(simulated.Word("write"), simulated.Int(key), simulated.Int(1+random.Int64N(2))))
			}
		}
		return simulated.Action{Word: "txn", Request: request, Effect: func() (exchange.Value, bool) {
			if random.IntN(10) == 0 {
				return exchange.Value{}, false
			}
			answer := simulated.List()
			from := now
			if stale && random.IntN(2) == 0 {
				from = old
			}
			for _, s := range request.Items {
				key := s.Items[1].Atom.Int
				if s.Items[0].Word() == "write" {
					old[key] = now[key]
					now[key] = s.Items[2].Atom.Int
				} else if v := from[key]; v != 0 {
					s = simulated.List(s.Items[0], s.Items[1], simulated.Int(v))
				}
				answer.Items = append(answer.Items, s)
			}
			return answer, true
		}}, true
	})
}

// The judge agrees with all orders tried, on small histories, honest and not.
func TestAgainstAllOrders(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	verdicts := map[bool]int{}
	for n := range 1200 {
		ops := simulate(random, n%2 == 0, 4+random.IntN(4))
		possible := slices.DeleteFunc(slices.Clone(ops), func(o exchange.Operation) bool { return o.Outcome == history.Failed })
		want := explained(possible, map[exchange.Atom]exchange.Atom{})
		verdicts[want]++
		if !want && n%2 == 1 {
			t.Fatalf("the simulation is wrong: %+v", ops)
		}
		if r := simulated.Judged(t, New(), ops); (r.Verdict != check.Violated) != want {
			t.Fatalf("%v %s, but explained is %v: %+v", r.Verdict, r.Detail, want, ops)
		}
	}
	if verdicts[false] < 30 {
		t.Errorf("%v", verdicts)
	}
}

// Long histories are judged in time that grows with them, and honest ones are
// never convicted.
func TestLongHistories(t *testing.T) {
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 2))
		ops := simulate(random, false, 150)
		if r := simulated.Judged(t, New(), ops); r.Verdict == check.Violated {
			t.Fatalf("%s %+v", r.Detail, r.Evidence)
		}
		if r := simulated.Judged(t, New(), simulate(random, true, 150)); r.Verdict != check.Violated {
			t.Errorf("stale reads: %v %s", r.Verdict, r.Detail)
		}
	}
}
