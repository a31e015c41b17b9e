package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assay/cluster/server"
)

type fakeSystem struct {
	mu      sync.Mutex
	all     []member
	leader  func(ctx context.Context) (string, error)
	down    map[string]bool
	steps   []string
	acting  map[string]int // deeds in force, by node
	fail    map[string]error
	panics  string        // the step that panics
	hangs   bool          // whether the last look does
	slowEnd time.Duration // how long confirm takes
	stale   int           // how many calls of undo fail before one succeeds
	slow    time.Duration // how long running takes
	tries   []time.Time   // of undo
}

func newFakeSystem(withData int) *fakeSystem {
	return &fakeSystem{all: nodes(withData, 0), down: map[string]bool{}, acting: map[string]int{}, fail: map[string]error{},
		leader: func(context.Context) (string, error) { return "n1", nil }}
}

func (s *fakeSystem) members(context.Context) ([]member, error) { return s.all, nil }
func (s *fakeSystem) primaries(ctx context.Context) ([]string, error) {
	name, err := s.leader(ctx)
	if err != nil {
		return nil, err
	}
	return strings.Fields(name), nil
}

func (s *fakeSystem) running(name string) bool {
	time.Sleep(s.slow)
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.down[name]
}

func (s *fakeSystem) prepare(f Fault, c choice, _ acquirer) (injector, error) {
	return &fakeInjector{fakeSystem: s, fault: f, nodes: c.nodes}, s.fail["prepare"]
}

func (s *fakeSystem) check(context.Context, Fault) error { return nil }

type fakeInjector struct {
	fakeSystem *fakeSystem
	fault      Fault
	nodes      []string
	undone     bool
}

func (a *fakeInjector) step(name string) error {
	s := a.fakeSystem
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, fmt.Sprintf("%s %s %s", name, a.fault.Action, strings.Join(a.nodes, ",")))
	for _, n := range a.nodes {
		switch name {
		case "inject":
			s.acting[n]++
		case "undo":
			if !a.undone {
				s.acting[n]--
			}
		}
	}
	a.undone = a.undone || name == "undo"
	if s.panics == name {
		panic("a defect")
	}
	if name == "undo" {
		s.tries = append(s.tries, time.Now())
		if len(s.tries) <= s.stale {
			return errors.New("not yet")
		}
	}
	return s.fail[name]
}

func (a *fakeInjector) inject(context.Context) error { return a.step("inject") }
func (a *fakeInjector) verify(ctx context.Context, last bool) (observation, error) {
	if a.fakeSystem.hangs && last {
		<-ctx.Done()
		return observation{}, ctx.Err()
	}
	return observation{proven: last, text: "seen"}, a.fakeSystem.fail["verify"]
}
func (a *fakeInjector) undo(context.Context) error { return a.step("undo") }
func (a *fakeInjector) restore(ctx context.Context) (string, error) {
	if !sleepUntil(ctx, time.Now().Add(a.fakeSystem.slowEnd)) {
		return "", ctx.Err()
	}
	return "back", a.step("restore")
}

// play runs the faults on a scene in virtual time (testing/synctest).
func play(t *testing.T, s *fakeSystem, plan Plan, texts ...string) ([]Injection, *recording, error) {
	t.Helper()
	kept := &recording{}
	r := &runner{system: s, faults: parse(t, texts...), plan: plan, recorder: kept}
	done, err := r.run(t.Context())
	for n, times := range s.acting {
		if times != 0 {
			t.Errorf("%s has %d faults left", n, times)
		}
	}
	return done, kept, err
}

func brief(all []Injection) []string {
	var texts []string
	for _, i := range all {
		text := fmt.Sprintf("%d %s %s", i.Number, i.Fault.Action, strings.Join(i.Nodes, ","))
		if i.Skipped {
			text += " " + i.Problem
		}
		texts = append(texts, text)
	}
	return texts
}

func TestOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSystem(3)
		s.down["n3"] = true
		done, kept, err := play(t, s, Plan{Duration: time.Minute},
			"pause n1 at 1s for 10s", "kill n1 at 2s for 5s", "isolate n1 at 3s for 20s", "kill n3 at 4s", "stop n2 at 5s for 30s",
			"clock n2 at 6s", "kill n1 at 12s for 1s", "partition one at 13s", "flaky all at 14s", "kill all at 15s for 1s", "isolate n3 at 50s")
		want := []string{
			"1 pause n1", "2 kill n1 skipped: n1 is paused already", "3 isolate n1", "4 kill n3 skipped: n3 is down already",
			"5 stop n2", "6 clock n2 skipped: n2 is down already", "7 kill n1", "8 partition n1 skipped: n1 is cut off already",
			"9 flaky n1,n2,n3", "10 kill n1", "11 isolate n3",
		}
		if err != nil || !slices.Equal(brief(done), want) {
			t.Errorf("%v\n%s", err, strings.Join(brief(done), "\n"))
		}
		if d := done[9].Detail; d != "left out: n2 is down already, n3 is down already" {
			t.Errorf("kill all: %q", d)
		}
		if len(kept.injected) != 7 || len(kept.healed) != 7 {
			t.Errorf("%d injected, %d healed were told", len(kept.injected), len(kept.healed))
		}
		for _, i := range done {
			if !i.Skipped && (!i.Proven || !i.Healed || i.Healing != "back" || !i.InjectedAt.Equal(i.Due)) {
				t.Errorf("%+v", i)
			}
		}
	})
}

// TestForEver: such a fault outlives the measured part, whose end heals the others, whichever began
// first, and ends with the work.
func TestForEver(t *testing.T) {
	for _, faults := range [][]string{{"kill n1 at 5s for ever", "pause n2 at 6s for 1h"}, {"pause n2 at 5s for 1h", "kill n1 at 6s for ever"}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			began := time.Now()
			time.AfterFunc(25*time.Second, end)
			r := &runner{system: newFakeSystem(3), faults: parse(t, faults...), recorder: &recording{}, plan: Plan{Start: began, Duration: 20 * time.Second}}
			done, err := r.run(ctx)
			if err != nil || len(done) != 2 {
				t.Fatalf("%+v, %v", done, err)
			}
			for _, i := range done {
				want := 20 * time.Second
				if i.Fault.Action == "kill" {
					want = 25 * time.Second
				}
				if !i.Proven || !i.Healed || i.HealedAt.Sub(began) != want {
					t.Errorf("%s: healed after %v, want %v: %+v", i.Fault, i.HealedAt.Sub(began), want, i)
				}
			}
		})
	}
}

// TestAFailedUndoIsRepeated until it succeeds, or until half of the time to heal is over.
func TestAFailedUndoIsRepeated(t *testing.T) {
	for _, c := range []struct {
		fails, tries int
		healing      string
		healed       time.Duration // after the fault's end
	}{
		{0, 1, "back", 0}, {1, 2, "back, undone at the attempt number 2", time.Second}, {4, 5, "back, undone at the attempt number 5", 15 * time.Second}, {100, 5, "back", -1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeSystem(3)
			s.stale = c.fails
			began := time.Now()
			done, _, err := play(t, s, Plan{HealWithin: 40 * time.Second}, "isolate n1 at 1s for 2s")
			if len(done) != 1 || len(s.tries) != c.tries || (err != nil) != (c.healed < 0) {
				t.Fatalf("%d failures: %d tries, %+v, %v", c.fails, len(s.tries), done, err)
			}
			i := done[0]
			if c.healed >= 0 && i.HealedAt.Sub(began)-3*time.Second != c.healed || c.healed < 0 && !i.HealedAt.IsZero() || strings.TrimSpace(i.Healing) != c.healing && c.healed >= 0 {
				t.Errorf("%d failures: healed after %v: %q, problem %q", c.fails, i.HealedAt.Sub(began), i.Healing, i.Problem)
			}
		})
	}
}

// TestAProofThatHangsKeepsNoFaultInForce: healing has its own time.
func TestAProofThatHangsKeepsNoFaultInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSystem(3)
		s.hangs = true
		done, _, err := play(t, s, Plan{HealWithin: 20 * time.Second}, "kill n2 at 1s for 1s")
		if !errors.Is(err, context.DeadlineExceeded) || len(done) != 1 || done[0].Proven || !done[0].Healed || done[0].HealedAt.IsZero() {
			t.Errorf("%+v, %v", done, err)
		}
	})
}

// TestASlowLookHoldsUpNobody: a node that is slow to tell whether it runs keeps no other fault from
// its end.
func TestASlowLookHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSystem(3)
		s.slow = 3 * time.Second
		began := time.Now()
		done, _, err := play(t, s, Plan{}, "flaky n1 at 1s for 2s", "kill n2 at 1s for 1s")
		if err != nil || len(done) != 2 || done[0].HealedAt.Sub(began) != 3*time.Second {
			t.Errorf("%+v, %v", done, err)
		}
	})
}

func TestSameSeedSameChoices(t *testing.T) {
	var first []string
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			done, _, err := play(t, newFakeSystem(5), Plan{Duration: 15 * time.Minute, Seed: 42}, "kill any every 20s for 7s", "pause secondary every 30s for 7s", "partition halves every 45s for 7s")
			if err != nil || len(done) < 60 {
				t.Fatalf("%d, %v", len(done), err)
			}
			if first == nil {
				first = brief(done)
			}
			if !slices.Equal(brief(done), first) {
				t.Error("the same seed chose differently")
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		done, _, _ := play(t, newFakeSystem(5), Plan{Duration: 15 * time.Minute, Seed: 43}, "kill any every 20s for 7s", "pause secondary every 30s for 7s", "partition halves every 45s for 7s")
		if slices.Equal(brief(done), first) {
			t.Error("another seed chose the same")
		}
	})
}

func TestTheEndHealsTheLatestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSystem(3)
		start := time.Now()
		done, _, err := play(t, s, Plan{Duration: 10 * time.Second}, "isolate n1 at 1s for 1h", "kill n2 at 2s for 1h", "flaky n3 at 3s for 1h", "slowcpu n3 at 4s for 2s")
		if err != nil || len(done) != 4 {
			t.Fatalf("%v, %v", done, err)
		}
		var undone []string
		for _, d := range s.steps {
			if rest, is := strings.CutPrefix(d, "undo "); is {
				undone = append(undone, rest)
			}
		}
		if want := []string{"slowcpu n3", "flaky n3", "kill n2", "isolate n1"}; !slices.Equal(undone, want) {
			t.Errorf("undone %v", undone)
		}
		if took := done[3].HealedAt.Sub(start); took != 6*time.Second {
			t.Errorf("healed after %v", took)
		}
		if took := done[0].HealedAt.Sub(start); took != 10*time.Second {
			t.Errorf("healed after %v", took)
		}
	})
}

func TestFailuresDoNotKeepOthersFromHealing(t *testing.T) {
	broken := errors.New("broken")
	for _, step := range []string{"inject", "verify", "undo", "restore", "prepare"} {
		for _, panics := range []bool{false, true} {
			if panics && (step == "verify" || step == "prepare") {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				s := newFakeSystem(3)
				s.fail[step] = broken
				if panics {
					delete(s.fail, step)
					s.panics = step
				}
				done, kept, err := play(t, s, Plan{Duration: 10 * time.Second}, "isolate n1 at 1s for 1h", "kill n2 at 2s for 2s")
				if len(done) != 2 || err == nil || panics == errors.Is(err, broken) {
					t.Fatalf("%s: %v, %v", step, done, err)
				}
				for _, i := range done {
					if i.Problem == "" || !strings.Contains(err.Error(), i.Fault.String()) {
						t.Errorf("%s: %+v\n%v", step, i, err)
					}
					if i.Healed == (step == "undo" && i.Fault.Action == "isolate" || step == "restore" || step == "prepare") {
						t.Errorf("%s: healed %v", step, i.Healed)
					}
				}
				if told := len(kept.healed); told != 2 && step != "prepare" || told != len(kept.injected) {
					t.Errorf("%s: %d injected and %d healed were told", step, len(kept.injected), told)
				}
			})
		}
	}
}

func TestHealingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSystem(3)
		s.slowEnd = time.Hour
		start := time.Now()
		done, _, err := play(t, s, Plan{HealWithin: 20 * time.Second}, "kill n2 at 1s for 1s")
		if !errors.Is(err, context.DeadlineExceeded) || len(done) != 1 || done[0].Healed || !done[0].HealedAt.IsZero() {
			t.Errorf("%+v, %v", done, err)
		}
		if took := time.Since(start); took != 22*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestNewPrimary(t *testing.T) {
	// An answer takes a microsecond: the old primary answers before the fault and not after.
	const hit = 10*time.Second + 1500*time.Nanosecond
	for _, c := range []struct {
		fault, found string
		after        time.Duration
		leader       func(since time.Duration) string // empty: none
	}{
		{"kill primary at 10s for 20s", "n2", 3 * time.Second, func(d time.Duration) string {
			switch {
			case d < hit:
				return "n1"
			case d < 13*time.Second:
				return ""
			}
			return "n2"
		}},
		{"pause n1 at 10s for 20s", "n1", 20 * time.Second, func(d time.Duration) string {
			if d > hit && d < 30*time.Second {
				return ""
			}
			return "n1"
		}},
		// A primary in the minority still claims to be one.
		{"partition one at 10s for 20s", "n3", 8 * time.Second, func(d time.Duration) string {
			if d < 18*time.Second {
				return "n1"
			}
			return "n3"
		}},
		{"flaky all at 10s for 20s", "", 0, func(time.Duration) string { return "n1" }},
		{"kill n2 at 10s for 20s", "", 0, func(time.Duration) string { return "n1" }},
		{"kill all at 10s for 20s", "", 0, func(d time.Duration) string {
			if d < hit {
				return "n1"
			}
			return ""
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeSystem(3)
			start := time.Now()
			s.leader = func(ctx context.Context) (string, error) {
				for wait := time.Microsecond; ; wait = 10 * time.Millisecond {
					if !sleepUntil(ctx, time.Now().Add(wait)) {
						return "", ctx.Err()
					}
					if name := c.leader(time.Since(start)); name != "" {
						return name, nil
					}
				}
			}
			done, _, err := play(t, s, Plan{}, c.fault)
			if err != nil || len(done) != 1 || done[0].Primary != "n1" {
				t.Fatalf("%+v, %v", done, err)
			}
			i := done[0]
			if i.NewPrimary != c.found || i.NewPrimaryAfter.Truncate(100*time.Millisecond) != c.after {
				t.Errorf("%s: %q after %v", c.fault, i.NewPrimary, i.NewPrimaryAfter)
			}
		})
	}
}

// TestSeveralPrimaries: if each primary has a part of the data, a fault may cost any its place.
func TestSeveralPrimaries(t *testing.T) {
	const hit = 10*time.Second + 1500*time.Nanosecond // as in TestNewPrimary
	for _, c := range []struct {
		fault, primary, found string
		stayed                bool
		leaders               func(since time.Duration) string
	}{
		{"kill n2 at 10s for 20s", "n2", "n3", false, func(d time.Duration) string {
			switch {
			case d < hit:
				return "n1 n2"
			case d < 14*time.Second:
				return "n1"
			}
			return "n1 n3"
		}},
		{"partition n2,all at 10s for 20s", "n2", "n3", false, func(d time.Duration) string {
			if d < 14*time.Second {
				return "n1 n2"
			}
			return "n1 n3"
		}},
		{"kill n2 at 10s for 2s", "n2", "n2", false, func(d time.Duration) string {
			if d > hit && d < 12*time.Second {
				return "n1"
			}
			return "n1 n2"
		}},
		{"partition n2,all at 10s for 2s", "n1", "", true, func(time.Duration) string { return "n1 n2" }},
		{"kill n3 at 10s for 2s", "n1", "", false, func(time.Duration) string { return "n1 n2" }},
		{"kill primary at 10s for 2s", "n1", "n1", false, func(d time.Duration) string {
			if d > hit && d < 12*time.Second {
				return "n2"
			}
			return "n1 n2"
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeSystem(3)
			start := time.Now()
			s.leader = func(ctx context.Context) (string, error) {
				if !sleepUntil(ctx, time.Now().Add(time.Microsecond)) {
					return "", ctx.Err()
				}
				return c.leaders(time.Since(start)), nil
			}
			done, _, err := play(t, s, Plan{}, c.fault)
			if err != nil || len(done) != 1 || done[0].Primary != c.primary || done[0].NewPrimary != c.found || done[0].PrimaryStayed != c.stayed {
				t.Errorf("%s: %+v, %v", c.fault, done, err)
			}
		})
	}
	members := nodes(3, 0)
	members[0].primary, members[1].primary = true, true
	for seed := range uint64(20) {
		chosen, err := choose(Fault{Action: "kill", Target: TargetSecondary}, members, "n1", randomness(seed, Occurrence{}))
		if err != nil || !slices.Equal(chosen.nodes, []string{"n3"}) {
			t.Fatalf("%v is taken for a secondary: %v", chosen.nodes, err)
		}
	}
}

func TestNoPrimary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSystem(3)
		s.leader = func(context.Context) (string, error) { return "", &server.NoPrimaryError{Product: "galera"} }
		done, _, err := play(t, s, Plan{}, "kill primary at 1s", "kill all at 2s", "partition one at 3s")
		if err != nil || len(done) != 3 || !done[0].Skipped || !strings.Contains(done[0].Problem, "galera has no primary") {
			t.Fatalf("%+v, %v", done, err)
		}
		if done[1].Skipped || done[2].Skipped || done[1].NewPrimary != "" {
			t.Errorf("%+v", done[1:])
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSystem(3)
		s.leader = func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		done, _, err := play(t, s, Plan{Duration: 2 * time.Minute}, "kill primary at 1s", "kill n1 at 5s for 1s")
		if err != nil || !done[0].Skipped || done[1].Skipped || done[1].Primary != "" {
			t.Errorf("%+v, %v", done, err)
		}
	})
}

func TestTooManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSystem(7)
		s.leader = func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		done, _, err := play(t, s, Plan{Duration: time.Minute}, "kill primary every 100ms")
		skipped := 0
		for _, i := range done {
			if strings.Contains(i.Problem, "64 faults act already") {
				skipped++
			}
		}
		if err != nil || skipped == 0 {
			t.Errorf("%d skipped, %v", skipped, err)
		}
	})
}

func TestAnEndBeforeAnythingIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s := newFakeSystem(3)
		r := &runner{system: s, faults: parse(t, "kill any at 10s", "pause any every 1m"), recorder: &recording{}}
		if done, err := r.run(ctx); err != nil || len(done) != 0 || len(s.steps) != 0 {
			t.Errorf("%v, %v, %v", done, err, s.steps)
		}
	})
}

// TestAFaultOfTheDeciders may take the primary's place, restore it, or leave it.
func TestAFaultOfTheDeciders(t *testing.T) {
	for _, c := range []struct {
		about, found string
		stayed       bool
		after        time.Duration
		leader       func(since time.Duration) string // empty: none
	}{
		{"it stays", "", true, 0, func(time.Duration) string { return "n1" }},
		{"it comes back", "n1", false, 24 * time.Second, func(d time.Duration) string {
			if d > 12*time.Second && d < 34*time.Second {
				return ""
			}
			return "n1"
		}},
		{"another comes", "n2", false, 21 * time.Second, func(d time.Duration) string {
			switch {
			case d < 12*time.Second:
				return "n1"
			case d < 31*time.Second:
				return ""
			}
			return "n2"
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeSystem(3)
			for _, name := range []string{"dcs1", "dcs2", "dcs3"} {
				s.all = append(s.all, member{name: name, role: "dcs"})
			}
			start := time.Now()
			s.leader = func(ctx context.Context) (string, error) {
				for {
					if name := c.leader(time.Since(start)); name != "" {
						return name, nil
					}
					if !sleepUntil(ctx, time.Now().Add(10*time.Millisecond)) {
						return "", ctx.Err()
					}
				}
			}
			done, _, err := play(t, s, Plan{}, "kill 2 dcs at 10s for 20s")
			if err != nil || len(done) != 1 || done[0].Primary != "n1" || len(done[0].Nodes) != 2 {
				t.Fatalf("%s: %+v, %v", c.about, done, err)
			}
			i := done[0]
			if i.NewPrimary != c.found || i.PrimaryStayed != c.stayed || i.NewPrimaryAfter.Truncate(time.Second) != c.after {
				t.Errorf("%s: %q after %v, stayed %v", c.about, i.NewPrimary, i.NewPrimaryAfter, i.PrimaryStayed)
			}
		})
	}
}
