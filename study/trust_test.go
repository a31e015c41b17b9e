package study

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"assay/catalog"
	"assay/check"
	"assay/driver/mem"
	"assay/load"
	"assay/report"
)

// How many seeds the trial of the checkers takes; `make trust` takes more.
var (
	trustSeeds  = flag.Int("trust.seeds", 1, "seeds for each bug")
	trustHonest = flag.Int("trust.honest", 3, "seeds without a bug")
)

// trustChance is how often a bug strikes, where it strikes at operations.
const (
	trustChance = "0.02"
	// Most anomalies need two or three transactions to meet in time as well.
	trustChanceIsolation = "0.1"
)

// trustSteps are how many operations are tried one after the other until the
// bug is found.
func trustSteps() []uint64 {
	return []uint64{100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 400_000}
}

// trial is one bug in one workload.
type trial struct {
	workload string
	bug      mem.Bug
	// found is, for each seed that found it, after how many operations.
	found []uint64
	seeds int
	// others are the further checks that found it, too.
	others map[string]bool
}

// TestTrust runs every bug of the reference database over many seeds: the
// check that is named for it must find it each time, and what is no violation
// must be valid each time. It prints how soon.
func TestTrust(t *testing.T) {
	var trials []*trial
	for _, bug := range mem.Bugs() {
		trials = append(trials, &trial{workload: catalog.Bank, bug: bug})
	}
	for _, bug := range mem.IsolationBugs() {
		trials = append(trials, &trial{workload: catalog.Isolation, bug: bug})
	}
	for _, x := range trials {
		for seed := range *trustSeeds {
			x.try(t, uint64(seed)+1)
		}
		if len(x.found) < x.seeds {
			t.Errorf("%s, %s: %d of %d seeds", x.workload, x.bug.Name, len(x.found), x.seeds)
		}
	}
	printTrust(trials)
}

func (x *trial) try(t *testing.T, seed uint64) {
	x.seeds++
	steps := trustSteps()
	if x.bug.Check == "" { // late, but no violation: valid at any length
		out := trustRun(t, trustScenario(x, seed, 2000))
		if out.Verdict == check.Valid {
			x.found = append(x.found, 0)
		}
		return
	}
	for _, ops := range steps {
		r := trustRun(t, trustScenario(x, seed, ops))
		if convicts(r, x.bug) {
			x.found = append(x.found, ops)
			x.note(r)
			return
		}
	}
}

func (x *trial) note(r *report.Result) {
	for _, c := range r.Checks {
		if c.Verdict == check.Violated && c.Name != x.bug.Check {
			if x.others == nil {
				x.others = map[string]bool{}
			}
			x.others[c.Name] = true
		}
	}
}

// chance is how likely the bug strikes where it could.
func (x *trial) chance() string {
	switch {
	// Once in a run; only where money is short; only where two readers are
	// struck who look at the same two writers.
	case slices.Contains([]string{"truncated-read", "negative-balance", "long-fork"}, x.bug.Name):
		return "1"
	case x.workload == catalog.Isolation:
		return trustChanceIsolation
	default:
		return trustChance
	}
}

func trustScenario(x *trial, seed, ops uint64) Scenario {
	s := dry(fmt.Sprintf("mem://?latency=50us&bug=%s:%s", x.bug.Name, x.chance()), seed)
	s.Workload, s.Load.Ops = x.workload, ops
	s.Load.Clients, s.Transactions.Keys = 8, 3
	switch {
	case x.bug.Check == "predicate":
		s.Transactions.Test = "predicate"
	case x.bug.Name == "lost-update": // needs a read before a write of the same key
		s.Transactions.Test = "register"
	}
	return s
}

func trustRun(t *testing.T, s Scenario) *report.Result {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "run")
	out, err := Run(t.Context(), s, Options{Version: "test", Out: folder, Progress: &diary{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	return out.Result
}

// convicts reports whether the check that is named for the bug found it, by
// one of the names that it goes by.
func convicts(r *report.Result, bug mem.Bug) bool {
	for _, c := range r.Checks {
		if c.Verdict != check.Violated || c.Name != bug.Check && bug.Name != "truncated-read" {
			continue
		}
		if len(bug.Kinds) == 0 || slices.ContainsFunc(c.Evidence, func(e check.Evidence) bool { return slices.Contains(bug.Kinds, e.Kind) }) {
			return true
		}
	}
	return false
}

func printTrust(trials []*trial) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "workload\tbug\tchance\tfound by\tand by\tnamed\tseeds\tfound\toperations: median\tmost")
	for _, x := range trials {
		slices.Sort(x.found)
		by, named := x.bug.Check, strings.Join(x.bug.Kinds, ", ")
		if by == "" {
			by = "(must be valid)"
		}
		median, most := "-", "-"
		if n := len(x.found); n > 0 && x.bug.Check != "" {
			median, most = fmt.Sprint(x.found[n/2]), fmt.Sprint(x.found[n-1])
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", x.workload, x.bug.Name, x.chance(), by,
			strings.Join(slices.Sorted(maps.Keys(x.others)), ", "), named, x.seeds, len(x.found), median, most)
	}
	_ = w.Flush() // to standard output, which a test has no way to mend
}

// TestTrustTheHonest runs the reference database without a bug, with timeouts
// whose operations may or may not take effect, under every retry policy:
// nothing may be found.
func TestTrustTheHonest(t *testing.T) {
	runs := 0
	for seed := range *trustHonest {
		retries := []load.RetryMode{load.RetryNone, load.RetryFailed, load.RetryIdempotent}
		for _, workload := range []string{catalog.Bank, catalog.Isolation} {
			s := dry("mem://?latency=50us&timeout=0.02", uint64(seed)+1)
			s.Workload, s.Load.Ops = workload, 500
			s.Load.Retry = retries[seed%3]
			if workload == catalog.Isolation {
				s.Load.Retry, s.Transactions.Test = retries[seed%2], "all"
			}
			if r := trustRun(t, s); r.Verdict != check.Valid {
				t.Errorf("seed %d, %s, retry %s: %+v", seed+1, workload, s.Load.Retry, r.Checks)
			}
			runs++
		}
	}
	fmt.Printf("without a bug: %d runs, with timeouts and retries, nothing found unless said above\n", runs)
}
