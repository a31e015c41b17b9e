package visibility

import (
	"math/rand/v2"
	"slices"
	"testing"

	"assay/check"
	"assay/check/simulated"
	"assay/history"
	"assay/history/exchange"
)

// simulate makes a history of one kind. With a bug, one read in five misses what
// it ought to see, or one insert in five is let through.
func simulate(seed uint64, kind string, bug bool) (ops []exchange.Operation, struck bool) {
	random := rand.New(rand.NewPCG(seed, 11))
	clients := simulated.Clients{Random: random, Processes: 1 + random.IntN(5), Operations: 60, Crash: float64(seed%3) / 30}
	var written []int64
	var next, clock int64
	strikes := func() bool {
		hit := bug && random.IntN(5) == 0
		struck = struck || hit
		return hit
	}
	action := func(word string, request exchange.Value, effect func() (exchange.Value, bool)) (simulated.Action, bool) {
		return simulated.Action{Word: word, Request: request, Effect: func() (exchange.Value, bool) {
			if random.IntN(10) == 0 {
				return exchange.Value{}, false
			}
			return effect()
		}}, true
	}
	r, w := simulated.Word("r"), simulated.Word("w")
	ops = clients.History(func(int64) (simulated.Action, bool) {
		write := random.IntN(2) == 0
		switch {
		case kind == "long-fork" && write:
			v := next
			next++
			request := simulated.List(simulated.List(w, simulated.Int(v), simulated.Int(1)))
			return action("write", request, func() (exchange.Value, bool) { written = append(written, v); return request, true })
		case kind == "long-fork":
			first := random.Int64N(next/3+1) * 3
			request := simulated.List()
			for i := range int64(3) {
				request.Items = append(request.Items, simulated.List(r, simulated.Int(first+i), exchange.Value{}))
			}
			return action("read", request, func() (exchange.Value, bool) {
				answer := simulated.List()
				for i := range int64(3) {
					value := exchange.Value{}
					if slices.Contains(written, first+i) && !strikes() {
						value = simulated.Int(1)
					}
					answer.Items = append(answer.Items, simulated.List(r, simulated.Int(first+i), value))
				}
				return answer, true
			})
		case kind == "comments" && write:
			v := next
			next++
			return action("write", simulated.Int(v), func() (exchange.Value, bool) { written = append(written, v); return exchange.Value{}, true })
		case kind == "comments":
			return action("read", exchange.Value{}, func() (exchange.Value, bool) {
				saw := slices.Clone(written)
				if len(saw) > 1 && strikes() {
					at := random.IntN(len(saw) - 1)
					saw = slices.Delete(saw, at, at+1)
				}
				return simulated.Ints(saw...), true
			})
		case kind == "adya-g2":
			key := random.Int64N(20)
			rows := simulated.List(simulated.Int(next), exchange.Value{})
			next++
			return action("insert", simulated.List(simulated.Int(key), rows), func() (exchange.Value, bool) {
				if slices.Contains(written, key) && !strikes() {
					return exchange.Value{}, false
				}
				written = append(written, key)
				return exchange.Value{}, true
			})
		case write: // monotonic
			return action("add", exchange.Value{}, func() (exchange.Value, bool) {
				next++
				clock += random.Int64N(3)
				written = append(written, next, clock)
				return exchange.Value{Form: exchange.Map, Items: []exchange.Value{simulated.Word("val"), simulated.Int(next), simulated.Word("sts"), simulated.Int(clock)}}, true
			})
		}
		return action("read", exchange.Value{}, func() (exchange.Value, bool) {
			rows := simulated.List()
			for i := 0; i < len(written); i += 2 {
				if !strikes() {
					rows.Items = append(rows.Items, exchange.Value{Form: exchange.Map, Items: []exchange.Value{simulated.Word("val"), simulated.Int(written[i]),
						simulated.Word("sts"), simulated.Int(written[i+1])}})
				}
			}
			return rows, true
		})
	})
	return ops, struck
}

// What is right is never convicted, whatever crashed; most of what a bug struck is.
func TestSimulatedHistories(t *testing.T) {
	for kind, least := range map[string]int{"long-fork": 20, "comments": 50, "adya-g2": 60, "monotonic": 50} {
		valid, struck, found := 0, 0, 0
		for seed := range uint64(300) {
			ops, _ := simulate(seed, kind, false)
			r := simulated.Judged(t, opened(kind), ops)
			if r.Verdict == check.Violated {
				t.Fatalf("%s, seed %d: %s %+v", kind, seed, r.Detail, r.Evidence)
			}
			if r.Verdict == check.Valid {
				valid++
			}
			ops, hit := simulate(seed, kind, true)
			if !hit {
				continue
			}
			struck++
			if simulated.Judged(t, opened(kind), ops).Verdict == check.Violated {
				found++
			}
		}
		if valid < 200 || struck < 150 || found*100 < least*struck {
			t.Errorf("%s: %d of 300 honest histories valid, a bug found in %d of %d", kind, valid, found, struck)
		}
	}
}

// Forks and gaps are those that all pairs of reads, and of a read and a write, show.
func TestAgainstAllPairs(t *testing.T) {
	bad := map[string]int{}
	for seed := range uint64(300) {
		ops, _ := simulate(seed, "long-fork", seed%2 == 0)
		fork := false
		for i := range ops {
			for k := range i {
				fork = fork || forked(&ops[i], &ops[k])
			}
		}
		if r := simulated.Judged(t, opened("long-fork"), ops); (r.Verdict == check.Violated) != fork {
			t.Fatalf("long-fork, seed %d: %v %s, but a pair is forked: %v", seed, r.Verdict, r.Detail, fork)
		}
		if fork {
			bad["long-fork"]++
		}
		ops, _ = simulate(seed, "comments", seed%2 == 0)
		var gaps int64
		for i := range ops {
			if gap(ops, &ops[i]) {
				gaps++
			}
		}
		if r := simulated.Judged(t, opened("comments"), ops); r.Found != gaps {
			t.Fatalf("comments, seed %d: %d found, want %d", seed, r.Found, gaps)
		}
		if gaps > 0 {
			bad["comments"]++
		}
	}
	if bad["long-fork"] < 20 || bad["comments"] < 40 {
		t.Errorf("%v", bad)
	}
}

// forked reports whether two reads of the same keys each missed what the other saw.
func forked(a, b *exchange.Operation) bool {
	if a.Word != "read" || b.Word != "read" || a.Outcome != history.Committed || b.Outcome != history.Committed ||
		a.Answer.Items[0].Items[1].Atom != b.Answer.Items[0].Items[1].Atom {
		return false
	}
	more, less := false, false
	for i := range a.Answer.Items {
		x, y := a.Answer.Items[i].Items[2].IsNil(), b.Answer.Items[i].Items[2].IsNil()
		more, less = more || x && !y, less || y && !x
	}
	return more && less
}

// gap reports whether a read saw a write, and not one acknowledged before that
// began.
func gap(ops []exchange.Operation, read *exchange.Operation) bool {
	if read.Word != "read" || read.Outcome != history.Committed {
		return false
	}
	saw := func(o *exchange.Operation) bool {
		return slices.ContainsFunc(read.Answer.Items, func(v exchange.Value) bool { return v.Atom == o.Request.Atom })
	}
	for i := range ops {
		for k := range ops {
			first, second := &ops[i], &ops[k]
			if first.Word == "write" && second.Word == "write" && first.Outcome == history.Committed && first.Complete < second.Invoke && saw(second) && !saw(first) {
				return true
			}
		}
	}
	return false
}

func FuzzJudges(f *testing.F) {
	simulated.Fuzz(f, opened, []string{"long-fork", "comments", "sequential", "adya-g2", "causal", "monotonic"},
		"0 invoke write [[:w 1 1]]; 0 ok write; 1 invoke read [[:r 1 nil] [:r 2 nil]]; 1 ok read [[:r 1 1] [:r 2 nil]]",
		"0 invoke write 1; 1 invoke read; 1 ok read [1 2]", "1 invoke read 7; 1 ok read [7 [1 nil]]", "0 invoke insert [1 [1 nil]]; 0 ok insert",
		"0 invoke read-init; 0 ok read-init 0; 0 invoke write 1", "0 invoke add; 0 ok add {:val 1 :sts 2.5}; 1 invoke read; 1 ok read [{:val 1 :sts 3M}]")
}
