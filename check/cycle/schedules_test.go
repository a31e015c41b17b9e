package cycle_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/check"
	. "assay/check/cycle"
	"assay/history"
)

// schedule is the search for an order of starts and commits that explains all reads. It tries
// nothing twice.
type schedule struct {
	txns []Txn
	// apart lets others start and commit between a transaction's start and commit. conflicts then
	// forbids that they write what it writes.
	apart, conflicts bool
	// first says which must have committed before another starts.
	first func(a, b *Txn) bool
	tried map[string]bool

	started, ended uint32
	state          map[int64][]int64
	active         map[int]*pending
}

// schedules are the rules of the models that a search through schedules decides.
func schedules() map[Model]schedule {
	afterwards := func(a, b *Txn) bool {
		return a.Complete < b.Invoke || a.Process == b.Process && a.Complete == b.Invoke
	}
	return map[Model]schedule{
		Serializable:            {},
		StrictSerializable:      {first: afterwards},
		SnapshotIsolation:       {apart: true, conflicts: true},
		StrongSnapshotIsolation: {apart: true, conflicts: true, first: afterwards},
		Prefix:                  {apart: true},
	}
}

// pending is a transaction between its start and its commit.
type pending struct {
	writes map[int64][]int64 // to its own part, for lists what it appends
	late   map[int64]bool    // keys that others have written since its start
}

func (s *schedule) exists() bool {
	s.tried, s.state, s.active = map[string]bool{}, map[int64][]int64{}, map[int]*pending{}
	return s.extend()
}

func (s *schedule) extend() bool {
	complete := true
	for i := range s.txns {
		complete = complete && (s.ended>>i&1 != 0 || s.txns[i].Outcome != history.Committed)
	}
	if complete {
		return true
	}
	now := s.describe()
	if s.tried[now] {
		return false
	}
	s.tried[now] = true
	for i := range s.txns {
		if s.active[i] != nil && s.commit(i) || s.started>>i&1 == 0 && s.start(i) {
			return true
		}
	}
	return false
}

func (s *schedule) describe() string {
	var b strings.Builder
	fmt.Fprint(&b, s.started, s.ended, s.state) // maps are printed in the order of their keys
	for i := range s.txns {
		if p := s.active[i]; p != nil && s.conflicts {
			fmt.Fprint(&b, i, p.late)
		}
	}
	return b.String()
}

func (s *schedule) start(i int) bool {
	t := &s.txns[i]
	if !possible(t) || !s.apart && len(s.active) > 0 {
		return false
	}
	for j := range s.txns {
		if j != i && s.first != nil && s.ended>>j&1 == 0 && s.txns[j].Outcome == history.Committed && s.first(&s.txns[j], t) {
			return false
		}
	}
	own := map[int64][]int64{}
	if !replay(t, s.state, own) {
		return false
	}
	p := &pending{writes: map[int64][]int64{}, late: map[int64]bool{}}
	for _, op := range t.Ops {
		switch op.Kind {
		case Append:
			p.writes[op.Key] = append(p.writes[op.Key], op.Value)
		case Write:
			p.writes[op.Key] = []int64{op.Value}
		}
	}
	s.started |= 1 << i
	s.active[i] = p
	if s.extend() {
		return true
	}
	delete(s.active, i)
	s.started &^= 1 << i
	return false
}

func (s *schedule) commit(i int) bool {
	p := s.active[i]
	for k := range p.writes {
		if s.conflicts && p.late[k] {
			return false
		}
	}
	before := s.state
	after := map[int64][]int64{}
	for k, v := range before {
		after[k] = v
	}
	for _, op := range s.txns[i].Ops {
		switch op.Kind {
		case Append:
			after[op.Key] = append(slices.Clone(after[op.Key]), op.Value)
		case Write:
			after[op.Key] = []int64{op.Value}
		}
	}
	delete(s.active, i)
	var marked [][2]int64
	for j, other := range s.active {
		for k := range p.writes {
			if !other.late[k] {
				other.late[k] = true
				marked = append(marked, [2]int64{int64(j), k})
			}
		}
	}
	s.state, s.ended = after, s.ended|1<<i
	if s.extend() {
		return true
	}
	s.state, s.ended = before, s.ended&^(1<<i)
	for _, m := range marked {
		delete(s.active[int(m[0])].late, m[1])
	}
	s.active[i] = p
	return false
}

var longerHistories = flag.Int("cycle.longer", 15, "how many histories of up to 20 transactions are compared with exhaustive search")

// The verdicts agree with a search through all schedules: on many histories of up to six
// transactions, and on some of up to 20. Most have one changed read.
func TestAgreesWithSchedules(t *testing.T) {
	process := func(a, b *Txn) bool { return a.Process == b.Process && a.Complete <= b.Invoke }
	rules := map[Model]schedule{
		Serializable:             {},
		SessionSerializable:      {first: process},
		StrictSerializable:       {first: realtime},
		SnapshotIsolation:        {apart: true, conflicts: true},
		SessionSnapshotIsolation: {apart: true, conflicts: true, first: process},
		StrongSnapshotIsolation:  {apart: true, conflicts: true, first: realtime},
		Prefix:                   {apart: true},
	}
	histories := 8 * *definitionHistories
	counts := map[string]int{}
	for seed := range uint64(histories + *longerHistories) {
		for _, registers := range []bool{false, true} {
			txns := small(t, seed, registers)
			if seed >= uint64(histories) {
				txns = longer(t, seed-uint64(histories), registers)
			}
			h := build(t, txns)
			for m, rule := range rules {
				if rule.apart && rule.first == nil && len(txns) > 9 || len(txns) > 13 && m != StrictSerializable && m != StrongSnapshotIsolation {
					continue // too many schedules
				}
				if m == Prefix && !registers && seed < uint64(histories) {
					continue // a list's lost append shows in reads of one's own already
				}
				rule.txns = txns
				want := rule.exists()
				r := Check(context.Background(), h, m, Options{})
				checkReport(t, fmt.Sprint(seed, m), r)
				if !readsAnything(txns) {
					continue // nothing was put to the test
				}
				if r.Verdict == check.Unknown || (r.Verdict == check.Valid) != want {
					t.Fatalf("seed %d, registers %v, %s: %v %v %s, but a schedule exists: %v%s", seed, registers, m, r.Verdict, r.Anomalies, r.Reason, want, show(txns))
				}
				counts[fmt.Sprint(m, " registers=", registers, " ", want)]++
			}
		}
	}
	for m := range rules {
		for _, which := range []string{"false false", "false true", "true false", "true true"} {
			if key := fmt.Sprint(m, " registers=", which); counts[key] < histories/20 && (m != Prefix || strings.HasPrefix(which, "true")) {
				t.Errorf("%s: only %d histories", key, counts[key])
			}
		}
	}
	t.Log(counts)
}

func realtime(a, b *Txn) bool { return a.Complete < b.Invoke }

func longer(t *testing.T, seed uint64, registers bool) []Txn {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 20))
	txns, reads := simulated(t, simulation{
		Level: isolationLevel(r.IntN(2)), Seed: seed, Txns: 7 + r.IntN(14), Clients: 2 + r.IntN(3), Keys: 2 + r.IntN(2), MaxOps: 3,
		Registers: registers, Crash: float64(r.IntN(2)) * 0.2,
	})
	if len(reads) > 0 && r.IntN(4) > 0 {
		op := reads[r.IntN(len(reads))]
		if registers {
			op.Kind, op.Value = ReadValue, 1+int64(r.IntN(6))
		} else if n := len(op.List); n > 1 {
			op.List = op.List[:1+r.IntN(n-1)]
		}
	}
	return txns
}
