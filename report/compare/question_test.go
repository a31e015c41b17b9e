package compare

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/report"
)

// configured is a group of a series, with values in the form AXIS=VALUE.
func configured(values []string, perSecond ...float64) Group {
	g := group(strings.Join(values, ", "), perSecond...)
	for _, text := range values {
		axis, value, _ := strings.Cut(text, "=")
		g.Values = append(g.Values, report.Setting{Name: axis, Value: value})
	}
	return g
}

// around are five values near one.
func around(v float64) []float64 { return []float64{v, v * 1.01, v * 0.99, v * 1.005, v * 0.995} }

func series() []Group {
	return []Group{
		configured([]string{"cluster=postgres:2", "clients=1"}, around(1000)...),
		configured([]string{"cluster=postgres:2", "clients=8"}, around(4000)...),
		configured([]string{"cluster=mongodb:3", "clients=1"}, around(700)...),
		configured([]string{"cluster=mongodb:3", "clients=8"}, around(3900)...),
	}
}

func answered(t *testing.T, groups []Group, text, called string) Answer {
	t.Helper()
	p, err := ParsePairing(text, called)
	expect.NoError(t, err)
	a, err := p.Answer(groups)
	expect.NoError(t, err)
	return a
}

// TestAnswers: the sentence has figure, interval, chance and runs, in both directions, and says
// how large a difference could have been shown where none is.
func TestAnswers(t *testing.T) {
	noisy := []float64{960, 1040, 1000, 1010, 985}
	alike := []Group{configured([]string{"db=a", "clients=4"}, noisy...), configured([]string{"db=b", "clients=4"}, 1020, 965, 1005, 990, 1035)}
	apart := []Group{configured([]string{"db=a", "clients=1"}, around(2000)...), configured([]string{"db=b", "clients=1"}, around(1000)...),
		configured([]string{"db=a", "clients=8"}, around(1000)...), configured([]string{"db=b", "clients=8"}, around(1500)...)}
	for _, c := range []struct {
		groups             []Group
		text, called, want string
	}{
		{series(), "clients=8 against clients=1 in tps", "eight clients", "With eight clients, throughput is 4.8 times as high as with clients=1 (4 to 5.6 times; p<0.001; 5 runs each; cluster postgres:2, mongodb:3)."},
		{series(), "postgres & clients=1 against postgres & clients=8 in throughput", "", "With clients=1, throughput of postgres is 75 % lower than with clients=8 (75 %; p=0.008; 5 runs each)."},
		{alike, "a against b in throughput", "", "With a, throughput has no difference from b that these runs could show (at most 4.8 %; p=0.841; 5 runs each; clients 4)."},
		{apart, "a against b in throughput", "", "With a, throughput is 2 times as high as with b (2 times; p=0.008; 5 runs each; clients 1); it is 33 % lower than with b (32 to 34 %; p=0.008; 5 runs each; clients 8)."},
	} {
		if got := answered(t, c.groups, c.text, c.called); got.Sentence != c.want || !got.Known || len(got.Rows) == 0 || len(got.Rows[0]) != len(AnswerHead()) {
			t.Errorf("%s:\n%s\nwant\n%s", c.text, got.Sentence, c.want)
		}
	}
}

// TestWhatBothSidesName: a word that both sides have chooses configurations, and pairs do not differ in it.
func TestWhatBothSidesName(t *testing.T) {
	groups := append(series(), configured([]string{"cluster=mongodb:2+arbiter", "clients=1"}, around(900)...), configured([]string{"cluster=mongodb:2+arbiter", "clients=8"}, around(5000)...))
	got := answered(t, groups, "mongodb & clients=8 against mongodb & clients=1 in throughput", "")
	if len(got.Rows) != 2 || !strings.Contains(got.Sentence, "throughput of mongodb is") || !strings.Contains(got.Sentence, "5 runs each; cluster mongodb:3, mongodb:2+arbiter).") {
		t.Errorf("%s\n%v", got.Sentence, got.Rows)
	}
}

// TestATripleIsShown: five valid runs against five whose intervals do not touch tell a ratio of
// three in any number of pairs; fewer runs of several pairs tell it together.
func TestATripleIsShown(t *testing.T) {
	for _, runs := range []int{3, 4, 5} {
		var groups []Group
		for _, clients := range []string{"1", "2", "4", "8", "16", "32", "64", "128"} {
			groups = append(groups, configured([]string{"db=a", "clients=" + clients}, around(3000)[:runs]...), configured([]string{"db=b", "clients=" + clients}, around(1000)[:runs]...))
		}
		if got := answered(t, groups, "a against b in throughput", ""); !strings.Contains(got.Sentence, "3 times as high as with b (2.9 to 3.1 times; p<0.001") && !strings.Contains(got.Sentence, "3 times as high as with b (3 times; p<0.001") {
			t.Errorf("%d runs each: %s", runs, got.Sentence)
		}
		if got := answered(t, groups[:2], "a against b in throughput", ""); strings.Contains(got.Sentence, "too few") != (runs < 4) {
			t.Errorf("%d runs of one pair: %s", runs, got.Sentence)
		}
	}
}

// TestRankChances: they are those of the U test's table, and sum to 1.
func TestRankChances(t *testing.T) {
	chances, sum := rankChances(5, 5), 0.0
	for _, p := range chances {
		sum += p
	}
	if len(chances) != 26 || math.Abs(chances[0]-1.0/252) > 1e-12 || math.Abs(chances[2]-2.0/252) > 1e-12 || math.Abs(sum-1) > 1e-12 {
		t.Errorf("%v, together %v", chances, sum)
	}
}

// TestAnswersNeedEvidence: what rests on invalid measurements is not known, and is said where the
// other pairs are.
func TestAnswersNeedEvidence(t *testing.T) {
	groups := series()
	for i := range groups[0].Runs {
		groups[0].Runs[i].Result.Measurement = report.Measurement{Verdict: "invalid", Reasons: []string{"machine busy: by others"}}
	}
	got := answered(t, groups, "postgres:2 against mongodb:3 in throughput", "")
	expect.Text(t, "one pair of two", got.Sentence, "2.6 % higher", "not known, since no measurement of a side is valid (clients 1; machine busy (5))")
	if got = answered(t, []Group{groups[0], groups[2]}, "postgres:2 against mongodb:3 in throughput", ""); got.Known || !strings.Contains(got.Sentence, "is not known") {
		t.Errorf("%+v", got)
	}
}

// TestAnswersOfCutFigures: what the run's end cut is a bound, and shows nothing that it does not.
func TestAnswersOfCutFigures(t *testing.T) {
	a, b, short := outages("a", true, 22, 22.1, 22.2, 22.1, 22), outages("b", false, 25, 26, 25, 27, 25), outages("c", false, 3, 4, 3, 5, 4)
	expect.Text(t, "cut before the other was as long", answered(t, []Group{a, b}, "a against b in outage", "").Sentence, "no difference from b that these runs could show (not known how large a one")
	expect.Text(t, "longer whatever it was cut at", answered(t, []Group{a, short}, "a against c in outage", "").Sentence, "at least 5.5 times as high as with c (at least 4.4 times; p=0.008")
	expect.Text(t, "shorter than what was cut", answered(t, []Group{a, short}, "c against a in outage", "").Sentence, "With c, outage is at least 82 % lower than with a (at least 77 %; p=0.008")
	some, longer := outages("d", true, 4, 4), outages("e", false, 5, 5)
	expect.Text(t, "cut before the other", answered(t, []Group{some, longer}, "d against e in outage", "").Sentence, "With d, outage is at most 20 % lower than with e in these runs (at least -20 %; 2 runs each)")
	none := outages("f", false, 0, 0, 0, 0, 0)
	expect.Text(t, "none where the other was cut", answered(t, []Group{a, none}, "f against a in outage", "").Sentence, "With f, outage is at least 22.1 s lower than with a (at most -22.0 s; p=0.008")
}

func TestPairingErrors(t *testing.T) {
	for text, want := range map[string]string{
		"postgres:2 against mongodb:3":                    "write SIDE against SIDE in FIGURE",
		"postgres:2 > mongodb:3 in tps":                   "write SIDE against SIDE in FIGURE",
		" against mongodb:3 in tps":                       "write SIDE against SIDE in FIGURE",
		"oracle against mongodb:3 in tps":                 "no configuration has oracle; values are cluster=postgres:2",
		"clients=1 & postgres:2 against mongodb:4 in tps": "no configuration has mongodb:4",
		"postgres:2 against postgres:2 in tps":            "differs",
		"postgres:2 against mongodb:3 in beauty":          `"beauty" is no figure`,
		"postgres:2 against mongodb:3 in throughputt":     "did you mean throughput?",
		"postgres:2 against mongodb:3 in lost":            "which only workload availability counts",
		"postgres:2 against mongodb:3 in outage":          "none has a fault",
		"postgres:2 against mongodb:3 in degradation":     "none has a ramp",
		"postgres:2 against mongodb:3 in 15 workers: too": "no figure",
	} {
		p, err := ParsePairing(text, "")
		if err == nil {
			err = p.Check(series(), Work{})
		}
		var refused *PairingError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	rounds := Work{Rounds: []string{"1 worker", "15 workers"}}
	for text, want := range map[string]string{"15 workers: took": "", "16 workers: took": `no run has a round "16 workers"; there are 1 worker, 15 workers`, "15 workers: beauty": "has no figure"} {
		if got := rounds.lacks(text); want == "" && got != "" || want != "" && !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestSubjects: a sentence calls a figure of a round by words of its own.
func TestSubjects(t *testing.T) {
	r := &report.Result{Rounds: []report.Round{{Name: "quick, warm", Seconds: 2}, {Name: "15 workers", Seconds: 2}}}
	for name, want := range map[string]string{"quick, warm: took": "the time of “quick, warm”", "quick, warm: longest": "the longest operation in “quick, warm”", "15 workers: took": "the time of 15 workers", "throughput": "throughput"} {
		r.Rounds[0].Service.Count = 1
		if m, found := find(layoutMetrics(r), name); !found || m.subject() != want {
			t.Errorf("%s is called %q, want %q", name, m.subject(), want)
		}
	}
}

// TestFoundAnswer says how runs ended, and what first.
func TestFoundAnswer(t *testing.T) {
	groups := []Group{outages("a", false, 3, 4)}
	for _, r := range groups[0].Runs { // the second is not seen to have taken effect
		r.Result.Faults[0].Proven = true
		r.Result.Faults = append(r.Result.Faults, report.Fault{Action: "kill", Target: "n1"})
	}
	if a := FoundAnswer(groups); a.Sentence != "Nothing wrong was found in 2 runs with 2 faults." || !a.Known {
		t.Errorf("%+v", a)
	}
	some := outages("a", false, 3)
	some.Failed, some.Waiting = 1, 2
	if a := FoundAnswer([]Group{some}); a.Known || !strings.Contains(a.Sentence, "Not known of 3 runs that were not made.") {
		t.Errorf("%+v", a)
	}
	groups[0].Runs[1].Result.Verdict = 2
	if a := FoundAnswer(groups); slices.Contains([]string{"", "Nothing wrong was found in 2 runs with 2 faults."}, a.Sentence) {
		t.Errorf("%+v", a)
	}
	if a := FoundAnswer(nil); a.Known {
		t.Errorf("%+v", a)
	}
}
