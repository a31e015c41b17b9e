package mem

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/history"
	"assay/workload"
	"assay/workload/isolation"
)

func mustIsolation(t testing.TB, o Options) *Multiversion {
	t.Helper()
	d, err := NewIsolation(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestIsolation(t *testing.T) {
	d := mustIsolation(t, Options{})
	setForeign := func(foreign bool) {
		d.mu.Lock()
		d.foreign = foreign
		d.mu.Unlock()
	}
	drivertest.RunIsolation(t, drivertest.Isolation{
		Open: func(*testing.T) isolation.Store { return d.Isolation() },
		MakeForeign: func(t *testing.T) {
			setForeign(true)
			t.Cleanup(func() { setForeign(false) })
		},
		ForeignIntact: func(t *testing.T) {
			if d.mark != nil || len(d.data.things) != 0 {
				t.Error("what is foreign was changed")
			}
		},
	})
	if len(d.active) != 0 || len(d.data.readers) != 0 {
		t.Errorf("%d transactions and %d readers are left", len(d.active), len(d.data.readers))
	}
}

// TestIsolationWithLatency has contexts end in the middle of a transaction.
func TestIsolationWithLatency(t *testing.T) {
	d := mustIsolation(t, Options{Latency: 400 * time.Microsecond})
	drivertest.RunIsolation(t, drivertest.Isolation{Open: func(*testing.T) isolation.Store { return d.Isolation() }})
}

func TestIsolationAddress(t *testing.T) {
	open := func(address, isolation string) error {
		_, err := OpenIsolation(t.Context(), workload.Target{Address: address, Isolation: isolation})
		return err
	}
	for _, address := range []string{"mem://", "mem://?bug=long-fork:0.5,lost-ack:1&timeout=0.1&latency=1ms"} {
		if err := open(address, "serializable"); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for address, option := range map[string]string{
		"mem://?bug=torn-transfer:1": "bug", "mem://?bug=lost-ack": "bug", "mem://?speed=1": "parameter", "mem://?timeout=2": "timeout",
	} {
		var refused *workload.OptionError
		if err := open(address, ""); !errors.As(err, &refused) || refused.Option != option {
			t.Errorf("%s: %v, want a refusal of %q", address, err, option)
		} else if option == "bug" && strings.Contains(address, "torn") && !strings.Contains(refused.Want, "long-fork") {
			t.Errorf("%s: %v does not list the bugs", address, err)
		}
	}
	if err := open("mem://", "chaos"); err == nil {
		t.Error("isolation chaos was accepted")
	}
	if _, err := OpenBank(t.Context(), workload.Target{Address: "mem://?bug=phantom:1"}); err == nil {
		t.Error("the bank has no phantoms")
	}
}

// judged is a run on a new database, with the defaults but for the test.
func judged(t *testing.T, o Options, test, model string, each int) isolation.Judgement {
	t.Helper()
	c := isolation.Defaults()
	c.Test, c.Model = test, model
	if c.Rewrite = test == "rewrite"; c.Rewrite {
		c.Test = "append"
	}
	run := drivertest.IsolationRun{Config: c, Seed: o.Seed, Clients: 8, Each: each, Attempts: 3}
	return run.Judge(t.Context(), t, mustIsolation(t, o).Isolation())
}

// kinds returns the kinds of evidence that violated checks have, as "check:
// kind".
func kinds(j isolation.Judgement) []string {
	var found []string
	for _, r := range j.Results {
		if r.Verdict.String() != "violated" {
			continue
		}
		for _, e := range r.Evidence {
			found = append(found, r.Name+": "+e.Kind)
		}
	}
	return found
}

// TestIsolationWithoutBugs finds nothing, over many seeds, with timeouts and
// repetitions, with late effects, and with lists written as a whole.
func TestIsolationWithoutBugs(t *testing.T) {
	for seed := range uint64(12) {
		for _, test := range []string{"append", "register", "predicate", "pairs", "all", "rewrite"} {
			o := Options{Seed: seed}
			if seed%2 == 1 {
				o.Timeout = 0.1
			}
			if seed%3 == 1 {
				o.Inject = []Injection{{"late-apply", 0.05}}
			}
			j := judged(t, o, test, "", 120)
			for _, r := range j.Results {
				if r.Verdict.String() != "valid" {
					t.Errorf("seed %d, %s: %s is %v: %s %+v", seed, test, r.Name, r.Verdict, r.Detail, r.Evidence)
				}
			}
			if (j.Tally.Unknown > 0) != (o.Timeout > 0 || o.Inject != nil) || j.Tally.Committed < 400 {
				t.Errorf("seed %d, %s: %+v", seed, test, j.Tally)
			}
		}
	}
}

// TestEveryIsolationBugIsConvicted: the named check finds the named kind, over
// several seeds and on each kind of data in which the bug can be and has
// enough occasions.
func TestEveryIsolationBugIsConvicted(t *testing.T) {
	everywhere := []string{"append", "register", "all"}
	cases := map[string]struct {
		chance float64
		on     []string
	}{
		"duplicate-apply": {0.05, []string{"append", "all"}}, "extra-row": {0.05, []string{"append", "all"}},
		"split-brain": {0.05, []string{"append", "all"}}, "truncated-read": {0.05, []string{"append", "all"}},
		"lost-ack": {0.05, []string{"append", "all"}}, "reported-never-applied": {0.05, []string{"append", "all"}},
		"phantom": {0.05, []string{"predicate", "all"}}, "failed-but-applied": {0.05, everywhere},
		"late-apply": {0.05, everywhere}, "aborted-read": {0.05, everywhere}, "session-rollback": {0.5, everywhere},
		"internal": {0.5, everywhere}, "lost-update": {0.5, everywhere}, "write-skew": {1, everywhere}, "read-skew": {1, everywhere},
		"stale-read": {1, []string{"append", "all"}}, "long-fork": {1, []string{"append"}}, "dirty-read": {1, []string{"append"}},
	}
	for _, bug := range IsolationBugs() {
		c, known := cases[bug.Name]
		if !known {
			t.Errorf("there is no case for %s", bug.Name)
		}
		for _, test := range c.on {
			for seed := range uint64(3) {
				found := kinds(judged(t, Options{Seed: seed, Inject: []Injection{{bug.Name, c.chance}}}, test, bug.Model, 600))
				if bug.Check == "" {
					if len(found) > 0 {
						t.Errorf("%s, %s, seed %d: found %q, and nothing is wrong", bug.Name, test, seed, found)
					}
					continue
				}
				ok := slices.ContainsFunc(bug.Kinds, func(kind string) bool { return slices.Contains(found, bug.Check+": "+kind) })
				if !ok {
					t.Errorf("%s, %s, seed %d: found %q, want %s with one of %q", bug.Name, test, seed, found, bug.Check, bug.Kinds)
				}
			}
		}
	}
}

// TestWriteSkewBreaksPairs: and is allowed where the model allows it.
func TestWriteSkewBreaksPairs(t *testing.T) {
	for seed := range uint64(4) {
		o := Options{Seed: seed, Inject: []Injection{{"write-skew", 0.1}}}
		if found := kinds(judged(t, o, "pairs", "", 500)); !slices.Contains(found, "pairs: write-skew") {
			t.Errorf("seed %d: found %q", seed, found)
		}
		if found := kinds(judged(t, o, "all", "snapshot-isolation", 500)); len(found) > 0 {
			t.Errorf("seed %d: found %q under snapshot isolation", seed, found)
		}
	}
}

// TestTimeMakesTheDifference: a stale read is none where the model does not
// speak of real time, and what a session has forgotten is one only where the
// model speaks of sessions.
func TestTimeMakesTheDifference(t *testing.T) {
	for bug, allowed := range map[string]map[string]bool{
		"stale-read":       {"serializable": true, "strong-session-serializable": true, "strict-serializable": false},
		"session-rollback": {"serializable": true, "strong-session-serializable": false, "strict-serializable": false},
	} {
		for model, valid := range allowed {
			for seed := range uint64(3) {
				for _, test := range []string{"append", "register"} {
					found := kinds(judged(t, Options{Seed: seed, Inject: []Injection{{bug, 0.5}}}, test, model, 500))
					if (len(found) == 0) != valid {
						t.Errorf("%s under %s, %s, seed %d: found %q", bug, model, test, seed, found)
					}
					if bug == "session-rollback" && model == "strong-session-serializable" && !slices.ContainsFunc(found, func(k string) bool { return strings.HasSuffix(k, "-process") }) {
						t.Errorf("seed %d: found %q", seed, found)
					}
				}
			}
		}
	}
}

// TestCutReadIsFound: what is missing of the lists that are read back.
func TestCutReadIsFound(t *testing.T) {
	for seed := range uint64(3) {
		found := kinds(judged(t, Options{Seed: seed, Inject: []Injection{{"truncated-read", 1}}}, "register", "", 200))
		if !slices.Contains(found, "durability: lost-write") {
			t.Errorf("seed %d: found %q", seed, found)
		}
		found = kinds(judged(t, Options{Seed: seed, Inject: []Injection{{"truncated-read", 1}}}, "append", "", 200))
		if !slices.Contains(found, "durability: lost-append") {
			t.Errorf("seed %d: found %q", seed, found)
		}
	}
}

// TestIsolationRepeatable: the same seed and the same calls give the same run,
// bugs and all; another seed gives another.
func TestIsolationRepeatable(t *testing.T) {
	o := Options{Timeout: 0.1}
	for _, bug := range IsolationBugs() {
		o.Inject = append(o.Inject, Injection{bug.Name, 0.05})
	}
	run := func(seed uint64) (history.Counts, string) {
		o.Seed = seed
		c := isolation.Defaults()
		c.Test = "all"
		j := drivertest.IsolationRun{Config: c, Seed: 1, Clients: 1, Each: 400, Attempts: 3}.Judge(t.Context(), t, mustIsolation(t, o).Isolation())
		return j.Tally, fmt.Sprint(kinds(j))
	}
	tally, found := run(5)
	again, foundAgain := run(5)
	if tally != again || found != foundAgain {
		t.Errorf("the same seed gave another run: %+v %s, then %+v %s", tally, found, again, foundAgain)
	}
	if other, otherFound := run(6); other == tally && otherFound == found {
		t.Error("another seed gave the same run")
	}
}

func TestTableOfBugs(t *testing.T) {
	names := map[string]bool{}
	for _, e := range table() {
		if names[e.name] || e.bank.Doc == "" && e.isolation.Doc == "" {
			t.Errorf("%s is twice, or in no workload", e.name)
		}
		names[e.name] = true
	}
	for _, bug := range IsolationBugs() {
		if bug.strike == nil || bug.Doc == "" || (bug.Check == "") != (bug.Name == "late-apply") || (bug.Check == "") != (len(bug.Kinds) == 0) {
			t.Errorf("%+v", bug.Name)
		}
	}
	if len(Bugs()) != 19 || len(IsolationBugs()) != 18 {
		t.Errorf("%d and %d bugs", len(Bugs()), len(IsolationBugs()))
	}
}

// TestVersionsAreForgotten: what is written again and again does not grow.
func TestVersionsAreForgotten(t *testing.T) {
	d := mustIsolation(t, Options{})
	s := d.Isolation()
	if err := s.Create(t.Context(), workload.Marker{}); err != nil {
		t.Fatal(err)
	}
	n, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ops := []isolation.Op{{Kind: isolation.Write, Key: 1}, {Kind: isolation.ReadValue, Key: 1}}
	for i := range int64(20_000) {
		ops[0].Value = i
		if r := n.Do(t.Context(), ops); !reflect.DeepEqual(r, isolation.Reply{Outcome: 1}) || ops[1].Value != i {
			t.Fatalf("%+v, read %+v", r, ops[1])
		}
	}
	if got := len(d.data.things[thing{spaceRegister, 1}]); got > 2*maxLog || len(d.data.log) > 2*maxLog {
		t.Errorf("%d versions, %d commits in the log", got, len(d.data.log))
	}
}

func BenchmarkIsolation(b *testing.B) {
	d := mustIsolation(b, Options{})
	s := d.Isolation()
	c := isolation.Defaults()
	transactions, err := isolation.NewTransactions(c, 1)
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Create(b.Context(), workload.Marker{}); err != nil {
		b.Fatal(err)
	}
	n, err := s.Session(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var ops []isolation.Op
	b.ReportAllocs()
	seq := uint64(0)
	for b.Loop() {
		if ops, err = transactions.At(0, seq, 1, int64(seq/16), ops); err != nil {
			b.Fatal(err)
		}
		seq++
		n.Do(b.Context(), ops)
	}
}
