package runner

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"text/tabwriter"

	"assay/check"
	"assay/driver/bugs"
	"assay/internal/expect"
	"assay/load"
	"assay/report"
	"assay/runner/catalog"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/script"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
	"assay/workload/tpcc"
	"assay/workload/ycsb"
)

// The number of seeds for the checkers; `make trust` takes more.
var (
	trustSeeds  = flag.Int("trust.seeds", 1, "seeds for each bug")
	trustHonest = flag.Int("trust.honest", 3, "seeds without a bug")
)

// trustChance is a bug's chance at an operation.
const (
	trustChance = "0.02"
	// Most anomalies need two or three transactions to meet in time, and batches give fewer chances.
	trustChanceElsewhere = "0.1"
)

// trustAudits is audits a second: the most, so that a run of milliseconds has some.
const trustAudits = 1000

// trustSteps are numbers of operations, tried in turn until the bug is found.
func trustSteps() []uint64 {
	return []uint64{100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 400_000}
}

// trial is one bug in one workload, or in one test of workload isolation.
type trial struct {
	workload, test string
	bug            bugs.Bug
	// found is the number of operations for each seed that found it.
	found []uint64
	seeds int
	// struck counts the runs in which the bug struck, convicted those of them in which a check named
	// for it was violated.
	struck, convicted int
	// others are further checks that found it.
	others map[string]bool
	// smallest are the sizes of the smallest histories.
	smallest []int
}

// TestTrust runs every bug over many seeds. The check named for it must find it each time, and what
// is no violation must be valid. A bug whose traces stay must be convicted in exactly the runs in
// which it struck, and each bug must strike. TestTrust prints how soon.
func TestTrust(t *testing.T) {
	var trials []*trial
	for _, name := range []string{bank.Name, isolation.Name, availability.Name, entity.Name, bulkupdate.Name, candles.Name, churn.Name, ycsb.Name, smallbank.Name, tpcb.Name, tpcc.Name, script.Name} {
		for _, bug := range bugsOf(name) {
			if name != isolation.Name {
				trials = append(trials, &trial{workload: name, bug: bug})
			}
			for _, test := range bug.Tests {
				trials = append(trials, &trial{workload: name, test: test, bug: bug})
			}
		}
	}
	t.Run("each", func(t *testing.T) {
		for _, x := range trials {
			t.Run(strings.TrimSuffix(x.workload+"/"+x.bug.Name+"/"+x.test, "/"), x.run)
		}
	})
	printTrust(trials)
	printSmallest(t, trials)
}

// printSmallest prints the smallest histories' numbers of transactions; half must have at most
// four.
func printSmallest(t *testing.T, trials []*trial) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "bug\ttest\tsmallest histories\ttransactions: median\tworst")
	var all []int
	for _, x := range trials {
		if n := len(x.smallest); n > 0 {
			slices.Sort(x.smallest)
			all = append(all, x.smallest...)
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\n", x.bug.Name, x.test, n, x.smallest[n/2], x.smallest[n-1])
		}
	}
	_ = w.Flush() // to standard output, which a test has no way to mend
	slices.Sort(all)
	if n := len(all); n > 0 && all[n/2] > 4 {
		t.Errorf("half of the smallest histories have %d transactions or more; want at most 4", all[n/2])
	}
}

func (x *trial) run(t *testing.T) {
	t.Parallel()
	for seed := range *trustSeeds {
		x.try(t, uint64(seed)+1)
	}
	if len(x.found) < x.seeds {
		t.Errorf("found with %d of %d seeds", len(x.found), x.seeds)
	}
	if x.struck == 0 {
		t.Error("it never struck")
	}
}

func (x *trial) try(t *testing.T, seed uint64) {
	x.seeds++
	steps := trustSteps()
	if x.bug.Check == "" { // late, but no violation: valid at any length
		r := trustRun(t, trustScenario(t, x, seed, 1000))
		if r.Data.Rows[bugs.StrikesOf(x.bug.Name)] > 0 {
			x.struck++
		}
		if r.Verdict == check.Valid {
			x.found = append(x.found, 0)
		}
		return
	}
	for _, ops := range steps {
		r := trustRun(t, trustScenario(t, x, seed, ops))
		if r.Verdict == check.Allowed || r.Verdict == check.Violated && len(r.Seeded) == 0 { // memory promises all there is
			t.Errorf("seed %d, %d operations: %v, seeded %v: what was seeded is a broken promise, and told as seeded", seed, ops, r.Verdict, r.Seeded)
		}
		x.count(t, r, seed, ops)
		if namedBy(r, x.bug) {
			x.found = append(x.found, ops)
			x.note(r)
			return
		}
	}
}

func (x *trial) count(t *testing.T, r *report.Result, seed, ops uint64) {
	t.Helper()
	convicted := convictedBy(r, x.bug)
	found := len(convicted) > 0
	for _, c := range convicted {
		if len(c.Evidence) == 0 || c.Found == 0 || c.Evidence[0].Text == "" {
			t.Errorf("seed %d, %d operations: %s convicts without evidence", seed, ops, c.Name)
		}
	}
	strikes := r.Data.Rows[bugs.StrikesOf(x.bug.Name)]
	switch {
	case strikes > 0 && found:
		x.struck++
		x.convicted++
	case strikes > 0:
		x.struck++
		if !x.bug.MayPass(x.test) {
			t.Errorf("seed %d, %d operations: struck %d times and not found: %s", seed, ops, strikes, told(r))
		}
	case found:
		t.Errorf("seed %d, %d operations: found and never struck: %s", seed, ops, told(r))
	}
}

func told(r *report.Result) string {
	var text strings.Builder
	for _, c := range r.Checks {
		fmt.Fprintf(&text, "\n\t%s %v: %s", c.Name, c.Verdict, c.Detail)
	}
	return text.String()
}

func (x *trial) note(r *report.Result) {
	for _, c := range convictedBy(r, x.bug) {
		for _, e := range c.Evidence {
			if e.Smallest != nil {
				x.smallest = append(x.smallest, len(e.Smallest.Operations))
			}
		}
	}
	for _, c := range r.Checks {
		if c.Verdict == check.Violated && c.Name != x.bug.Check && c.Name != x.bug.Or {
			if x.others == nil {
				x.others = map[string]bool{}
			}
			x.others[c.Name] = true
		}
	}
}

func (x *trial) chance() string {
	switch {
	// Once in a run; only if two readers of the same two writers are struck; only if a check came just
	// before.
	case slices.Contains([]string{"truncated-read", "long-fork", "write-skew"}, x.bug.Name),
		x.workload == tpcc.Name && x.bug.Check == tpcc.CheckIsolation: // once in a run, too
		return "1"
	case x.bug.Name == "half-delivery": // of which there are few
		return "0.5"
	case x.workload == bank.Name:
		return trustChance
	default:
		return trustChanceElsewhere
	}
}

const allKinds = "read=0.3,update=0.3,insert=0.1,scan=0.1,rmw=0.2"

func trustScenario(t *testing.T, x *trial, seed, ops uint64) Scenario {
	s := dry(fmt.Sprintf("mem://?latency=50us&bug=%s:%s", x.bug.Name, x.chance()), seed)
	s.Load.Ops, s.Load.Clients = ops, 8
	if x.workload == bank.Name {
		s.Config.(*bank.Config).Audits = trustAudits
		return s
	}
	become(&s, workloadOf(x.workload))
	ofFewRows(t, &s, fmt.Sprintf("&bug=%s:%s", x.bug.Name, x.chance()))
	switch c := s.Config.(type) {
	case *isolation.Config:
		c.Keys, c.Test, c.Model = 3, x.test, x.bug.Model
	case *entity.Config:
		c.Entities = 0 // a load stops at the first insert that is not acknowledged
	case *bulkupdate.Config:
		s.Load.Ops, c.Users, c.Documents, c.Workers = 0, int64(ops)/2, 6, "1,4"
	case *candles.Config:
		s.Load.Ops, c.Candles, c.Tickers, c.Batch, c.Queries, c.Repeats = 0, 5*int64(ops), 5, 20, 20, 3
	case *smallbank.Config:
		c.Model = x.bug.Model
	case *churn.Config:
		s.Load.Ops, c.Rows, c.Batch = 0, 4*int64(ops), 10
	case *tpcc.Config:
		if x.bug.Check == "" { // it is slower than others
			s.Load.Ops = 300
		}
	}
	s.Plan()
	return s
}

// ofFewRows replaces a workload's many rows by few. What mem lacks runs on SQLite with more in its
// address: SQL, and waiting transactions of tpcc.
func ofFewRows(t *testing.T, s *Scenario, more string) {
	t.Helper()
	switch c := s.Config.(type) {
	case *ycsb.Config:
		c.Mix, c.Records = allKinds, 30
	case *smallbank.Config:
		c.Customers, c.Hotspot = 50, 10
	case *tpcb.Config:
		c.Accounts = 100
	case *tpcc.Config:
		s.Database = onSQLite(t, more)
		c.Items, c.Customers, c.Warehouses = 100, 10, 2
	case *script.Config: // the bank of the examples
		s.Database = onSQLite(t, more)
		of, _ := definition.Lookup(s.Config, "script")
		expect.NoError(t, of.Value.(interface{ Set(string) error }).Set(filepath.Join("..", "examples", "bank.star")))
	}
}

func onSQLite(t *testing.T, more string) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "trust.db") + "?synchronous=off" + more
}

func trustRun(t *testing.T, s Scenario) *report.Result {
	t.Helper()
	out := carryOut(t, s)
	expect.NoError(t, os.RemoveAll(out.Folder))
	if path, is := strings.CutPrefix(s.Database, "sqlite:"); is { // thousands of them would fill a disk
		path, _, _ = strings.Cut(path, "?")
		expect.NoError(t, os.RemoveAll(filepath.Dir(path)))
	}
	return out.Result
}

// convictedBy returns the violated checks that are named for the bug.
func convictedBy(r *report.Result, bug bugs.Bug) []check.Result {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c check.Result) bool {
		return c.Verdict != check.Violated || c.Name != bug.Check && c.Name != bug.Or
	})
}

// namedBy reports whether a check found the bug by one of its names.
func namedBy(r *report.Result, bug bugs.Bug) bool {
	named := func(e check.Evidence) bool { return slices.Contains(bug.Kinds, e.Kind) }
	return slices.ContainsFunc(convictedBy(r, bug), func(c check.Result) bool {
		return len(bug.Kinds) == 0 || slices.ContainsFunc(c.Evidence, named)
	})
}

// printTrust leaves out what -run left out.
func printTrust(trials []*trial) {
	trials = slices.DeleteFunc(slices.Clone(trials), func(x *trial) bool { return x.seeds == 0 })
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "workload\ttest\tbug\tchance\tfound by\tand by\tnamed\tseeds\tfound\truns struck\tconvicted\toperations: median\tworst")
	for _, x := range trials {
		slices.Sort(x.found)
		by, named := x.bug.Check, strings.Join(x.bug.Kinds, ", ")
		if by == "" {
			by = "(must be valid)"
		}
		if x.bug.Or != "" {
			by += " or " + x.bug.Or
		}
		convicted := "-"
		if x.bug.Check != "" {
			convicted = fmt.Sprint(x.convicted)
		}
		median, most := "-", "-"
		if n := len(x.found); n > 0 && x.bug.Check != "" {
			median, most = fmt.Sprint(x.found[n/2]), fmt.Sprint(x.found[n-1])
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\n", x.workload, x.test, x.bug.Name, x.chance(), by,
			strings.Join(slices.Sorted(maps.Keys(x.others)), ", "), named, x.seeds, len(x.found), x.struck, convicted, median, most)
	}
	_ = w.Flush() // to standard output, which a test has no way to mend
}

// TestTrustTheHonest runs the reference database without a bug, with uncertain timeouts, every
// retry policy, audits, and both members read at the end. Nothing may be found, and no check left
// out.
func TestTrustTheHonest(t *testing.T) {
	var runs atomic.Int64
	t.Run("each", func(t *testing.T) {
		for _, workload := range []string{bank.Name, isolation.Name, ycsb.Name, smallbank.Name, tpcb.Name, tpcc.Name, script.Name} {
			t.Run(workload, func(t *testing.T) {
				t.Parallel()
				for seed := range *trustHonest {
					tryHonest(t, workload, seed)
					runs.Add(1)
				}
			})
		}
	})
	fmt.Printf("without a bug: %d runs, with timeouts and retries, nothing found unless said above\n", runs.Load())
}

func tryHonest(t *testing.T, workload string, seed int) {
	s, want := honestScenario(t, workload, seed)
	r := trustRun(t, s)
	if r.Verdict != check.Valid {
		t.Errorf("seed %d, retry %s: %s", seed+1, s.Load.Retry, told(r))
	}
	for _, name := range want {
		if !slices.ContainsFunc(r.Checks, func(c check.Result) bool { return c.Name == name && c.Verdict == check.Valid }) {
			t.Errorf("seed %d, retry %s: no valid check of %s", seed+1, s.Load.Retry, name)
		}
	}
}

// honestScenario also returns the checks that the run must have.
func honestScenario(t *testing.T, workload string, seed int) (s Scenario, want []string) {
	retries := []load.RetryMode{load.RetryNone, load.RetryFailed, load.RetryIdempotent}
	s = dry("mem://?latency=50us&timeout=0.02", uint64(seed)+1)
	s.Load.Ops = 500
	s.Load.Retry, s.Config.(*bank.Config).Audits = retries[seed%3], trustAudits
	if workload != bank.Name {
		become(&s, workloadOf(workload))
	}
	ofFewRows(t, &s, "")
	if c, is := s.Config.(*isolation.Config); is {
		s.Load.Retry, c.Test = retries[seed%2], "all"
	}
	return s, map[string][]string{
		bank.Name:      {"total", "accounts", "transfers", "order", "snapshots", "replicas"},
		smallbank.Name: {"operations", "accounts", "isolation"}, tpcb.Name: {"operations", "total", "balances", "order"},
		tpcc.Name:      {tpcc.CheckConsistency, tpcc.CheckOrders, tpcc.CheckPayments, tpcc.CheckDeliveries, tpcc.CheckStock, tpcc.CheckAnswers, tpcc.CheckIsolation},
		script.Name:    {script.CheckInvariants, script.CheckCounted, script.CheckExpected},
		isolation.Name: {"isolation", "durability", "predicate"}, ycsb.Name: {ycsb.CheckRecords, ycsb.CheckReads, ycsb.CheckScans, ycsb.CheckLinearizable},
	}[workload]
}

func bugsOf(name string) []bugs.Bug { return workloadOf(name).Bugs }

func workloadOf(name string) definition.Workload {
	w, err := catalog.WorkloadOf(name)
	if err != nil {
		panic(err) // it is one of the catalog's own
	}
	return w
}
