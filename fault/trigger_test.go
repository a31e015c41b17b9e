package fault

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/cluster"
	"assay/internal/expect"
)

func TestFaultsThatWaitForAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, start := newFakeSystem(3), time.Now()
		s.leader = func(ctx context.Context) (string, error) {
			switch d := time.Since(start); {
			case d < 10*time.Second:
				return "n1", nil
			case d < 13*time.Second:
				return "", errors.New("nobody")
			}
			return "n2", nil
		}
		done, _, err := play(t, s, Plan{Duration: time.Minute}, "kill n1 at 10s for 20s", "pause n2 when new primary after 2s for 1s",
			"isolate n3 when no primary for 1s", "kill n3 when n1 rejoins for 1s", "flaky n2 when any leaves for 1s", "kill n2 when n2 rejoins after 1m", "stop n3 when n3 rejoins for 1s")
		var got []string
		at := map[string]time.Duration{}
		for _, i := range done {
			at[i.Fault.String()] = i.InjectedAt.Sub(start).Round(time.Second)
			got = append(got, i.Fault.Action+" "+i.Fault.When)
		}
		slices.Sort(got)
		for text, when := range map[string]time.Duration{"isolate n3 when no primary for 1s": 10 * time.Second, "flaky n2 when any leaves for 1s": 10 * time.Second,
			"pause n2 when new primary after 2s for 1s": 15 * time.Second, "stop n3 when n3 rejoins for 1s": 11 * time.Second, "kill n3 when n1 rejoins for 1s": 30 * time.Second} {
			if at[text] != when {
				t.Errorf("%s: at %v, want %v", text, at[text], when)
			}
		}
		last := done[len(done)-1]
		if err != nil || len(done) != 7 || !last.Skipped || last.Problem != `skipped: it waited for "n2 rejoins", which came too late` {
			t.Errorf("%v: %q, last %+v", err, got, last)
		}
	})
}

// TestASlowAnswerIsNoMissingPrimary: only a question that stays without an answer shows one.
func TestASlowAnswerIsNoMissingPrimary(t *testing.T) {
	for takes, fires := range map[time.Duration]bool{800 * time.Millisecond: false, time.Minute: true} {
		synctest.Test(t, func(t *testing.T) {
			s, start := newFakeSystem(3), time.Now()
			s.leader = func(ctx context.Context) (string, error) {
				if d := time.Since(start); d < 10*time.Second || d > 20*time.Second {
					return "n1", nil
				}
				select {
				case <-ctx.Done():
					return "", ctx.Err()
				case <-time.After(takes):
					return "n1", nil
				}
			}
			done, _, err := play(t, s, Plan{Duration: time.Minute}, "isolate n3 when no primary for 1s")
			if err != nil || len(done) != 1 || done[0].Skipped == fires {
				t.Errorf("an answer that takes %v: %+v, %v", takes, done, err)
			}
		})
	}
}

func TestAnEventThatNeverComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done, _, err := play(t, newFakeSystem(2), Plan{Duration: time.Minute}, "kill n1 when new primary")
		if err != nil || len(done) != 1 || done[0].Problem != `skipped: it waited for "new primary", which never came` {
			t.Errorf("%+v, %v", done, err)
		}
	})
}

type loggingSystem struct {
	*fakeSystem
	folder string
}

func (s loggingSystem) log(name string) string { return filepath.Join(s.folder, name) }

// TestFaultsThatWaitForALine: only a whole line counts, during the run, on the right node.
func TestFaultsThatWaitForALine(t *testing.T) {
	s := loggingSystem{newFakeSystem(3), t.TempDir()}
	write := func(name, text string) {
		file, err := os.OpenFile(s.log(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		expect.NoError(t, err)
		_, err = file.WriteString(text)
		expect.NoError(t, errors.Join(err, file.Close()))
	}
	write("n1", "12 LOG: checkpoint starting: time\n")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		go func() {
			time.Sleep(5 * time.Second)
			write("n2", "13 LOG: checkpoint star")
			time.Sleep(5 * time.Second)
			write("n2", "ting: time\n")
		}()
		faults := parse(t, "kill n1 when any logs=checkpoint.starting for 1s", "pause n3 when n2 logs=LOG.*time after 2s for 1s", "stop n3 when n1 logs=time for 1s")
		done, err := Run(t.Context(), s, faults, Plan{Duration: time.Minute}, &recording{})
		if err != nil || len(done) != 3 {
			t.Fatalf("%+v, %v", done, err)
		}
		for i, want := range []string{"kill n1 at 10s", "pause n3 at 12s", "stop n3 at never"} {
			when := "never"
			if !done[i].Skipped {
				when = done[i].InjectedAt.Sub(start).Round(time.Second).String()
			}
			if got := done[i].Fault.Action + " " + done[i].Fault.Target + " at " + when; got != want {
				t.Errorf("%s, want %s: %s", got, want, done[i].Problem)
			}
		}
	})
	if err := Validate(t.Context(), parse(t, "kill n1 when any logs=x"), newFakeSystem(3)); err == nil || !strings.Contains(err.Error(), "does not see the logs") {
		t.Errorf("nodes whose logs are elsewhere: %v", err)
	}
}

func TestEventsAreParsed(t *testing.T) {
	for _, text := range []string{"kill primary when new primary", "pause primary when n2 rejoins after 200ms for 5s", "kill n1 when no primary", "isolate any when any leaves for 1s", "kill n1 when dcs2 leaves", `kill n1 when any logs=check.*\d+ after 5ms`} {
		f, err := Parse(text)
		if err != nil || f.String() != text {
			t.Errorf("%s is written %s, %v", text, f, err)
		}
		if again, err := Parse(f.Explicit(time.Minute).String()); err != nil || again.When != f.When || again.At != f.At {
			t.Errorf("%s: explicit %+v, %v", text, again, err)
		}
		expect.NoError(t, CheckSchedule([]Fault{f}, time.Second))
	}
	for text, problem := range map[string]string{
		"kill n1 when":                            "the event behind when is missing",
		"kill n1 when rejoins":                    "the event behind when is missing",
		"kill n1 when n2 dies":                    `no event "n2 dies"`,
		"kill n1 when halves rejoins":             `no event "halves rejoins"`,
		"kill n1 when n2 logs=":                   `"" is no regular expression`,
		"kill n1 when n2 logs=a(":                 `"a(" is no regular expression`,
		"kill n1 at 1s when new primary":          "does not go together",
		"kill n1 when new primary at 1s":          "do not go together",
		"kill n1 when new primary every 1s":       "do not go together",
		"kill n1 after 1s":                        "after has no event",
		"kill n1 when no primary when no primary": "said already",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v, want %s", text, err, problem)
		}
	}
	spec, err := cluster.ParseSpec("postgres:2")
	expect.NoError(t, err)
	if err := CheckTargets(parse(t, "kill n1 when n9 rejoins"), spec); err == nil || !strings.Contains(err.Error(), "no node n9 to wait for") {
		t.Errorf("a node that is not there: %v", err)
	}
}

// TestPossible: every fault that is called possible can be asked for.
func TestPossible(t *testing.T) {
	for text, want := range map[string][2][]string{
		"etcd:1":                {{"kill n1", "pause n1", "slowcpu n1"}, {"power-cut n1", "slow-fsync n1", "kill n2", "partition one", "kill secondary", "grow cluster", "kill any"}},
		"etcd:1,disk=faulty":    {{"power-cut n1", "slow-fsync n1", "io-delay n1"}, {"bit-flip n1", "restore backup"}},
		"patroni:3":             {{"kill primary", "kill dcs", "pause all dcs", "partition halves", "kill n3", "switchover primary", "partition primary,any", "backup any"}, {"replace any", "kill pooler", "kill n4", "stress-cpu any"}},
		"mongodb:2+arbiter":     {{"kill primary", "partition one"}, nil},
		"postgres:1,disk=image": {{"power-cut n1"}, {"power-cut=torn n1", "io-delay n1"}},
	} {
		spec, err := cluster.ParseSpec(text)
		expect.NoError(t, err)
		var got []string
		for _, f := range Possible(spec) {
			got = append(got, f.String())
		}
		for _, w := range want[0] {
			if !slices.Contains(got, w) {
				t.Errorf("%s: %s is not in %q", text, w, got)
			}
		}
		for _, w := range want[1] {
			if slices.Contains(got, w) {
				t.Errorf("%s: %s is possible", text, w)
			}
		}
		faults := parse(t, got...)
		expect.NoError(t, CheckTargets(faults, spec))
		if WithMeans(spec, faults).String() != spec.String() {
			t.Errorf("%s: %q takes more", text, got)
		}
	}
}
