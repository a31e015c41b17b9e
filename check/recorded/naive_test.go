package recorded

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
)

// explained tries every order of the operations, by the definition alone. step returns the state
// after an operation; false if the operation cannot stand there.
func explained[S any](ops []exchange.Operation, state S, step func(S, *exchange.Operation) (S, bool)) bool {
	done := true
	for i := range ops {
		op := &ops[i]
		if op.Outcome == history.Failed {
			continue
		}
		done = done && op.Outcome != history.Committed
		if slices.ContainsFunc(ops, func(o exchange.Operation) bool { return o.Outcome == history.Committed && o.Complete < op.Invoke }) {
			continue
		}
		if after, fits := step(state, op); fits && explained(slices.Delete(slices.Clone(ops), i, i+1), after, step) {
			return true
		}
	}
	return done
}

// held is a lock. fence is the greatest token that an owner was given.
type held struct{ holder, depth, fence int64 }

func (h held) step(kind string, op *exchange.Operation) (held, bool) {
	mine := kind == "mutex" || h.holder == op.Process
	switch {
	case op.Word == "release":
		h.depth--
		return h, h.depth >= 0 && mine
	case h.depth > 0:
		h.depth++
		return h, kind == "reentrant-mutex" && mine
	}
	if kind == "fenced-mutex" && op.Outcome == history.Committed {
		if op.Answer.Atom.Int <= h.fence {
			return h, false
		}
		h.fence = op.Answer.Atom.Int
	}
	h.holder, h.depth = op.Process, 1
	return h, true
}

// anyLock acquires and releases at random. In half of the histories a client goes on as the same
// process after an operation of unknown outcome.
func anyLock(r *rand.Rand, crash float64) []exchange.Operation {
	c := &clients{Rand: r, processes: 1 + r.IntN(4), left: 2 + r.IntN(6), crash: crash, stays: r.IntN(2) == 0}
	token := int64(0)
	return c.history(func(int64) act {
		return act{[]string{"acquire", "release"}[r.IntN(2)], exchange.Value{}, func() (exchange.Value, bool) {
			token++
			return whole(token), r.IntN(8) > 0
		}}
	})
}

// untilBefore are the operations as they were known just before one of them ended.
func untilBefore(ops []exchange.Operation, id int64) (all []exchange.Operation) {
	named := ops[slices.IndexFunc(ops, func(o exchange.Operation) bool { return o.ID() == id })]
	for _, o := range ops {
		switch {
		case o.Invoke > named.Complete:
		case o.Outcome != history.Committed || o.Complete < named.Complete:
			all = append(all, o)
		case o.Word != "get":
			o.Outcome = history.Unknown
			all = append(all, o)
		}
	}
	return all
}

func stepCounter(sum int64, op *exchange.Operation) (int64, bool) {
	if op.Word == "add" {
		return sum + op.Request.Atom.Int, true
	}
	return sum, op.Outcome == history.Committed && op.Answer.Atom.Int == sum
}

// stepQueue is an unordered queue of the elements 0 and 1: the count of each.
func stepQueue(in [2]int, op *exchange.Operation) ([2]int, bool) {
	switch {
	case op.Word == "enqueue":
		in[op.Request.Atom.Int]++
	case op.Outcome == history.Committed && !op.Answer.IsNil():
		in[op.Answer.Atom.Int]--
		return in, in[op.Answer.Atom.Int] >= 0
	}
	return in, true
}

// anyQueue puts two elements in repeatedly, and takes them out at random.
func anyQueue(r *rand.Rand) []exchange.Operation {
	c := &clients{Rand: r, processes: 3, left: 3 + r.IntN(5), crash: 0.1}
	return c.history(func(int64) act {
		if r.IntN(2) == 0 {
			return act{"enqueue", whole(r.Int64N(2)), c.fails(func() (exchange.Value, bool) { return exchange.Value{}, true })}
		}
		return act{word: "dequeue", effect: func() (exchange.Value, bool) { return whole(r.Int64N(2)), true }}
	})
}

func stepText(held string, op *exchange.Operation) (string, bool) {
	switch op.Word {
	case "append":
		return held + op.Request.String(), true
	case "put":
		return op.Request.String(), true
	}
	return held, op.Outcome == history.Committed && strings.TrimSuffix(op.Answer.String(), "nil") == held
}

// anyTexts appends digits, and in half of the histories also puts them.
func anyTexts(r *rand.Rand) []exchange.Operation {
	c := &clients{Rand: r, processes: 3, left: 3 + r.IntN(4), crash: 0.1}
	change, was := []string{"append", "put"}[:1+r.IntN(2)], int64(0)
	return c.history(func(int64) act {
		if r.IntN(2) == 0 {
			v := 1 + r.Int64N(2)
			was = was*10%100 + v
			return act{change[r.IntN(len(change))], whole(v), c.fails(func() (exchange.Value, bool) { return exchange.Value{}, true })}
		}
		return act{word: "get", effect: func() (exchange.Value, bool) {
			if was == 0 || r.IntN(8) == 0 {
				return exchange.Value{}, true
			}
			return whole([]int64{was, was % 10, was}[r.IntN(3)]), true
		}}
	})
}

func stepRegisters(before map[exchange.Atom]exchange.Atom, op *exchange.Operation) (map[exchange.Atom]exchange.Atom, bool) {
	after := maps.Clone(before)
	did := op.Request
	if op.Outcome == history.Committed {
		did = op.Answer
	}
	for _, s := range did.Items {
		key, v := s.Items[1].Atom, s.Items[2].Atom
		if s.Items[0].Word() == "write" {
			after[key] = v
		} else if v.Kind != exchange.Nil && after[key] != v {
			return nil, false
		}
	}
	return after, true
}

// anyCounter is a small random history, right or wrong by chance.
func anyCounter(r *rand.Rand) []exchange.Operation {
	amounts := [][]int64{{1}, {5}, {1, 2}, {5, 3}, {2, -1}, {4, -4, 2}}[r.IntN(6)]
	c := &clients{Rand: r, processes: 4, left: 3 + r.IntN(6), crash: 0.2}
	return c.history(func(int64) act {
		if r.IntN(2) == 0 {
			return act{"add", whole(amounts[r.IntN(len(amounts))]), c.fails(func() (exchange.Value, bool) { return exchange.Value{}, true })}
		}
		return act{word: "read", effect: func() (exchange.Value, bool) {
			return whole(amounts[r.IntN(len(amounts))]*r.Int64N(3) + amounts[0]*r.Int64N(2)), true
		}}
	})
}

// The judges agree with a search through all orders, on small histories of any kind.
func TestAgainstAllOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	lock := func(kind string, crash float64) func() ([]exchange.Operation, bool) {
		return func() ([]exchange.Operation, bool) {
			ops := anyLock(r, crash)
			return ops, explained(ops, held{holder: -1}, func(h held, op *exchange.Operation) (held, bool) { return h.step(kind, op) })
		}
	}
	for kind, c := range map[string]struct {
		rounds int
		least  []string // what comes up, 50 times or more
		next   func() (ops []exchange.Operation, right bool)
	}{
		"mutex":           {2000, []string{kindTwoHolders, kindFree}, lock("mutex", 0.1)},
		"owner-mutex":     {10_000, []string{kindTwoHolders, kindFree}, lock("owner-mutex", 0.15)},
		"reentrant-mutex": {10_000, []string{kindTwoHolders, kindFree}, lock("reentrant-mutex", 0.15)},
		"fenced-mutex":    {4000, []string{kindTwoHolders, kindFree}, lock("fenced-mutex", 0.05)},
		"counter": {20_000, []string{kindBounds, kindSum, kindBack, kindNoOrder}, func() ([]exchange.Operation, bool) {
			ops := anyCounter(r)
			return ops, explained(ops, 0, stepCounter)
		}},
		"queue": {4000, []string{kindDuplicate, putWords().future}, func() ([]exchange.Operation, bool) {
			ops := anyQueue(r)
			return ops, explained(ops, [2]int{}, stepQueue)
		}},
		"key-value": {6000, []string{kindNoOrder}, func() ([]exchange.Operation, bool) {
			ops := anyTexts(r)
			return ops, explained(ops, "", stepText)
		}},
		"multi-register": {2000, []string{kindNoOrder}, func() ([]exchange.Operation, bool) {
			c := &clients{Rand: r, processes: 3, left: 4 + r.IntN(4), crash: 0.05, bug: []string{"", "stale"}[r.IntN(2)], odds: 2}
			ops := c.history(c.registers())
			right := explained(ops, map[exchange.Atom]exchange.Atom{}, stepRegisters)
			if !right && c.struck == 0 {
				t.Fatalf("the simulation is wrong: %+v", ops)
			}
			return ops, right
		}},
	} {
		seen := map[string]int{}
		for range c.rounds {
			ops, right := c.next()
			got := judged(t, opened(kind), ops)
			if right == (got.Verdict == check.Violated) {
				t.Fatalf("%s: %v, but an order explains it: %v: %s %+v\n%+v", kind, got.Verdict, right, got.Detail, got.Evidence, ops)
			}
			seen[got.Verdict.String()]++
			for _, e := range got.Evidence {
				seen[e.Kind]++
				if kind == "key-value" && strings.Contains(e.Text, "an order explains all before it") && !explained(untilBefore(ops, e.Fields["operation"]), "", stepText) {
					t.Fatalf("no order explains what was before %s\n%+v", e.Text, ops)
				}
			}
		}
		for _, what := range append(c.least, "valid", "violated") {
			if seen[what] < 50 {
				t.Errorf("%s: %s came up %d times: the test does not test it", kind, what, seen[what])
			}
		}
	}
}

func certain(o *exchange.Operation, word string) bool {
	return o.Word == word && o.Outcome == history.Committed
}

func counted(r check.Result, kind string) (n int64) {
	for _, f := range r.Findings {
		if f.Kind == kind {
			n += f.Found
		}
	}
	return n
}

// outcome is the answer of jepsen.checker/set-full for an element, found by going through all
// reads.
func outcome(ops []exchange.Operation, add *exchange.Operation) string {
	known, present, absent := int64(exchange.Never), int64(-1), int64(-1)
	if add.Outcome == history.Committed {
		known = add.Complete
	}
	for j := range ops {
		read := &ops[j]
		if !certain(read, "read") || read.Complete < add.Invoke {
			continue
		}
		if saw(read, add) {
			present, known = max(present, read.Invoke), min(known, read.Complete)
		} else {
			absent = max(absent, read.Invoke)
		}
	}
	switch {
	case present > absent && known < absent:
		return "stale"
	case present > absent:
		return "stable"
	case known < absent:
		return "lost"
	}
	return "never read"
}

func saw(read, put *exchange.Operation) bool {
	return slices.ContainsFunc(read.Answer.Items, func(v exchange.Value) bool { return v.Atom == put.Request.Atom })
}

func TestSetFullAgainstEachElement(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(400) {
		ops, _ := simulate(seed, "set-full", []string{"", "short read", "lost add"}[seed%3])
		count := map[string]int{}
		for i := range ops {
			if ops[i].Word == "add" && ops[i].Outcome != history.Failed {
				count[outcome(ops, &ops[i])]++
				seen[outcome(ops, &ops[i])]++
			}
		}
		r := judged(t, opened("set-full"), ops)
		want := fmt.Sprintf("; %s stable, %s stale, %s never read", check.CountOrNone(count["stable"]+count["stale"]),
			check.CountOrNone(count["stale"]), check.CountOrNone(count["never read"]))
		if !strings.Contains(r.Detail, want) || r.Found != int64(count["lost"]) {
			t.Fatalf("seed %d: %s, %d found; want %s, %d lost", seed, r.Detail, r.Found, want, count["lost"])
		}
	}
	for _, outcome := range []string{"stale", "stable", "lost", "never read"} {
		if seen[outcome] < 20 {
			t.Errorf("%d elements were %s", seen[outcome], outcome)
		}
	}
}

// For histories in which every operation ended, a total queue's findings agree with multisets.
func TestTotalQueueAgainstMultisets(t *testing.T) {
	lost := 0
	for seed := range uint64(300) {
		ops, _ := simulate(4*seed, "total-queue", []string{"", "lost add", "doubled"}[seed%3])
		in, out, emptied := map[int64]int{}, map[int64]int{}, int64(0)
		for i := range ops {
			if ops[i].Word == "drain" {
				emptied = max(emptied, ops[i].Invoke)
			}
		}
		for i := range ops {
			switch op := &ops[i]; {
			case certain(op, "enqueue") && op.Complete < emptied:
				in[op.Request.Atom.Int]++
			case certain(op, "dequeue"):
				out[op.Answer.Atom.Int]++
			case certain(op, "drain"):
				for _, v := range op.Answer.Items {
					out[v.Atom.Int]++
				}
			}
		}
		var want int64
		for v, n := range in {
			want += int64(max(0, n-out[v]))
		}
		r := judged(t, opened("total-queue"), ops)
		if got := counted(r, kindLost); emptied > 0 && got != want {
			t.Fatalf("seed %d: %d lost, want %d: %s", seed, got, want, r.Detail)
		}
		lost += int(want)
	}
	if lost < 50 {
		t.Errorf("only %d elements were lost in all", lost)
	}
}

// Forks and gaps agree with all pairs of reads, and of a read and a write.
func TestAgainstAllPairs(t *testing.T) {
	bad := map[string]int{}
	for seed := range uint64(300) {
		bug := []string{"missed", ""}[seed%2]
		ops, _ := simulate(seed, "long-fork", bug)
		fork := false
		for i := range ops {
			for k := range i {
				fork = fork || forked(&ops[i], &ops[k])
			}
		}
		if r := judged(t, opened("long-fork"), ops); (r.Verdict == check.Violated) != fork {
			t.Fatalf("long-fork, seed %d: %v %s, but a pair is forked: %v", seed, r.Verdict, r.Detail, fork)
		}
		if fork {
			bad["long-fork"]++
		}
		ops, _ = simulate(seed, "comments", bug)
		var gaps int64
		for i := range ops {
			if certain(&ops[i], "read") && gap(ops, &ops[i]) {
				gaps++
			}
		}
		if r := judged(t, opened("comments"), ops); r.Found != gaps {
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
	if !certain(a, "read") || !certain(b, "read") || a.Answer.Items[0].Items[1].Atom != b.Answer.Items[0].Items[1].Atom {
		return false
	}
	more, less := false, false
	for i := range a.Answer.Items {
		x, y := a.Answer.Items[i].Items[2].IsNil(), b.Answer.Items[i].Items[2].IsNil()
		more, less = more || x && !y, less || y && !x
	}
	return more && less
}

// gap reports whether a read saw a write and missed one acknowledged before that began.
func gap(ops []exchange.Operation, read *exchange.Operation) bool {
	for i := range ops {
		for k := range ops {
			first, second := &ops[i], &ops[k]
			if certain(first, "write") && second.Word == "write" && first.Complete < second.Invoke && saw(read, second) && !saw(read, first) {
				return true
			}
		}
	}
	return false
}
