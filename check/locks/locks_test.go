package locks

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/check/simulated"
	"assay/history"
	"assay/history/exchange"
)

func opened(kind string) simulated.Judge {
	if kind == "mutex" {
		return NewMutex()
	}
	return NewOwned(OwnedOptions{Reentrant: strings.HasPrefix(kind, "reentrant"), Fenced: strings.Contains(kind, "fenced")})
}

func TestMinimalCases(t *testing.T) {
	const (
		a0 = "0 invoke acquire; 0 ok acquire; "
		a1 = "1 invoke acquire; 1 ok acquire; "
		r0 = "0 invoke release; 0 ok release; "
		r1 = "1 invoke release; 1 ok release; "
	)
	token := func(process, token string) string {
		return process + " invoke acquire; " + process + " ok acquire " + token + "; "
	}
	for _, c := range []struct {
		kind, events string
		want         check.Verdict
		says         string
	}{
		{"mutex", a0 + r0 + a1, check.Valid, "2 acquires acknowledged"},
		{"mutex", a0 + a1, check.Violated, "two-holders: process 1 (operation 2) acquired the lock, which process 0 (operation 0) held"},
		{"mutex", r0 + a0, check.Violated, "release-of-free: process 0 (operation 0)"},
		{"mutex", a0 + "0 invoke release; " + a1, check.Valid, ""},
		{"mutex", a0 + "0 invoke release; 0 info release; " + a1 + r1, check.Valid, ""},
		{"mutex", a0 + "0 invoke release; 0 fail release; " + a1, check.Violated, "two-holders"},
		{"mutex", "0 invoke acquire; 0 info acquire; " + a1 + r1, check.Valid, ""},
		{"mutex", "0 invoke acquire; 0 fail acquire; " + a1 + r1, check.Valid, "1 failed"},
		{"mutex", "0 invoke acquire; 0 info acquire; " + r1, check.Unknown, "never acquired"},
		{"mutex", a0 + r1, check.Valid, ""},
		{"mutex", a0 + "0 invoke release; 1 invoke acquire; 1 ok acquire; 0 ok release", check.Valid, ""},
		{"mutex", "0 invoke acquire; 0 fail acquire; ", check.Unknown, "never acquired"},
		{"owner-mutex", a0 + r0 + a1 + r1, check.Valid, ""},
		{"owner-mutex", a0 + a1, check.Violated, "it had not begun to release it"},
		{"owner-mutex", a0 + a1 + r1 + "2 invoke acquire; 2 ok acquire", check.Violated, "acquires acknowledged; 2 two-holders"},
		{"owner-mutex", a0 + r1, check.Violated, "which it had not acquired"},
		{"owner-mutex", a0 + a0, check.Violated, "which it held already"},
		{"owner-mutex", a0 + "0 invoke release; 0 info release; " + a1, check.Valid, ""},
		{"owner-mutex", "0 invoke acquire; 0 info acquire; " + r0 + a1, check.Valid, ""},
		{"reentrant-mutex", a0 + a0 + r0 + r0 + a1, check.Valid, ""},
		{"reentrant-mutex", a0 + a0 + r0 + a1, check.Violated, "two-holders"},
		{"fenced-mutex", token("0", "1") + r0 + token("1", "{:fence 2}"), check.Valid, ""},
		{"fenced-mutex", token("0", "2") + r0 + token("1", "2"), check.Violated, "was given the token 2, after process 0 (operation 0) had been given 2"},
		{"fenced-mutex", token("0", "2") + token("1", "3"), check.Violated, "two-holders"},
		{"reentrant-fenced-mutex", token("0", "1") + token("0", "1") + r0 + r0 + token("1", "2"), check.Valid, ""},
	} {
		if r := simulated.Expect(t, opened(c.kind), c.events, c.want, c.says); r.Name != c.kind {
			t.Errorf("a %s is called %s", c.kind, r.Name)
		}
	}
	for kind, text := range map[string]string{"mutex": "0 invoke add 1", "owner-mutex": "0 invoke acquire 5", "fenced-mutex": "0 invoke acquire; 0 ok acquire"} {
		simulated.Refused(t, opened(kind), text)
	}
}

// explained reports whether some order of the operations explains them, by
// trying all.
func explained(ops []exchange.Operation, kind string, holder int64, depth int) bool {
	done := true
	for i := range ops {
		op := &ops[i]
		if op.Outcome == history.Committed {
			done = false
		}
		first := !slices.ContainsFunc(ops, func(o exchange.Operation) bool {
			return o.Outcome == history.Committed && o.Complete < op.Invoke
		})
		if !first {
			continue
		}
		h, d := holder, depth
		switch {
		case op.Word == "acquire" && depth == 0:
			h, d = op.Process, 1
		case op.Word == "acquire" && kind == "reentrant-mutex" && holder == op.Process:
			d++
		case op.Word == "release" && depth > 0 && (kind == "mutex" || holder == op.Process):
			d--
		default:
			continue
		}
		if explained(slices.Delete(slices.Clone(ops), i, i+1), kind, h, d) {
			return true
		}
	}
	return done
}

// The judges agree with all orders tried, on small histories of any kind.
func TestAgainstAllOrders(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for _, kind := range []string{"mutex", "owner-mutex", "reentrant-mutex"} {
		verdicts := map[bool]int{}
		for range 2000 {
			clients := simulated.Clients{Random: random, Processes: 1 + random.IntN(4), Operations: 2 + random.IntN(6), Crash: 0.1}
			if kind != "mutex" { // a crashed client never uses the lock again
				clients.Crash = 0.05
			}
			ops := clients.History(func(int64) (simulated.Action, bool) {
				return simulated.Action{Word: []string{"acquire", "release"}[random.IntN(2)], Effect: func() (exchange.Value, bool) {
					return exchange.Value{}, random.IntN(8) > 0
				}}, true
			})
			possible := slices.DeleteFunc(slices.Clone(ops), func(o exchange.Operation) bool { return o.Outcome == history.Failed })
			want := explained(possible, kind, -1, 0)
			verdicts[want]++
			r := simulated.Judged(t, opened(kind), ops)
			if (r.Verdict != check.Violated) != want {
				t.Fatalf("%s: %v, but explained is %v: %+v\n%+v", kind, r.Verdict, want, ops, r.Evidence)
			}
		}
		if verdicts[true] < 100 || verdicts[false] < 100 {
			t.Errorf("%s: %v", kind, verdicts)
		}
	}
}

// A lock that works is never convicted, also where clients crash; one that lets
// a second client in is.
func TestSimulatedLocks(t *testing.T) {
	for _, kind := range []string{"mutex", "owner-mutex", "reentrant-mutex", "fenced-mutex"} {
		found := 0
		for seed := range uint64(200) {
			for _, bug := range []string{"", "second holder", "stale token"} {
				random := rand.New(rand.NewPCG(seed, 1))
				var holder, depth, token int64 = -1, 0, 0
				struck := false
				has := map[int64]int64{} // how often each process believes to hold it
				clients := simulated.Clients{Random: random, Processes: 4, Operations: 60, Crash: float64(seed%3) / 30}
				ops := clients.History(func(process int64) (simulated.Action, bool) {
					if has[process] > 0 && (kind != "reentrant-mutex" || random.IntN(2) == 0) {
						return simulated.Action{Word: "release", Effect: func() (exchange.Value, bool) {
							has[process]--
							if holder == process {
								depth--
							}
							if depth == 0 {
								holder = -1
							}
							return exchange.Value{}, true
						}}, true
					}
					return simulated.Action{Word: "acquire", Effect: func() (exchange.Value, bool) {
						if holder >= 0 && (holder != process || kind != "reentrant-mutex") {
							if bug != "second holder" || random.IntN(10) > 0 {
								return exchange.Value{}, false
							}
							struck, depth = true, 0
						}
						holder = process
						depth++
						has[process]++
						if bug == "stale token" && token > 0 && random.IntN(5) == 0 {
							struck = kind == "fenced-mutex"
						} else {
							token++
						}
						return simulated.Int(token), true
					}}, true
				})
				r := simulated.Judged(t, opened(kind), ops)
				if r.Verdict == check.Violated && !struck {
					t.Fatalf("%s, seed %d: %s %+v", kind, seed, r.Detail, r.Evidence)
				}
				if r.Verdict == check.Violated {
					found++
				}
			}
		}
		if found < 20 {
			t.Errorf("%s: %d bugs found", kind, found)
		}
	}
}

// A long history of a mutex takes time that grows with it.
func TestLongHistory(t *testing.T) {
	ops := make([]exchange.Operation, 200_000)
	for i := range ops {
		at := int64(i)
		ops[i] = exchange.Operation{Index: at, Function: exchange.Other, Word: []string{"acquire", "release"}[i%2], Process: at / 2 % 7,
			Outcome: history.Committed, Invoke: 2 * at, Complete: 2*at + 1}
	}
	for _, kind := range []string{"mutex", "owner-mutex"} {
		if r := simulated.Judged(t, opened(kind), ops); r.Verdict != check.Valid {
			t.Errorf("%s: %v %s", kind, r.Verdict, r.Detail)
		}
	}
}
