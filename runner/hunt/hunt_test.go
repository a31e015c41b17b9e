package hunt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/fault"
	"assay/internal/expect"
	"assay/report"
	"assay/store"
)

// fakeGround breaks a promise if a plan kills a primary for two seconds or more, with two clients
// or more, in a run of five seconds or more.
type fakeGround struct {
	t      *testing.T
	space  *Space
	tried  []string
	after  func(n int) // is called after so many tries
	result func(p Plan) Trial
}

func (g *fakeGround) Space(context.Context) (*Space, error) { return g.space, nil }
func (g *fakeGround) Started() int                          { return 1 }
func (g *fakeGround) Alone(ctx context.Context, p Plan, folder string) Trial {
	return g.Try(ctx, p, folder)
}

func (g *fakeGround) Try(_ context.Context, p Plan, folder string) Trial {
	if _, err := os.Stat(folder); err == nil {
		g.t.Errorf("%s is there already", folder)
	}
	expect.NoError(g.t, os.MkdirAll(folder, 0o755))
	g.tried = append(g.tried, string(p.Text()))
	if g.after != nil {
		g.after(len(g.tried))
	}
	if g.result != nil {
		return g.result(p)
	}
	return Trial{Result: verdict(breaks(p)), Seen: Seen{States: []string{fmt.Sprint(len(p.Faults), " faults")}, Pairs: []Pair{{"kill", p.Duration.String()}}}}
}

func breaks(p Plan) bool {
	return p.Clients >= 2 && p.Duration >= 5*time.Second && slices.ContainsFunc(p.Faults, func(text string) bool {
		f, err := fault.Parse(text)
		return err == nil && f.Action == "kill" && f.Target == "primary" && f.For >= 2*time.Second
	})
}

func verdict(broken bool) *report.Result {
	r := &report.Result{Verdict: check.Valid, Checks: []check.Result{{Name: "transfers", Verdict: check.Valid}}}
	if broken {
		r.Verdict = check.Violated
		r.Checks[0] = check.Result{Name: "transfers", Verdict: check.Violated, Detail: "one is gone"}
	}
	return r
}

func newState(t *testing.T) *State {
	return &State{Format: 1, Cluster: "postgres:2", Workloads: []string{"bank"}, Seed: 11, Goals: []Goal{{Name: GoalViolation}}}
}

func (g *fakeGround) options(folder string) Options {
	return Options{Folder: folder, For: time.Hour, ShrinkFor: time.Hour, Findings: 1, Tell: func(string) {}}
}

// TestFindingIsShrunk to the least plan that the judge still convicts.
func TestFindingIsShrunk(t *testing.T) {
	g, s, folder := &fakeGround{t: t, space: space(t, "postgres:2")}, newState(t), t.TempDir()
	p, err := Parse("p.yaml", []byte("workload: bank\nseed: 3\nclients: 16\nduration: 40s\nflags: {accounts: 1000, payroll: 0.5}\noptions: [application_name=x]\n"+
		"faults: [pause n2 at 1s for 50ms, kill primary every 9s for 8500ms, slowcpu all at 3s for 5s, isolate n1 when new primary for 1s]"), g.space.Specs[0])
	expect.NoError(t, err)
	s.First = &p
	expect.NoError(t, Go(t.Context(), s, g, g.options(folder)))
	if len(s.Findings) != 1 {
		t.Fatalf("%+v", s.Findings)
	}
	f := s.Findings[0]
	if got := f.Plan; got.Clients != 2 || got.Duration < 5*time.Second || got.Duration > 7500*time.Millisecond || len(got.Flags) != 1 || got.Flags["accounts"] != "3" || len(got.Options) != 0 ||
		!slices.Equal(got.Faults, []string{"kill primary at 0s for 2.2s"}) {
		t.Errorf("shrunk to\n%s", got.Text())
	}
	if !breaks(f.Plan) || f.Found != 10 || f.Of != 10 || !f.Shrunk || !strings.HasPrefix(f.Command, "assay run bank --cluster postgres:2 --clients 2") {
		t.Errorf("%+v", f)
	}
	if text := s.Text(folder); !s.Violated() || !strings.Contains(text, "! VIOLATED  transfers: one is gone\n") || !strings.Contains(text, "found in 10 of 10 runs of 0 s (69 to 100 %)") || strings.Count(text, "\n") > 13 {
		t.Error(text)
	}
	if _, err := os.Stat(filepath.Join(folder, f.Folder)); err != nil {
		t.Errorf("the run's folder is not kept: %v", err)
	}
	page, err := os.ReadFile(filepath.Join(folder, FileText))
	if err != nil || !strings.Contains(string(page), "kill primary at 0s for 2.2s") {
		t.Errorf("the page: %v", err)
	}
}

// TestSearchFinds the broken promise from a cold start, also without coverage.
func TestSearchFinds(t *testing.T) {
	for _, random := range []bool{false, true} {
		g, s := &fakeGround{t: t, space: space(t, "postgres:2")}, newState(t)
		s.Random = random
		g.result = func(p Plan) Trial {
			long := slices.ContainsFunc(p.Faults, func(text string) bool {
				f, err := fault.Parse(text)
				return err == nil && f.Action == "kill" && f.For >= time.Second
			})
			return Trial{Result: verdict(long), Seen: Seen{States: []string{fmt.Sprint(len(p.Faults), " faults")}}}
		}
		expect.NoError(t, Go(t.Context(), s, g, g.options(t.TempDir())))
		if len(s.Findings) != 1 || len(s.Findings[0].Plan.Faults) != 1 || random != (len(s.Corpus) == 0) {
			t.Errorf("random %v: %+v, %d are kept", random, s.Findings, len(s.Corpus))
		}
	}
}

// TestInterruptedHuntGoesOn with the same plans.
func TestInterruptedHuntGoesOn(t *testing.T) {
	never := func(p Plan) Trial {
		return Trial{Result: verdict(false), Seen: Seen{States: []string{string(p.Text())}}} // all are kept
	}
	whole := &fakeGround{t: t, space: space(t, "patroni:3"), result: never}
	ctx, cancel := context.WithCancel(t.Context())
	whole.after = func(n int) {
		if n == 31 {
			cancel()
		}
	}
	expect.NoError(t, Go(ctx, newState(t), whole, whole.options(t.TempDir())))
	folder, s := t.TempDir(), newState(t)
	var tried []string
	for _, stop := range []int{11, 21} {
		g := &fakeGround{t: t, space: space(t, "patroni:3"), result: never}
		ctx, cancel := context.WithCancel(t.Context())
		g.after = func(n int) {
			if n == stop {
				cancel()
			}
		}
		expect.NoError(t, Go(ctx, s, g, g.options(folder)))
		if !s.Interrupted || !strings.Contains(s.Text(folder), "--resume "+folder) {
			t.Error(s.Text(folder))
		}
		tried = append(tried, g.tried[:stop-1]...) // the last is cut, and tried again
		var err error
		s, err = Read(folder)
		expect.NoError(t, err)
	}
	if s.Plans != 30 || s.Clusters != 2 || !slices.Equal(tried, whole.tried[:30]) {
		t.Errorf("%d plans, the same: %v", s.Plans, slices.Equal(tried, whole.tried[:30]))
	}
	if text := s.Stop(); !strings.HasPrefix(text, "In 30 plans, ") || !strings.Contains(text, " s of load: nothing; 0 of 30 states reached; not reached: ") || !strings.HasSuffix(text, "; and 24 others.") {
		t.Error(text)
	}
	left, err := filepath.Glob(filepath.Join(folder, runs, "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("an empty folder is a hunt")
	}
}

// TestWhatIsNoFinding: losses that the manual allows, no verdict, refusals. A cluster that does not
// heal is reported and convicts nobody.
func TestWhatIsNoFinding(t *testing.T) {
	trials := []Trial{
		{Result: &report.Result{Verdict: check.Allowed, Checks: []check.Result{{Name: "x", Verdict: check.Allowed, Findings: []check.Finding{{Kind: "lost", Found: 3, Property: "durability"}}}}}},
		{Result: &report.Result{Verdict: check.Unknown, Checks: []check.Result{{Name: "x"}}}, Seen: Seen{Lines: []string{"unknown"}}},
		{Problem: &store.OptionError{Option: "--read", Value: "nearest"}, Seen: Seen{Lines: []string{"refused"}}},
		{Result: verdict(false), Unhealed: "n2 is away"},
	}
	n := 0
	ctx, cancel := context.WithCancel(t.Context())
	g := &fakeGround{t: t, space: space(t, "postgres:2"), result: func(Plan) Trial { n++; return trials[min(n, len(trials))-1] }}
	g.after = func(n int) {
		if n == len(trials)+1 {
			cancel()
		}
	}
	s, o := newState(t), g.options(t.TempDir())
	o.Findings = 0
	expect.NoError(t, Go(ctx, s, g, o))
	if s.Violated() || len(s.Findings) != 1 || s.Findings[0].Goal != unhealed || s.Verdicts["refused here"] != 1 || s.Verdicts["unknown"] != 1 {
		t.Errorf("%+v, %v", s.Findings, s.Verdicts)
	}
	if len(s.Corpus) != 1 { // not what was refused, though it reached something
		t.Errorf("%d plans are kept", len(s.Corpus))
	}
	if loss := hits(trials[0].Result, []Goal{{Name: GoalLoss}}); len(loss) != 1 || loss[0].verdict != check.Allowed || loss[0].key != "loss x allowed" {
		t.Errorf("the goal loss: %+v", loss)
	}
	if _, _, known := longestOutage(&report.Result{Faults: []report.Fault{{WriteOutage: -1}}, WorkloadFigures: report.WorkloadFigures{Availability: &report.Availability{WriteOutage: -1}}}); known {
		t.Error("the outage of a run without writes is known")
	}
	away := &report.Result{Faults: []report.Fault{{WriteOutage: 61_000, WritesAway: true}}, Cluster: &report.Cluster{TwoPrimaries: true}}
	if found := hits(away, []Goal{{Name: GoalOutage, Outage: time.Minute}, {Name: GoalTwoPrimaries}}); len(found) != 2 || found[0].text != "no write succeeded for at least 61.0 s" {
		t.Errorf("%+v", found)
	}
}

// lonelyGround has, of three runs of a command alone, one fail before it has a result and one end
// without a verdict.
type lonelyGround struct {
	*fakeGround
	alone int
}

func (g *lonelyGround) Alone(ctx context.Context, p Plan, folder string) Trial {
	t := g.fakeGround.Alone(ctx, p, folder)
	t.Unhealed = "" // it does not look, as hunt.Servers
	switch g.alone % 3 {
	case 0:
		t.Result, t.Problem = nil, errors.New("the port is taken")
	case 1:
		t.Result = &report.Result{Verdict: check.Unknown, Checks: []check.Result{{Name: "transfers"}}}
	}
	g.alone++
	return t
}

// TestProbability is over the runs that have a verdict, and is not given of what a run alone cannot
// show.
func TestProbability(t *testing.T) {
	g, s, folder := &lonelyGround{fakeGround: &fakeGround{t: t, space: space(t, "postgres:2")}}, newState(t), t.TempDir()
	g.result = func(Plan) Trial { return Trial{Result: verdict(true), Unhealed: "n2 is away"} }
	expect.NoError(t, Go(t.Context(), s, g, g.options(folder)))
	if len(s.Findings) != 2 {
		t.Fatalf("%+v", s.Findings)
	}
	broken, away := s.Findings[0], s.Findings[1]
	if broken.Of == 0 || broken.Found != broken.Of {
		t.Errorf("each run shows it: %s", broken.probability())
	}
	if away.Of != 0 || !strings.Contains(away.probability(), "seen by 1 plan") {
		t.Errorf("no run alone looks for it: %s", away.probability())
	}
	if broken.Undecided == 0 || !strings.HasSuffix(broken.probability(), " more had no verdict") {
		t.Errorf("runs without a verdict: %s", broken.probability())
	}
	s = &State{Plans: 3, Verdicts: map[string]int{"valid": 1, "unknown": 2}}
	if text := s.Stop(); !strings.Contains(text, "nothing, and no verdict of 2 plans") {
		t.Error(text)
	}
}

// TestShrinkingMeets another broken promise, which is a finding of its own, and what the plan found
// besides is confirmed with it.
func TestShrinkingMeets(t *testing.T) {
	g, s, folder := &fakeGround{t: t, space: space(t, "postgres:2")}, newState(t), t.TempDir()
	g.result = func(Plan) Trial {
		r := verdict(true)
		r.Checks[0].Findings = []check.Finding{{Kind: "lost", Found: 1}, {Kind: "torn", Found: 1}}
		if len(g.tried) >= 4 {
			r.Checks[0].Findings = append(r.Checks[0].Findings, check.Finding{Kind: "doubled", Found: 1})
		}
		return Trial{Result: r}
	}
	o := g.options(folder)
	o.Findings = 3
	expect.NoError(t, Go(t.Context(), s, g, o))
	var keys []string
	for _, f := range s.Findings {
		keys = append(keys, f.Key)
		if _, err := os.Stat(filepath.Join(folder, f.Folder)); err != nil {
			t.Errorf("%s: %v", f.Key, err)
		}
	}
	if text := strings.Join(keys, ", "); text != "violation transfers lost, violation transfers torn, violation transfers doubled" {
		t.Fatal(text)
	}
	left, err := os.ReadDir(filepath.Join(folder, runs))
	if err != nil || len(left) != 2 { // of the first plan, and of the run that met another
		t.Errorf("left: %v, %v", left, err)
	}
	if lost, torn := s.Findings[0], s.Findings[1]; torn.Tries != 0 || !torn.Shrunk || torn.Of != 10 || torn.Found != 10 || torn.Command != lost.Command {
		t.Errorf("%+v", torn)
	}
}

// TestLongHunt keeps what it needs to go on, and no more.
func TestLongHunt(t *testing.T) {
	g, s, folder := &fakeGround{t: t, space: space(t, "postgres:2")}, newState(t), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	g.result = func(Plan) Trial {
		if len(g.tried) == 250 {
			cancel()
		}
		g.tried = append(g.tried[:0], make([]string, len(g.tried))...)
		n := len(g.tried)
		return Trial{Result: verdict(false), Seen: Seen{Lines: []string{fmt.Sprint("line ", n)}, Errors: []string{fmt.Sprint("error ", n)}, Pairs: []Pair{{"kill", fmt.Sprint(n)}}}}
	}
	expect.NoError(t, Go(ctx, s, g, g.options(folder)))
	info, err := os.Stat(filepath.Join(folder, FileState))
	if err != nil || s.Plans < 249 || len(s.Corpus) != mostKept || info.Size() > 400_000 {
		t.Errorf("%d plans, %d are kept, %d bytes, %v", s.Plans, len(s.Corpus), info.Size(), err)
	}
}

// TestFirstFinding: without shrinking a hunt ends with the first finding of its goals, as a
// command. A cluster that does not heal is none.
func TestFirstFinding(t *testing.T) {
	g, s, folder := &fakeGround{t: t, space: space(t, "postgres:2")}, newState(t), t.TempDir()
	g.result = func(Plan) Trial {
		t := Trial{Result: verdict(len(g.tried) == 3)}
		t.Result.Checks[0].Evidence = []check.Evidence{{Text: "transfer 7 is gone"}}
		if len(g.tried) == 1 {
			t.Unhealed = "n2 is away"
		}
		return t
	}
	o := g.options(folder)
	o.ShrinkFor = 0
	expect.NoError(t, Go(t.Context(), s, g, o))
	if len(g.tried) != 3 || len(s.Findings) != 2 {
		t.Fatalf("%d plans, %+v", len(g.tried), s.Findings)
	}
	f := s.Findings[1]
	if f.Shrunk || f.Of != 0 || f.At != 3 || f.History != "transfer 7 is gone" || f.Command != "assay "+report.CommandLine(f.Plan.Words(g.space.Specs[0])) {
		t.Errorf("%+v", f)
	}
	page, err := os.ReadFile(filepath.Join(folder, FileText))
	if err != nil || !strings.Contains(string(page), "## What shows violation transfers\n\n```text\ntransfer 7 is gone\n```") {
		t.Errorf("%s, %v", page, err)
	}
}

// TestFailoverWait: plans with a kind of failover grow until one came, and end if none ever does. A
// primary that hands over at once says nothing of one that is killed.
func TestFailoverWait(t *testing.T) {
	another, space := Seen{States: []string{stateName(ledAnother, oneHit)}}, space(t, "patroni:3")
	for _, c := range []struct {
		comes time.Duration
		want  string
	}{{time.Hour, "20s 40s 1m0s -1ns -1ns"}, {30 * time.Second, "20s 40s 40s 40s 40s"}} {
		var w FailoverWait
		var got []string
		for range 5 {
			wait := w.of("kill")
			got = append(got, wait.String())
			long := max(wait, 0)
			w.learn(Plan{Duration: long / 2, Faults: []string{"kill primary at 1s for 50s"}}, Seen{}, time.Minute)
			w.learn(Plan{Duration: long, Faults: []string{"kill secondary at 1s for 50s"}}, Seen{}, time.Minute)
			w.learn(Plan{Duration: long, Faults: []string{"kill primary at 1s for 10ms"}}, Seen{}, time.Minute)
			w.learn(Plan{Duration: long}, Seen{}, time.Minute)
			w.learn(Plan{Duration: long, Faults: []string{"slowcpu primary at 1s for 50s"}}, Seen{}, time.Minute)
			w.learn(Plan{Duration: long, Faults: []string{"stop primary at 1s for 50s"}}, another, time.Minute)
			w.learn(Plan{Duration: long, Faults: []string{"pause primary at 1s for 50s", "stop primary at 2s"}}, another, time.Minute)
			seen := Seen{}
			if wait > c.comes {
				seen = another
			}
			w.learn(Plan{Duration: long, Faults: []string{"kill primary at 1s for 50s"}}, seen, time.Minute)
		}
		if text := strings.Join(got, " "); text != c.want || w.of("stop") != leastWait {
			t.Errorf("a failover after %v: %s, want %s; %v", c.comes, text, c.want, w)
		}
		for action, want := range map[string]bool{"kill": c.comes < time.Hour, "stop": true, "pause": true} {
			if got := slices.ContainsFunc(space.away(&w), func(f fault.Fault) bool { return f.Action == action }); got != want {
				t.Errorf("a failover after %v: plans with %s: %v", c.comes, action, got)
			}
		}
		if w.of("pause") <= leastWait {
			t.Errorf("a pause is tried for %v, though kills took longer", w.of("pause"))
		}
	}
}

// TestServersThatNeverWork end the hunt with the reason.
func TestServersThatNeverWork(t *testing.T) {
	g := &fakeGround{t: t, space: space(t, "postgres:2"), result: func(Plan) Trial { return Trial{Problem: errors.New("no port is free")} }}
	if err := Go(t.Context(), newState(t), g, g.options(t.TempDir())); err == nil || !strings.Contains(err.Error(), "no port is free") || len(g.tried) != mostFailed {
		t.Errorf("%v after %d", err, len(g.tried))
	}
}
