package hunt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/report"
)

// loses is a run whose check lost as promised, as the manual allows, or both.
func loses(v check.Verdict, promised ...bool) *report.Result {
	c := check.Result{Name: "transfers", Verdict: v}
	for _, p := range promised {
		c.Findings = append(c.Findings, check.Finding{Kind: fmt.Sprintf("lost (promised: %v)", p), Found: 3, Property: "durability", Promised: &p, Source: "w=1"})
	}
	return &report.Result{Verdict: v, Checks: []check.Result{c}}
}

// TestLossesAreToldApart: a loss beyond the promise is another finding than one that the manual
// allows, in whichever order they come, and what is allowed stays so beside something broken.
func TestLossesAreToldApart(t *testing.T) {
	goals := []Goal{{Name: GoalLoss}}
	torn := check.Finding{Kind: "torn", Found: 1, Property: "atomicity"}
	besides := loses(check.Violated, false)
	besides.Checks[0].Findings = append([]check.Finding{torn}, besides.Checks[0].Findings...)
	for name, c := range map[string]struct {
		result *report.Result
		want   string
	}{
		"allowed":                 {loses(check.Allowed, false), "loss transfers allowed: allowed"},
		"beyond":                  {loses(check.Violated, true), "loss transfers: violated"},
		"allowed and then beyond": {loses(check.Violated, false, true), "loss transfers: violated"},
		"beyond and then allowed": {loses(check.Violated, true, false), "loss transfers: violated"},
		"allowed beside another":  {besides, "loss transfers allowed: allowed, violation transfers torn: violated"},
	} {
		var got []string
		for _, h := range hits(c.result, goals) {
			got = append(got, h.key+": "+h.verdict.String())
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s; want %s", name, text, c.want)
		}
	}

	g, s := &fakeGround{t: t, space: space(t, "mongodb:3")}, newState(t)
	s.Goals = goals
	ctx, cancel := context.WithCancel(t.Context())
	g.result = func(Plan) Trial { return Trial{Result: loses(check.Allowed, false)} }
	g.after = func(n int) {
		switch n {
		case 2:
			g.result = func(Plan) Trial { return Trial{Result: loses(check.Violated, false, true)} }
		case 3:
			cancel()
		}
	}
	o := g.options(t.TempDir())
	o.ShrinkFor, o.Findings = 0, 0
	expect.NoError(t, Go(ctx, s, g, o))
	if len(s.Findings) != 2 || !s.Violated() || s.Findings[0].Verdict != check.Allowed || s.Findings[0].Seen != 1 {
		t.Errorf("%+v", s.Findings)
	}
}

// TestLossesOfEarlierVersions are given the keys that they have now, so that what shrinks them finds them.
func TestLossesOfEarlierVersions(t *testing.T) {
	folder, s := t.TempDir(), newState(t)
	s.Findings = []Finding{
		{Goal: GoalLoss, Key: "loss transfers", Verdict: check.Allowed},
		{Goal: GoalLoss, Key: "loss balances allowed", Verdict: check.Allowed},
		{Goal: GoalLoss, Key: "loss transfers", Verdict: check.Violated},
		{Goal: GoalOutage, Key: GoalOutage, Verdict: check.Allowed},
	}
	expect.NoError(t, history.WriteJSON(filepath.Join(folder, FileState), s))
	s, err := Read(folder)
	expect.NoError(t, err)
	var got []string
	for _, f := range s.Findings {
		got = append(got, f.Key)
	}
	if want := []string{"loss transfers allowed", "loss balances allowed", "loss transfers", GoalOutage}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	s.Goals = []Goal{{Name: GoalLoss}}
	g := &fakeGround{t: t, space: space(t, "mongodb:3")}
	h := &Hunt{State: s, o: g.options(folder), space: g.space}
	if h.judge(Plan{}, Trial{Result: loses(check.Allowed, false)}, folder) || s.Findings[0].Seen != 1 {
		t.Errorf("it is found anew: %+v", s.Findings)
	}
}

// TestABrokenPromiseIsFound whatever the goals are, and ends no hunt that looks for something else.
func TestABrokenPromiseIsFound(t *testing.T) {
	for _, goal := range []Goal{{Name: GoalOutage, Outage: time.Hour}, {Name: GoalTwoPrimaries}, {Name: GoalLoss}} {
		g, s, folder := &fakeGround{t: t, space: space(t, "postgres:2")}, newState(t), t.TempDir()
		s.Goals = []Goal{goal}
		ctx, cancel := context.WithCancel(t.Context())
		g.result = func(Plan) Trial { return Trial{Result: verdict(len(g.tried) == 1)} }
		g.after = func(n int) {
			if n == 3 {
				cancel()
			}
		}
		o := g.options(folder)
		o.ShrinkFor = 0
		expect.NoError(t, Go(ctx, s, g, o))
		if len(g.tried) != 3 || len(s.Findings) != 1 || !s.Violated() || s.Findings[0].Goal != GoalViolation {
			t.Fatalf("%s: %d plans, %+v", goal, len(g.tried), s.Findings)
		}
		if _, err := os.Stat(filepath.Join(folder, s.Findings[0].Folder)); err != nil {
			t.Errorf("%s: the run's folder is not kept: %v", goal, err)
		}
	}
}

// TestViolationOfACutPlanIsKept: an interruption after the run, while the servers heal, takes nothing
// back, not even of the first plan.
func TestViolationOfACutPlanIsKept(t *testing.T) {
	for _, first := range []bool{false, true} {
		g, s, folder := &fakeGround{t: t, space: space(t, "postgres:2")}, newState(t), t.TempDir()
		if first {
			p, err := Parse("p.yaml", []byte("workload: bank\nduration: 5s\n"), g.space.Specs[0])
			expect.NoError(t, err)
			s.First = &p
		}
		ctx, cancel := context.WithCancel(t.Context())
		g.after = func(int) { cancel() }
		g.result = func(Plan) Trial { return Trial{Result: verdict(true), Problem: context.Canceled} }
		expect.NoError(t, Go(ctx, s, g, g.options(folder)))
		if !s.Violated() || !s.Interrupted || s.Plans != 1 || len(s.Findings) != 1 || s.Findings[0].Shrunk {
			t.Fatalf("first %v: %d plans, %+v", first, s.Plans, s.Findings)
		}
		if _, err := os.Stat(filepath.Join(folder, s.Findings[0].Folder)); err != nil {
			t.Errorf("first %v: the run's folder is not kept: %v", first, err)
		}
	}
}

// TestWhatAGoalFindsIsNoGoodNews, whatever the run's checks say.
func TestWhatAGoalFindsIsNoGoodNews(t *testing.T) {
	for run, want := range map[check.Verdict]check.Verdict{check.Valid: check.Unknown, check.Allowed: check.Allowed, check.Violated: check.Violated} {
		s := State{Findings: []Finding{{Goal: "outage=1m0s", Text: "no write succeeded for 61.0 s", Verdict: run}}}
		if got := s.Document().Verdicts[0].Verdict; got != want {
			t.Errorf("a run with %v: %v, want %v", run, got, want)
		}
	}
}
