package hunt

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/cluster"
	"assay/fault"
	"assay/internal/expect"
	"assay/internal/yamlfile"
	"assay/store"
)

func spec(t testing.TB, text string) cluster.Spec {
	t.Helper()
	s, err := cluster.ParseSpec(text)
	expect.NoError(t, err)
	return s
}

// planned is a plan's file that can be used.
const planned = `workload: bank
seed: 7
clients: 4
duration: 10s
isolation: serializable
flags: {accounts: "100"}
faults:
  - kill primary at 2s for 1s
  - 'pause n2 when new primary after 20ms for 50ms'
`

func TestPlansFile(t *testing.T) {
	on := spec(t, "postgres:2")
	p, err := Parse("p.yaml", []byte(planned), on)
	expect.NoError(t, err)
	again, err := Parse("p.yaml", p.Text(), on)
	if err != nil || string(again.Text()) != string(p.Text()) {
		t.Errorf("%s\nis read as\n%s, %v", p.Text(), again.Text(), err)
	}
	s, err := p.Scenario(on)
	expect.NoError(t, err)
	if s.Load.Clients != 4 || s.Load.Seed != 7 || s.Load.Duration != 10*time.Second || s.Load.Warmup != 0 || s.Isolation != "serializable" || s.Cluster != "postgres:2" || len(s.Faults) != 2 {
		t.Errorf("%+v", s)
	}
}

func TestMistakesInAPlan(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"a key that there is not", "seed: 7", "sead: 7", `p.yaml:2:1: there is no key "sead"; did you mean seed?`},
		{"no number", "clients: 4", "clients: many", "p.yaml:3:10: a whole number is wanted here"},
		{"a time without a unit", "duration: 10s", "duration: 10", "p.yaml:4:11: a time such as 10s is wanted here"},
		{"another workload", "workload: bank", "workload: banc", "p.yaml:1:11: workload: "},
		{"no fault", "- kill primary at 2s", "- kil primary at 2s", `p.yaml:8:5: faults[0]: fault "kil primary at 2s for 1s"`},
		{"in the middle of a fault", "at 2s for 1s", "at 2 for 1s", `p.yaml:8:21: faults[0]: `},
		{"within quotes", "for 50ms", "for 50", `p.yaml:9:47: faults[1]: `},
		{"a node that there is not", "pause n2", "pause n5", "p.yaml:9:5: faults[1]: "},
		{"a fault that never happens", "at 2s", "at 20s", "p.yaml:8:5: faults[0]: "},
		{"a disk that there is not", "kill primary at 2s for 1s", "slow-fsync any at 2s", "p.yaml:8:5: faults[0]: it takes --cluster postgres:2,disk=faulty"},
		{"no clients", "clients: 4", "clients: 0", "p.yaml:3:10: clients: "},
		{"no length", "duration: 10s", "duration: -1s", "p.yaml:4:11: "},
		{"a flag that there is not", `accounts: "100"`, `acounts: "100"`, "p.yaml:6:18: flags.acounts: the workload has no such flag"},
		{"a flag without a number", `"100"`, `"1x"`, "p.yaml:6:19: flags.accounts: "},
		{"a flag that is too small", `"100"`, `"1"`, "p.yaml:6:19: flags.accounts: "},
		{"no YAML", "faults:", "faults: [", "p.yaml:"},
	} {
		_, err := Parse("p.yaml", []byte(strings.Replace(planned, c.old, c.new, 1)), spec(t, "postgres:2"))
		if err == nil || !errors.As(err, new(*yamlfile.Error)) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %s", c.name, err, c.want)
		}
	}
}

func TestServes(t *testing.T) {
	if err := Serves(spec(t, "sqlite:1"), "bank"); err == nil || !strings.Contains(err.Error(), "a transfer could be half done") {
		t.Errorf("bank on sqlite:1: %v", err)
	}
	if Serves(spec(t, "etcd:1"), "bank") != nil || Serves(spec(t, "etcd:1"), "banc") == nil {
		t.Error("etcd serves banc, and not bank")
	}
}

// TestChoices: given values override the driver's, which are for several nodes.
func TestChoices(t *testing.T) {
	for _, c := range []struct {
		cluster string
		given   []string
		want    string
	}{
		{"mariadb:3", nil, "[[ balance=random] [statements=together statements=apart]]"},
		{"mariadb:3", []string{"balance=order | balance=random"}, "[[balance=order balance=random] [statements=together statements=apart]]"},
		{"mariadb:1", nil, "[]"},
		{"redis:1", []string{"wait=0"}, "[[wait=0]]"},
		{"mongodb:3", []string{"w=1 |"}, "[[w=1 ]]"},
	} {
		all, err := Choices(spec(t, c.cluster), c.given)
		expect.NoError(t, err)
		if got := fmt.Sprint(all); got != c.want {
			t.Errorf("%s with %q: %s, want %s", c.cluster, c.given, got, c.want)
		}
	}
}

// TestFailoverPlans keep the primary away for most of the run, in several ways.
func TestFailoverPlans(t *testing.T) {
	for _, text := range []string{"repmgr:3", "patroni:3", "redis:3", "mongodb:2+arbiter", "postgres:2"} {
		s, ways, wait := space(t, text), map[string]bool{}, FailoverWait{Unknown: 40 * time.Second}
		for n := range uint64(25) {
			p := s.Failover(rand.New(rand.NewPCG(3, n)), &wait)
			if _, err := Parse("drawn.yaml", p.Text(), s.Specs[0]); err != nil || p.Duration != 40*time.Second {
				t.Fatalf("%s: %v in\n%s", text, err, p.Text())
			}
			f, err := fault.Parse(p.Faults[0])
			expect.NoError(t, err)
			if !f.AimsAtPrimary() || f.At > 5*time.Second || f.For != 30*time.Second {
				t.Errorf("%s: %s", text, f)
			}
			ways[f.Action] = true
		}
		if len(ways) < 4 {
			t.Errorf("%s: %v", text, ways)
		}
	}
	if p := space(t, "etcd:1").Failover(rand.New(rand.NewPCG(3, 3)), &FailoverWait{}); p.Workload == "" {
		t.Error("no plan for a single node")
	}
}

// TestLongPlans: a slow failover needs them. If they are drawn apart, no other plan is long.
func TestLongPlans(t *testing.T) {
	for _, apart := range []bool{false, true} {
		s, longest := space(t, "patroni:3"), time.Duration(0)
		s.Longest, s.Apart = time.Hour, apart
		for n := range uint64(200) {
			longest = max(longest, s.length(rand.New(rand.NewPCG(3, n))))
		}
		if want := map[bool]time.Duration{false: mostWait, true: leastWait}[apart]; longest != want {
			t.Errorf("apart %v: the longest is %v, want %v", apart, longest, want)
		}
	}
}

// TestFaultsOfDisks: with failing disks there are power cuts while a disk is slow.
func TestFaultsOfDisks(t *testing.T) {
	s, both := space(t, "etcd:1,disk=faulty"), 0
	for n := range uint64(150) {
		faults := strings.Join(s.Draw(rand.New(rand.NewPCG(3, n))).Faults, "\n")
		both += at(strings.Contains(faults, "power-cut") && (strings.Contains(faults, "slow-fsync") || strings.Contains(faults, "io-delay")))
	}
	if both < 3 {
		t.Errorf("%d plans of 150", both)
	}
}

// TestTargetsByScope: all nodes, the primary, and one node by any name are about equally likely.
func TestTargetsByScope(t *testing.T) {
	s, r, seen := space(t, "mariadb:7"), rand.New(rand.NewPCG(1, 1)), map[string]int{}
	for range 1000 {
		seen[target(r, s.Faults, "kill").Scope()]++
	}
	for scope, n := range seen {
		if share := 1000 / len(seen); n < share/2 || n > share*2 {
			t.Errorf("%s is drawn %d times: %v", scope, n, seen)
		}
	}
	if seen["all"] == 0 || seen["primary"] == 0 || seen["2"] == 0 || len(seen) != 4 {
		t.Errorf("%v", seen)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(planned))
	f.Add([]byte("workload: isolation\nfaults: [kill n1 every 1s]\noptions: [a=b]\nrate: 5\n"))
	f.Add([]byte("faults:\n- \"\"\n"))
	on := spec(f, "postgres:2")
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("p", text, on)
		if err != nil {
			if wrong, is := errors.AsType[*yamlfile.Error](err); !is || wrong.Line < 1 || wrong.Column < 1 {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := Parse("p", p.Text(), on)
		if err != nil || string(again.Text()) != string(p.Text()) {
			t.Fatalf("%q is written %q and read %q, %v", text, p.Text(), again.Text(), err)
		}
	})
}

// space is what plans for a cluster are drawn from without asking its servers.
func space(t testing.TB, text string) *Space {
	on := spec(t, text)
	s := &Space{Specs: []cluster.Spec{on}, Faults: fault.Possible(on), Longest: time.Minute, Led: on.Nodes > 1, Options: [][]string{{"", "application_name=x"}},
		Levels: []store.Level{{Name: "read committed", Isolation: "read committed"}, {Name: "serializable", Isolation: "serializable"}}}
	for _, w := range []string{"bank", "isolation", "availability"} {
		if Serves(on, w) == nil {
			s.Workloads = append(s.Workloads, w)
		}
	}
	return s
}

// TestDrawnPlans can be run, depend on the seed alone, and are small as well as large.
func TestDrawnPlans(t *testing.T) {
	for _, text := range []string{"postgres:1", "patroni:3", "mongodb:2+arbiter", "redis:3", "etcd:1,disk=faulty", "mariadb:3", "cassandra:3"} {
		s := space(t, text)
		var short, long, events, workloads = 0, 0, 0, map[string]bool{}
		before := s.Draw(rand.New(rand.NewPCG(1, 1)))
		for n := range uint64(25) {
			p := s.Draw(rand.New(rand.NewPCG(1, n)))
			if again := s.Draw(rand.New(rand.NewPCG(1, n))); n == 7 && string(again.Text()) != string(p.Text()) {
				t.Fatalf("%s: %d is drawn as %s and %s", text, n, p.Text(), again.Text())
			}
			r := rand.New(rand.NewPCG(2, n))
			for range 2 {
				if _, err := Parse("drawn.yaml", p.Text(), s.Specs[0]); err != nil {
					t.Fatalf("%s: %v in\n%s", text, err, p.Text())
				}
				before, p = p, s.Vary(r, p, before)
			}
			workloads[p.Workload] = true
			for _, line := range p.Faults {
				f, err := fault.Parse(line)
				expect.NoError(t, err)
				if short, long = short+at(f.For > 0 && f.For < 100*time.Millisecond), long+at(f.For > time.Second); f.When != "" {
					events++
				}
			}
		}
		if short == 0 || long == 0 || events == 0 || len(workloads) != len(s.Workloads) {
			t.Errorf("%s: %d short, %d long, %d with events, %v", text, short, long, events, workloads)
		}
	}
}

func at(is bool) int {
	if is {
		return 1
	}
	return 0
}

func TestGoals(t *testing.T) {
	goals, err := ParseGoals("violation,outage=60s,two-primaries")
	expect.NoError(t, err)
	if len(goals) != 3 || goals[1].String() != "outage=1m0s" {
		t.Errorf("%v", goals)
	}
	for _, wrong := range []string{"", "violations", "outage", "outage=", "outage=-1s", "loss=3", "violation,"} {
		if goals, err := ParseGoals(wrong); err == nil {
			t.Errorf("%q is read as %v", wrong, goals)
		}
	}
}

func TestPatternsOfLines(t *testing.T) {
	const first = "2026-11-29 12:00:01.123 UTC [4711] LOG:  checkpoint starting: time"
	same := pattern(first)
	for line, is := range map[string]bool{
		"2027-01-02 01:02:03.004 UTC [12] LOG:  checkpoint starting: time":  true,
		"2027-01-02 01:02:03.004 UTC [12] LOG:  checkpoint complete: wrote": false,
	} {
		if (pattern(line) == same) != is {
			t.Errorf("%q: the same: %v", line, !is)
		}
	}
	if _, err := fault.Parse("kill any when any logs=" + same); err != nil || !regexp.MustCompile(same).MatchString(first) {
		t.Errorf("nobody can wait for %q: %v", same, err)
	}
	if pattern("4711") != "" {
		t.Error("a number is a pattern")
	}
	c := Coverage{}
	for n := range mostLines + 10 {
		c.Add(Seen{Lines: []string{string(rune('a'+n%26)) + strings.Repeat("x", n)}, States: []string{"s"}})
	}
	if len(c.Lines) != mostLines || c.States["s"] != mostLines+10 {
		t.Errorf("%d lines are kept", len(c.Lines))
	}
}

// TestStates of a cluster have own names, and no other is ever seen.
func TestStates(t *testing.T) {
	for text, want := range map[string]int{"etcd:1": 3, "postgres:2": 12, "patroni:3": 30} {
		all := space(t, text).States()
		if len(slices.Compact(slices.Sorted(slices.Values(all)))) != want || len(all) != want {
			t.Errorf("%s: %d: %q", text, len(all), all)
		}
	}
}

// TestDrawnValues: a flag with listed values gets each of them, also if others may be given.
func TestDrawnValues(t *testing.T) {
	s, mixes := space(t, "postgres:1"), map[string]bool{}
	s.Workloads = []string{"ycsb"}
	for n := range uint64(200) {
		if mix, drawn := s.Draw(rand.New(rand.NewPCG(5, n))).Flags["mix"]; drawn {
			mixes[mix] = true
		}
	}
	if len(mixes) != 6 {
		t.Errorf("mixes %v, want a to f", mixes)
	}
}
