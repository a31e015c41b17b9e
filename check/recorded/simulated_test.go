package recorded

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
)

// act is a client's next operation. effect carries it out and returns the answer, or false if it
// failed without effect.
type act struct {
	word    string
	request exchange.Value
	effect  func() (exchange.Value, bool)
}

// clients work with a database in memory. Operations take effect one after the other, between
// invocation and completion. Some clients crash: the operation may then take effect at any later
// time, or never.
type clients struct {
	*rand.Rand
	processes int
	left      int     // how many operations are still to be invoked
	crash     float64 // the share of the operations of which nobody learns the outcome
	stays     bool    // a crashed client goes on as the same process
	bug       string
	odds      int // that the bug strikes, one in so many; 0 means 6
	struck    int
}

// strikes reports whether a bug strikes now.
func (c *clients) strikes(bug string) bool {
	hit := c.bug == bug && c.IntN(cmp.Or(c.odds, 6)) == 0
	if hit {
		c.struck++
	}
	return hit
}

type pending struct {
	act
	op       exchange.Operation
	done, ok bool
}

func (p *pending) takeEffect() {
	if !p.done {
		p.done = true
		p.op.Answer, p.ok = p.effect()
	}
}

// history lets each client do the acts that next returns. It returns the operations as a reader
// would: by completion, and then the incomplete ones. A crashed client continues as another
// process.
func (c *clients) history(next func(process int64) act) []exchange.Operation {
	var all []exchange.Operation
	var crashed []*pending
	busy := make([]*pending, c.processes)
	process := make([]int64, c.processes)
	for i := range process {
		process[i] = int64(i)
	}
	var now int64
	for idle := 0; c.left > 0 || idle < c.processes; {
		if len(crashed) > 0 && c.IntN(20) == 0 {
			crashed[c.IntN(len(crashed))].takeEffect()
		}
		i := c.IntN(c.processes)
		p := busy[i]
		switch {
		case p == nil && c.left == 0:
			idle = 0
			for _, p := range busy {
				if p == nil {
					idle++
				}
			}
			continue
		case p == nil:
			c.left--
			a := next(process[i])
			busy[i] = &pending{act: a, op: exchange.Operation{
				Line: int(now) + 1, Index: now, Process: process[i], Function: exchange.Other, Word: a.word, Request: a.request,
				Invoke: now, Complete: exchange.Never, InvokeTime: now * 1000, CompleteTime: exchange.NoTime,
			}}
			now++
			continue
		case c.Float64() < c.crash/2:
			if c.IntN(2) == 0 {
				p.op.Complete, p.op.CompleteTime = now, now*1000
				now++
			}
			crashed = append(crashed, p)
			if !c.stays {
				process[i] += int64(c.processes)
			}
		case !p.done:
			p.takeEffect()
			continue
		default:
			p.op.Outcome, p.op.Complete, p.op.CompleteTime = history.Failed, now, now*1000
			if p.ok {
				p.op.Outcome = history.Committed
			}
			now++
		}
		all = append(all, p.op)
		busy[i] = nil
	}
	slices.SortStableFunc(all, func(a, b exchange.Operation) int { return cmp.Compare(a.Complete, b.Complete) })
	return all
}

func whole(v int64) exchange.Value { return exchange.Value{Atom: exchange.Int64(v)} }

func wholes[T ~int | ~int64](values ...T) exchange.Value {
	all := listOf()
	for _, v := range values {
		all.Items = append(all.Items, whole(int64(v)))
	}
	return all
}

func listOf(values ...exchange.Value) exchange.Value {
	return exchange.Value{Form: exchange.List, Items: values}
}

func mapOf(values ...exchange.Value) exchange.Value {
	return exchange.Value{Form: exchange.Map, Items: values}
}

func word(text string) exchange.Value {
	return exchange.Value{Atom: exchange.Atom{Kind: exchange.Keyword, Text: text}}
}

func simulate(seed uint64, kind, bug string) (ops []exchange.Operation, struck int) {
	random := rand.New(rand.NewPCG(seed, 7))
	c := &clients{Rand: random, processes: 1 + random.IntN(6), left: 40 + random.IntN(60), crash: float64(seed%4) / 25, bug: bug}
	var next func(int64) act
	switch kind {
	case "set", "set-full", "set-full linearizable", "queue", "total-queue", "counter", "unique-ids":
		next = c.collection(kind)
	case "kafka":
		next = c.logs()
	case "long-fork", "comments", "adya-g2", "monotonic":
		next = c.rows(kind)
	case "multi-register":
		c.crash /= 2 // it is a search
		next = c.registers()
	default:
		next = c.locks(kind)
	}
	return c.history(next), c.struck
}

// Right histories are never convicted, whatever crashed. Most histories with a bug are, by its
// name.
func TestSimulatedHistories(t *testing.T) {
	type bug struct {
		name  string
		least int      // in 100 of the histories that it struck
		kinds []string // of what is found
	}
	for kind, of := range map[string]struct {
		valid int // of 400 that are right
		bugs  []bug
	}{
		// Of a set, only the last read to end may be no short one.
		"set": {380, []bug{{"lost add", 95, []string{kindLost}}, {"short read", 10, []string{kindLost}}, {"invented", 90, []string{kindUnexpected}},
			{"failed add", 90, []string{"failed-element"}}}},
		"set-full":              {380, []bug{{"lost add", 95, []string{kindLost}}, {"doubled", 90, []string{kindDuplicate}}, {"invented", 90, []string{kindUnexpected}}}},
		"set-full linearizable": {380, []bug{{"short read", 60, []string{kindStale}}}},
		"queue":                 {380, []bug{{"doubled", 90, []string{kindDuplicate}}, {"invented", 90, []string{kindUnexpected}}, {"failed add", 80, []string{"failed-element"}}}},
		"total-queue":           {180, []bug{{"lost add", 75, []string{kindLost}}}},
		"counter":               {380, []bug{{"lost add", 75, []string{kindBounds}}, {"doubled", 80, []string{kindBounds}}}},
		"unique-ids":            {380, []bug{{"doubled", 95, []string{kindDuplicate}}}},
		"long-fork":             {380, []bug{{"missed", 80, []string{kindLongFork}}}},
		"comments":              {380, []bug{{"missed", 90, []string{kindGap}}}},
		"adya-g2":               {380, []bug{{"missed", 90, []string{kindG2}}}},
		"monotonic":             {380, []bug{{"missed", 90, []string{kindLost}}}},
		"kafka": {380, []bug{{"lost", 90, []string{kindLostWrite}}, {"duplicate", 90, []string{kindDuplicate}}, {"aborted", 85, []string{kindAborted}},
			{"back", 90, []string{kindPollBack}}, {"skip", 80, []string{kindPollSkip, kindLostWrite}},
			{"uncommitted", 15, []string{kindG1c, kindG1cRealtime}}}}, // seen only if somebody polled it and sent what it then polled
		"multi-register":  {380, []bug{{"stale", 60, []string{kindNoOrder}}}},
		"mutex":           {360, []bug{{"second holder", 60, []string{kindTwoHolders, kindFree}}}},
		"owner-mutex":     {360, []bug{{"second holder", 60, []string{kindTwoHolders}}}},
		"reentrant-mutex": {360, []bug{{"second holder", 60, []string{kindTwoHolders}}}},
		"fenced-mutex":    {360, []bug{{"second holder", 60, []string{kindTwoHolders}}, {"stale token", 85, []string{kindFence}}}},
	} {
		valid := 0
		for seed := range uint64(400) {
			ops, _ := simulate(seed, kind, "")
			r := judged(t, opened(kind), ops)
			if r.Verdict == check.Violated {
				t.Fatalf("%s, seed %d: %s %+v", kind, seed, r.Detail, r.Evidence)
			}
			if r.Verdict == check.Valid {
				valid++
			}
		}
		if valid < of.valid {
			t.Errorf("%s: %d of 400 honest histories are valid", kind, valid)
		}
		for _, b := range of.bugs {
			hit, found := 0, 0
			for seed := range uint64(150) {
				ops, struck := simulate(seed, kind, b.name)
				r := judged(t, opened(kind), ops)
				switch {
				case struck > 0:
					hit++
				case r.Verdict == check.Violated:
					t.Fatalf("%s with %s that did not strike, seed %d: %s %+v", kind, b.name, seed, r.Detail, r.Evidence)
				}
				if slices.ContainsFunc(r.Evidence, func(e check.Evidence) bool { return slices.Contains(b.kinds, e.Kind) }) {
					found++
				}
			}
			if hit < 20 || found*100 < b.least*hit {
				t.Errorf("%s with %s: found in %d of %d histories that it struck", kind, b.name, found, hit)
			}
		}
	}
}
