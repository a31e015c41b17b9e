package cycle_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/check"
	. "assay/check/cycle"
	"assay/history/exchange"
	"assay/internal/expect"
)

func smallest(t *testing.T, h *History, model Model, anomaly string) (Smallest, bool) {
	t.Helper()
	r := Check(t.Context(), h, model, Options{})
	found := FindSmallest(t.Context(), h, Options{}, &r, check.Events)
	i := slices.IndexFunc(found, func(s Smallest) bool { return s.Anomaly == anomaly })
	if i < 0 {
		return Smallest{}, false
	}
	return found[i], true
}

// reread returns a part read back from its written form.
func reread(t *testing.T, operations []exchange.Operation) *History {
	t.Helper()
	var r Reader
	for i := range operations {
		expect.NoError(t, r.Add(&operations[i]))
	}
	return r.History()
}

// The smallest history of each anomaly is found again, and convicted of that anomaly, when it is
// hidden among honest transactions on other keys and the clients' own appends to the same lists.
func TestSmallestOfEachAnomaly(t *testing.T) {
	for _, test := range minimal {
		alone := judge(t, test.name, test.model, test.bad)
		for _, anomaly := range alone.Anomalies {
			h := hidden(t, test.bad)
			whole := Check(t.Context(), h, test.model, Options{})
			if !slices.Contains(whole.Anomalies, anomaly) {
				continue // named otherwise in a longer history
			}
			s, found := smallest(t, h, test.model, anomaly)
			if !found {
				t.Errorf("%s: no part shows %s", test.name, anomaly)
				continue
			}
			if n := len(s.Excerpt.Operations); n > len(test.bad) || !s.Excerpt.Minimal || s.Excerpt.Of != int64(h.Len()) {
				t.Errorf("%s: %d transactions show %s, and %d can: %+v", test.name, n, anomaly, len(test.bad), s.Excerpt)
			}
			named := whole.Evidence[slices.IndexFunc(whole.Evidence, func(e Evidence) bool { return e.Anomaly == anomaly })].Txns
			for i := range named { // one transaction has one name in the text and in the picture
				for _, o := range s.Excerpt.Operations {
					if want := fmt.Sprintf("T%d", i+1); (o.ID == named[i].ID) != (o.Name == want) {
						t.Errorf("%s: %s of the evidence of %s is %d, and %s in the picture is %d", test.name, want, anomaly, named[i].ID, o.Name, o.ID)
					}
				}
			}
			again := Check(t.Context(), reread(t, s.Operations), test.model, Options{})
			if again.Verdict != check.Violated || !slices.Contains(again.Anomalies, anomaly) {
				t.Errorf("%s: the part is %v for %v, not %s", test.name, again.Verdict, again.Anomalies, anomaly)
			}
		}
	}
}

// hidden returns a history among three hundred honest transactions on other keys.
func hidden(t *testing.T, lines []string) *History {
	t.Helper()
	var b Builder
	err := simulate(simulation{Level: simulateStrict, Seed: 5, Txns: 300, Clients: 4}, func(txn Txn) error {
		for i := range txn.Ops {
			txn.Ops[i].Key += 1000
		}
		return b.Add(txn)
	})
	expect.NoError(t, err)
	for i, line := range lines {
		txn := write(t, i, line)
		txn.ID += 1_000_000
		txn.Process += 100
		expect.NoError(t, b.Add(txn))
	}
	return b.History()
}

// The part found in a random wrong history of 300 transactions is convicted of the same anomaly. It
// is small, and no operation of it can be left out. The test prints the sizes.
func TestSmallestOfRandomHistories(t *testing.T) {
	sizes := map[string][]int{}
	for seed := range uint64(2) {
		for _, level := range []isolationLevel{simulateSnapshot, simulatePrefix, simulateNothing} {
			for _, registers := range []bool{false, true} {
				h, err := simulatedHistory(simulation{Level: level, Seed: seed, Txns: 300, Clients: 5, Registers: registers})
				expect.NoError(t, err)
				r := Check(t.Context(), h, StrictSerializable, Options{})
				found := FindSmallest(t.Context(), h, Options{}, &r, check.Events)
				if len(found) != len(r.Anomalies) {
					t.Errorf("seed %d: %d parts for %v", seed, len(found), r.Anomalies)
				}
				for _, s := range found {
					wantSmallest(t, s)
					sizes[s.Anomaly] = append(sizes[s.Anomaly], len(s.Excerpt.Operations))
				}
			}
		}
	}
	var all []int
	for anomaly, of := range sizes {
		slices.Sort(of)
		t.Logf("%-28s %d found, median %d, largest %d", anomaly, len(of), of[len(of)/2], of[len(of)-1])
		all = append(all, of...)
	}
	slices.Sort(all)
	if len(all) < 20 || all[len(all)/2] > 4 {
		t.Errorf("of %d parts the median has %v transactions", len(all), all)
	}
}

func wantSmallest(t *testing.T, s Smallest) {
	t.Helper()
	operations := s.Operations
	r := Check(t.Context(), reread(t, operations), StrictSerializable, Options{})
	if !slices.Contains(r.Anomalies, s.Anomaly) || !s.Excerpt.Minimal {
		t.Errorf("%s: the part is convicted of %v: %+v", s.Anomaly, r.Anomalies, s.Excerpt)
	}
	for i := range operations {
		fewer := slices.Delete(slices.Clone(operations), i, i+1)
		r := Check(t.Context(), Part(reread(t, operations), Options{}, StrictSerializable, allBut(operations, i)), StrictSerializable, Options{})
		if slices.Contains(r.Anomalies, s.Anomaly) {
			t.Errorf("%s: %d transactions are enough of %d", s.Anomaly, len(fewer), len(operations))
		}
	}
	if s.Excerpt.Why == "" || strings.Contains(s.Excerpt.Why, "transaction -") {
		t.Errorf("%s: %q", s.Anomaly, s.Excerpt.Why)
	}
}

func allBut(operations []exchange.Operation, without int) []int32 {
	var out []int32
	n := int32(0)
	for i := range operations {
		for range operations[i].Txn {
			if i != without {
				out = append(out, n)
			}
			n++
		}
	}
	return out
}

func TestPartsOfHonestHistoriesAreHonest(t *testing.T) {
	judged := 0
	for seed := range uint64(60) {
		level, model := simulateStrict, StrictSerializable
		if seed%3 == 1 {
			level, model = simulateSnapshot, SnapshotIsolation
		} else if seed%6 == 2 { // of registers: lists lose elements there
			level, model = simulatePrefix, Prefix
		}
		h, err := simulatedHistory(simulation{Level: level, Seed: seed, Txns: 40, Clients: 4, Keys: 4, Registers: seed%2 == 0, Crash: 0.1})
		expect.NoError(t, err)
		if r := Check(t.Context(), h, model, Options{}); r.Verdict != check.Valid {
			t.Fatalf("seed %d: %v %v", seed, r.Verdict, r.Anomalies)
		}
		random := rand.New(rand.NewPCG(seed, 1))
		for range 40 {
			keep := 0.1 + 0.9*random.Float64()
			var part []int32
			for i := range int32(h.Operations()) {
				if random.Float64() < keep {
					part = append(part, i)
				}
			}
			judged++
			if r := Check(t.Context(), Part(h, Options{}, model, part), model, Options{}); r.Verdict == check.Violated {
				t.Fatalf("seed %d: a part of an honest history is not %s: %v\n%v", seed, model, r.Anomalies, fmt.Sprint(r.Evidence))
			}
		}
	}
	if judged != 2400 {
		t.Errorf("%d parts", judged)
	}
}

func TestAttach(t *testing.T) {
	r := Report{Evidence: []Evidence{{Anomaly: "G0"}, {Anomaly: "G1a"}, {Anomaly: "G2-item"}}}
	r.Attach([]Smallest{{Anomaly: "G2-item", Excerpt: check.Excerpt{Of: 2, Clock: check.Events}}, {Anomaly: "G0", Excerpt: check.Excerpt{Of: 1, Clock: check.Events}}})
	for i, want := range []int64{1, 0, 2} {
		switch got := r.Evidence[i].Smallest; {
		case (got != nil) != (want > 0):
			t.Errorf("%s: a part is there: %v", r.Evidence[i].Anomaly, got != nil)
		case got != nil && (got.Of != want || got.Clock != check.Events):
			t.Errorf("%s: %+v", r.Evidence[i].Anomaly, got)
		}
	}
}
