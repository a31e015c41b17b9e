package collections

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/check/simulated"
	"assay/history"
	"assay/history/exchange"
)

// store is a set, a queue and a counter in memory, with a bug: that strikes with
// a chance of one in ten, or never if its name is empty.
type store struct {
	random *rand.Rand
	bug    string
	struck int
	last   int64
	values []int64 // in the order in which they were put in
	sum    int64
	given  int64
}

func (s *store) strikes(bug string) bool {
	if s.bug != bug || s.random.IntN(10) > 0 {
		return false
	}
	s.struck++
	return true
}

func (s *store) add() simulated.Action {
	s.last++
	v := s.last
	return simulated.Action{Word: "add", Request: simulated.Int(v), Effect: func() (exchange.Value, bool) {
		if s.random.IntN(10) == 0 {
			if s.strikes("failed add") {
				s.values = append(s.values, v)
			}
			return exchange.Value{}, false
		}
		if !s.strikes("lost add") {
			s.values = append(s.values, v)
		}
		return simulated.Int(v), true
	}}
}

func (s *store) read() simulated.Action {
	return simulated.Action{Word: "read", Effect: func() (exchange.Value, bool) {
		saw := slices.Clone(s.values)
		if len(saw) > 0 && s.strikes("short read") {
			saw = saw[:len(saw)-1]
		}
		if len(saw) > 0 && s.strikes("doubled") {
			saw = append(saw, saw[0])
		}
		if s.strikes("invented") {
			saw = append(saw, -1)
		}
		return simulated.Ints(saw...), true
	}}
}

func (s *store) increment() simulated.Action {
	v := s.random.Int64N(7) - 2
	return simulated.Action{Word: "add", Request: simulated.Int(v), Effect: func() (exchange.Value, bool) {
		if s.random.IntN(10) == 0 {
			return exchange.Value{}, false
		}
		if !s.strikes("lost add") {
			s.sum += v
		}
		if s.strikes("doubled") {
			s.sum += v
		}
		return simulated.Int(v), true
	}}
}

func (s *store) enqueue() simulated.Action {
	a := s.add()
	a.Word = "enqueue"
	return a
}

func (s *store) dequeue() simulated.Action {
	return simulated.Action{Word: "dequeue", Effect: func() (exchange.Value, bool) {
		if len(s.values) == 0 {
			return exchange.Value{}, false
		}
		v := s.values[0]
		if !s.strikes("doubled") {
			s.values = s.values[1:]
		}
		if s.strikes("invented") {
			v = -v
		}
		return simulated.Int(v), true
	}}
}

func (s *store) drain() simulated.Action {
	return simulated.Action{Word: "drain", Effect: func() (exchange.Value, bool) {
		all := s.values
		s.values = nil
		return simulated.Ints(all...), true
	}}
}

func (s *store) generate() simulated.Action {
	return simulated.Action{Word: "generate", Effect: func() (exchange.Value, bool) {
		if !s.strikes("doubled") {
			s.given++
		}
		return simulated.Int(s.given), true
	}}
}

// simulate makes a history of one kind.
func simulate(seed uint64, kind, bug string, crash float64) ([]exchange.Operation, *store) {
	random := rand.New(rand.NewPCG(seed, 7))
	s := &store{random: random, bug: bug}
	clients := simulated.Clients{Random: random, Processes: 1 + random.IntN(6), Operations: 20 + random.IntN(60), Crash: crash}
	left := clients.Operations
	return clients.History(func(int64) (simulated.Action, bool) {
		left--
		first := random.IntN(3) > 0
		switch {
		case kind == "set" && left > 9, strings.HasSuffix(kind, " set") && first, kind == "set-full" && first:
			return s.add(), true
		case strings.Contains(kind, "set"):
			return s.read(), true
		case kind == "counter" && first:
			return s.increment(), true
		case kind == "counter":
			return simulated.Action{Word: "read", Effect: func() (exchange.Value, bool) { return simulated.Int(s.sum), true }}, true
		case kind == "unique-ids":
			return s.generate(), true
		case kind == "total-queue" && left <= 0:
			return s.drain(), true
		case random.IntN(2) == 0:
			return s.enqueue(), true
		default:
			return s.dequeue(), true
		}
	}), s
}

var kinds = []string{"set", "set-full", "linearizable set", "queue", "total-queue", "counter", "unique-ids"}

// What is right is never convicted, whatever crashed.
func TestHonestHistories(t *testing.T) {
	for _, kind := range kinds {
		valid := 0
		for seed := range uint64(400) {
			ops, _ := simulate(seed, kind, "", float64(seed%4)/20)
			r := simulated.Judged(t, opened(kind), ops)
			if r.Verdict == check.Violated {
				t.Fatalf("%s, seed %d: %s %+v", kind, seed, r.Detail, r.Evidence)
			}
			if r.Verdict == check.Valid {
				valid++
			}
		}
		if valid < 180 {
			t.Errorf("%s: %d of 400 honest histories are valid", kind, valid)
		}
	}
}

// Each bug is found in most histories that it struck.
func TestSeededBugs(t *testing.T) {
	for _, c := range []struct {
		kind, bug, found string
		least            int // in 100 of the histories that it struck
	}{
		{"set", "lost add", kindLost, 75}, {"set", "short read", kindLost, 20}, {"set", "invented", kindUnexpected, 60}, {"set", "failed add", kindFailed, 75},
		{"set-full", "lost add", kindLost, 80}, {"set-full", "doubled", kindDuplicate, 90}, {"set-full", "invented", kindUnexpected, 90},
		{"linearizable set", "short read", kindStale, 30},
		{"queue", "doubled", kindDuplicate, 60}, {"queue", "invented", kindUnexpected, 90}, {"queue", "failed add", kindFailed, 60},
		{"total-queue", "lost add", kindLost, 70}, {"total-queue", "doubled", kindDuplicate, 80},
		{"counter", "lost add", kindBounds, 30}, {"counter", "doubled", kindBounds, 30},
		{"unique-ids", "doubled", kindDuplicate, 95},
	} {
		struck, found := 0, 0
		for seed := range uint64(150) {
			ops, s := simulate(seed, c.kind, c.bug, 0.02)
			if s.struck == 0 {
				continue
			}
			struck++
			r := simulated.Judged(t, opened(c.kind), ops)
			if slices.ContainsFunc(r.Evidence, func(e check.Evidence) bool { return e.Kind == c.found }) {
				found++
			}
		}
		if struck < 20 || found*100 < c.least*struck {
			t.Errorf("%s with %s: found in %d of %d histories that it struck", c.kind, c.bug, found, struck)
		}
	}
}

// The sums over time agree with those over all pairs of a read and an addition.
func TestCounterAgainstAllPairs(t *testing.T) {
	bad := 0
	for seed := range uint64(400) {
		ops, _ := simulate(seed, "counter", []string{"", "doubled"}[seed%2], 0.1)
		var wrong int64
		for i := range ops {
			read := &ops[i]
			if read.Word != "read" || read.Outcome != history.Committed {
				continue
			}
			var least, most int64
			for j := range ops {
				add := &ops[j]
				if add.Word != "add" || add.Outcome == history.Failed || add.Invoke > read.Complete {
					continue
				}
				v := add.Request.Atom.Int
				if add.Outcome == history.Committed && add.Complete < read.Invoke {
					least, most = least+v, most+v
				} else {
					least, most = least+min(v, 0), most+max(v, 0)
				}
			}
			if v := read.Answer.Atom.Int; v < least || v > most {
				wrong++
			}
		}
		var out int64 // of bounds: other rules may find more
		r := simulated.Judged(t, NewCounter(), ops)
		for _, e := range r.Evidence {
			if e.Kind == kindBounds {
				out++
			}
		}
		if out != min(wrong, 10) || r.Found < wrong {
			t.Fatalf("seed %d: found %d and %d, want %d: %s", seed, out, r.Found, wrong, r.Detail)
		}
		if wrong > 0 {
			bad++
		}
	}
	if bad < 40 {
		t.Errorf("only %d wrong histories were tried", bad)
	}
}

// outcomes are what jepsen.checker/set-full says of each element, found by going
// through all reads of each.
func outcomes(ops []exchange.Operation) map[int64]string {
	all := map[int64]string{}
	for i := range ops {
		add := &ops[i]
		if add.Word != "add" || add.Outcome == history.Failed {
			continue
		}
		element := add.Request.Atom.Int
		known := int64(exchange.Never)
		if add.Outcome == history.Committed {
			known = add.Complete
		}
		present, absent := int64(-1), int64(-1)
		for j := range ops {
			read := &ops[j]
			if read.Word != "read" || read.Outcome != history.Committed || read.Complete < add.Invoke {
				continue
			}
			if slices.ContainsFunc(read.Answer.Items, func(v exchange.Value) bool { return v.Atom.Int == element }) {
				present, known = max(present, read.Invoke), min(known, read.Complete)
			} else {
				absent = max(absent, read.Invoke)
			}
		}
		switch {
		case present > absent && known < absent:
			all[element] = "stale"
		case present > absent:
			all[element] = "stable"
		case known < absent:
			all[element] = "lost"
		default:
			all[element] = "never read"
		}
	}
	return all
}

func TestSetFullAgainstEachElement(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(400) {
		ops, _ := simulate(seed, "set-full", []string{"", "short read", "lost add"}[seed%3], 0.1)
		count := map[string]int{}
		for _, outcome := range outcomes(ops) {
			count[outcome]++
			seen[outcome]++
		}
		r := simulated.Judged(t, opened("set-full"), ops)
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

// What a total queue finds is what multisets say, of histories where all ended.
func TestTotalQueueAgainstMultisets(t *testing.T) {
	lost := 0
	for seed := range uint64(300) {
		ops, _ := simulate(seed, "total-queue", []string{"", "lost add", "doubled"}[seed%3], 0)
		in, out, emptied := map[int64]int{}, map[int64]int{}, int64(0)
		for i := range ops {
			if ops[i].Word == "drain" {
				emptied = max(emptied, ops[i].Invoke)
			}
		}
		for i := range ops {
			op := &ops[i]
			switch {
			case op.Outcome != history.Committed:
			case op.Word == "enqueue" && op.Complete < emptied:
				in[op.Request.Atom.Int]++
			case op.Word == "dequeue":
				out[op.Answer.Atom.Int]++
			case op.Word == "drain":
				for _, v := range op.Answer.Items {
					out[v.Atom.Int]++
				}
			}
		}
		var want int64
		for v, n := range in {
			want += int64(max(0, n-out[v]))
		}
		j := NewQueue(TotalQueue)
		r := simulated.Judged(t, j, ops)
		var got int64
		for _, e := range r.Evidence {
			if e.Kind == kindLost {
				got++
			}
		}
		if emptied > 0 && got != min(want, 10) {
			t.Fatalf("seed %d: %d lost, want %d: %s", seed, got, want, r.Detail)
		}
		lost += int(want)
	}
	if lost < 50 {
		t.Errorf("only %d elements were lost in all", lost)
	}
}

// A million operations are judged in time that grows with their number: reads of
// a set are as long as what they saw.
func TestLargeHistories(t *testing.T) {
	const n = 200_000
	for _, kind := range []string{"set", "queue", "counter", "unique-ids"} {
		j := opened(kind)
		word := map[string]string{"set": "add", "queue": "enqueue", "counter": "add", "unique-ids": "generate"}[kind]
		var last exchange.Operation
		for i := range int64(n) {
			op := exchange.Operation{Index: i, Process: i % 9, Function: exchange.Other, Word: word, Outcome: history.Committed, Invoke: 2 * i, Complete: 2*i + 1,
				Request: simulated.Int(i), Answer: simulated.Int(i)}
			if kind == "unique-ids" {
				op.Request = exchange.Value{}
			}
			if err := j.Add(&op); err != nil {
				t.Fatal(err)
			}
			last.Answer.Items = append(last.Answer.Items, simulated.Int(i))
		}
		last.Word, last.Invoke, last.Complete, last.Outcome, last.Answer.Form = "read", 2*n, 2*n+1, history.Committed, exchange.List
		switch kind {
		case "queue":
			last.Word = "drain"
		case "counter":
			last.Answer = simulated.Int(n * (n - 1) / 2)
		}
		if kind != "unique-ids" {
			if err := j.Add(&last); err != nil {
				t.Fatal(err)
			}
		}
		if r := j.Result(t.Context()); r.Verdict != check.Valid {
			t.Errorf("%s: %v %s %+v", kind, r.Verdict, r.Detail, r.Evidence)
		}
	}
}

func FuzzJudges(f *testing.F) {
	simulated.Fuzz(f, opened, kinds, "0 invoke add 1; 0 ok add 1; 1 invoke read; 1 ok read [1 1 2]", "0 invoke enqueue 1; 1 invoke drain; 1 ok drain [1 2]",
		"0 invoke dequeue; 0 ok dequeue :a", "0 invoke generate; 0 ok generate 5", "0 invoke add 4; 0 info add; 1 invoke read; 1 ok read 7")
}
