package isolation

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
)

// TestPredicateCycles: transactions that miss one another's rows by what they count
// have no order, and each case has a valid twin that differs in one number.
func TestPredicateCycles(t *testing.T) {
	count := func(group, found int64) Op { return Op{Kind: Count, Key: group, Value: found} }
	insert := func(group int64) Op { return Op{Kind: Insert, Key: group, Value: 1} }
	for name, c := range map[string]struct {
		wrong, right [][]Op
		length       int  // of the cycle
		fork         bool // it shows in what was found alone
	}{
		"write skew": { // Hermitage's G2
			[][]Op{{count(1, 0), insert(1)}, {count(1, 0), insert(1)}},
			[][]Op{{count(1, 0), insert(1)}, {count(1, 1), insert(1)}}, 2, false},
		"own rows are left out": {
			[][]Op{{insert(1), count(1, 1)}, {count(1, 0), insert(1), count(1, 1)}},
			[][]Op{{insert(1), count(1, 1)}, {count(1, 1), insert(1), count(1, 2)}}, 2, false},
		"over two groups": {
			[][]Op{{count(1, 0), count(2, 0), insert(2)}, {count(2, 0), count(1, 0), insert(1)}},
			[][]Op{{count(1, 0), count(2, 0), insert(2)}, {count(2, 1), count(1, 0), insert(1)}}, 2, false},
		"a part of what was inserted": {
			[][]Op{{count(1, 0), insert(1), insert(1)}, {count(1, 1)}},
			[][]Op{{count(1, 0), insert(1), insert(1)}, {count(1, 2)}}, 2, false},
		"seen in two orders": {
			[][]Op{{count(1, 1), count(2, 0)}, {count(1, 0), count(2, 1)}},
			[][]Op{{count(1, 1), count(2, 0)}, {count(1, 1), count(2, 1)}}, 2, true},
		"seen in three orders": {
			[][]Op{{count(1, 1), count(2, 0), insert(1)}, {count(2, 1), count(3, 0)}, {count(3, 1), count(1, 0)}},
			[][]Op{{count(1, 1), count(2, 0)}, {count(2, 1), count(3, 0)}, {count(3, 1), count(1, 1)}}, 3, true},
		"a circle of three": {
			[][]Op{{count(1, 0), count(3, 0), insert(3)}, {count(2, 0), count(1, 0), insert(1)}, {count(3, 0), count(2, 0), insert(2)}},
			[][]Op{{count(1, 0), count(3, 0), insert(3)}, {count(2, 0), count(1, 0), insert(1)}, {count(3, 1), count(2, 0), insert(2)}}, 3, false},
		"one alone": {
			nil, [][]Op{{count(1, 0), insert(1), insert(1)}, {count(2, 0), insert(2)}}, 0, false},
	} {
		for model, forbids := range map[string]bool{"strict-serializable": true, "serializable": true, "snapshot-isolation": false, "repeatable-read": false} {
			forbids = forbids || model == "snapshot-isolation" && c.fork
			for right, transactions := range map[bool][][]Op{false: c.wrong, true: c.right} {
				s := newScript(t, "predicate")
				s.config.Model = model
				s.do(0, history.Committed, count(9, 0), count(9, 0)) // something is put to the test
				s.do(0, history.Failed, count(1, 7), insert(1))      // what it read means nothing
				for client, ops := range transactions {
					s.do(client, history.Committed, ops...)
				}
				want := valid
				if !right && c.wrong != nil {
					want = check.Allowed
					if forbids {
						want = violated
					}
				}
				r := s.want(map[string]check.Verdict{"predicate": want}).Results[0]
				switch {
				case want == violated && (r.Found != 1 || strings.HasPrefix(r.Evidence[0].Kind, "G2") == (model == "snapshot-isolation") || len(r.Evidence[0].Cycle.Steps) != c.length):
					t.Errorf("%s under %s: %+v", name, model, r)
				case want != violated && strings.Contains(r.Detail, "(G2)") != (!right && c.wrong != nil):
					t.Errorf("%s under %s: %s", name, model, r.Detail)
				}
			}
		}
	}
}

// TestPredicateCyclesOfSerialRuns: transactions one after the other, recorded in any
// order, are never convicted, and one whose count lacks a row that others saw is.
func TestPredicateCyclesOfSerialRuns(t *testing.T) {
	for seed := range uint64(300) {
		chance := rand.New(rand.NewPCG(seed, 1))
		rows := map[int64]int64{}
		var p predicateCycles
		var all [][]Op
		for range 30 {
			var ops []Op
			for range 1 + chance.IntN(4) {
				group := chance.Int64N(3)
				if chance.IntN(2) == 0 {
					rows[group]++
					ops = append(ops, Op{Kind: Insert, Key: group})
				} else {
					ops = append(ops, Op{Kind: Count, Key: group, Value: rows[group]})
				}
			}
			all = append(all, ops)
		}
		chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for i, ops := range all {
			p.look(&history.Op{Client: i}, ops)
		}
		for _, kind := range []string{kindSerial, kindSnapshot} {
			if found := p.result(kind); found.Found != 0 {
				t.Fatalf("seed %d: %+v", seed, found)
			}
		}
		// A count between two others, with rows inserted on both sides, that goes back
		// before a transaction that it is after by another group.
		p.look(&history.Op{Client: 30}, []Op{{Kind: Count, Key: 0, Value: rows[0]}, {Kind: Count, Key: 1, Value: -1}})
		p.look(&history.Op{Client: 31}, []Op{{Kind: Count, Key: 0, Value: -1}, {Kind: Count, Key: 1, Value: rows[1]}})
		if p.result(kindSerial).Found == 0 || p.result(kindSnapshot).Found == 0 {
			t.Fatalf("seed %d: two transactions that each lack what the other saw were not found", seed)
		}
	}
}

// TestPredicateCyclesOfSnapshots: transactions that each count and insert on a snapshot
// of their own are never convicted under snapshot isolation, whatever they skew.
func TestPredicateCyclesOfSnapshots(t *testing.T) {
	skewed := 0
	for seed := range uint64(300) {
		chance := rand.New(rand.NewPCG(seed, 2))
		var (
			p    predicateCycles
			log  []map[int64]int64 // the rows of each group after each commit
			rows = map[int64]int64{}
		)
		log = append(log, map[int64]int64{})
		for client := range 30 {
			seen := log[max(0, len(log)-1-chance.IntN(4))]
			own := map[int64]int64{}
			var ops []Op
			for range 1 + chance.IntN(4) {
				group := chance.Int64N(3)
				if chance.IntN(2) == 0 {
					own[group]++
					ops = append(ops, Op{Kind: Insert, Key: group})
				} else {
					ops = append(ops, Op{Kind: Count, Key: group, Value: seen[group] + own[group]})
				}
			}
			for group, n := range own {
				rows[group] += n
			}
			log = append(log, maps.Clone(rows))
			p.look(&history.Op{Client: client}, ops)
		}
		if found := p.result(kindSnapshot); found.Found != 0 {
			t.Fatalf("seed %d: %+v", seed, found)
		}
		if p.result(kindSerial).Found > 0 {
			skewed++
		}
	}
	if skewed < 200 {
		t.Errorf("only %d histories have a write skew", skewed)
	}
}
