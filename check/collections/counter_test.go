package collections

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"assay/check"
	"assay/check/simulated"
	"assay/history"
	"assay/history/exchange"
)

// explained tries every order of the operations of a counter: the definition, and
// nothing else.
func explained(ops []exchange.Operation) bool {
	placed := make([]bool, len(ops))
	var try func(sum int64) bool
	try = func(sum int64) bool {
		done := true
		for i := range ops {
			o := &ops[i]
			if placed[i] || o.Outcome == history.Failed || o.Word == "read" && o.Outcome != history.Committed {
				continue
			}
			done = done && o.Outcome != history.Committed
			next, fits := sum, true
			if o.Word == "add" {
				next += o.Request.Atom.Int
			} else {
				fits = o.Answer.Atom.Int == sum
			}
			for j := range ops { // nothing that came before is still to come
				before := ops[j].Outcome == history.Committed && ops[j].Complete < o.Invoke
				fits = fits && (!before || placed[j])
			}
			if !fits {
				continue
			}
			placed[i] = true
			found := try(next)
			placed[i] = false
			if found {
				return true
			}
		}
		return done
	}
	return try(0)
}

// anyCounter is a small history of whatever: right or wrong by chance.
func anyCounter(r *rand.Rand) []exchange.Operation {
	amounts := [][]int64{{1}, {5}, {1, 2}, {5, 3}, {2, -1}, {4, -4, 2}}[r.IntN(6)]
	var events []string
	open := map[int]string{}
	for next := 0; next < 3+r.IntN(5) || len(open) > 0; {
		p := r.IntN(4)
		switch was, busy := open[p]; {
		case !busy && next < 8:
			next++
			open[p] = "read"
			if r.IntN(2) == 0 {
				open[p] = fmt.Sprint("add ", amounts[r.IntN(len(amounts))])
			}
			events = append(events, fmt.Sprintf("%d invoke %s", p, open[p]))
		case busy && was == "read":
			events = append(events, fmt.Sprintf("%d ok read %d", p, amounts[r.IntN(len(amounts))]*r.Int64N(3)+amounts[0]*r.Int64N(2)))
			delete(open, p)
		case busy:
			events = append(events, fmt.Sprintf("%d %s %s", p, []string{"ok", "ok", "ok", "info", "fail"}[r.IntN(5)], was))
			delete(open, p)
		case next >= 8 && len(open) == 0:
			next++
		}
	}
	ops, err := simulated.Read(simulated.Events(strings.Join(events, "; ")))
	if err != nil {
		panic(err)
	}
	return ops
}

// What is convicted has no order that explains it, and what has none is convicted.
func TestCounterAgreesWithAllOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	seen := map[string]int{}
	for range 20_000 {
		ops := anyCounter(r)
		right := explained(ops)
		got := simulated.Judged(t, NewCounter(), ops)
		if right == (got.Verdict == check.Violated) {
			t.Fatalf("%v, but an order explains it: %v: %s %+v\n%+v", got.Verdict, right, got.Detail, got.Evidence, ops)
		}
		seen[got.Verdict.String()]++
		for _, e := range got.Evidence {
			seen[e.Kind]++
		}
	}
	for _, kind := range []string{"valid", "violated", kindBounds, kindSum, kindBack, kindNoOrder} {
		if seen[kind] < 50 {
			t.Errorf("%s came up %d times: the test does not test it", kind, seen[kind])
		}
	}
	t.Log(seen)
}

// What is proved without a search is proved of a counter of any length.
func TestLongCounters(t *testing.T) {
	for _, c := range []struct {
		first, then, last string
		kind              string
	}{
		{"9 invoke read; 9 ok read 5; ", "", "9 invoke read; 9 ok read 0", kindBack},
		{"9 invoke read; 9 ok read 3; ", "", "", kindSum},
		{"9 invoke read; 9 ok read 10; ", "0 invoke add -5; 0 ok add -5; ", "8 invoke read; 8 ok read 1990", kindBounds},
	} {
		text := c.first
		if c.kind == kindBack || c.kind == kindSum {
			for p := range 400 { // all in flight at once
				text = fmt.Sprintf("%d invoke add 5; ", 10+p) + text
			}
			text += c.then + c.last
			for p := range 400 {
				text += fmt.Sprintf("; %d ok add 5", 10+p)
			}
		} else {
			for range 400 {
				text += "0 invoke add 5; 0 ok add 5; "
			}
			text += c.then + c.last
		}
		ops, err := simulated.Read(simulated.Events(text))
		if err != nil {
			t.Fatal(err)
		}
		if r := simulated.Judged(t, NewCounter(), ops); r.Verdict != check.Violated || r.Evidence[0].Kind != c.kind {
			t.Errorf("%v %+v, want %s", r.Verdict, r.Evidence, c.kind)
		}
	}
	// Where too much is in flight, what no rule finds is not looked for, and that is said.
	text := ""
	for p := range 100 {
		text += fmt.Sprintf("%d invoke add 5; ", 10+p)
	}
	text += "0 invoke read; 0 ok read 25; "
	for p := range 100 {
		text += fmt.Sprintf("%d ok add 5; ", 10+p)
	}
	simulated.Expect(t, NewCounter(), text, check.Valid, "whether one order explains them all was not decided")
}
