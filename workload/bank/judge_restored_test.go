package bank

import (
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/workload/definition"
)

// TestJudgeRestored: a state that lacks the last transfer is one of a moment, one that has it
// and lacks the first is not, and one that could not be read has no verdict. The whole state is
// judged beside them as ever.
func TestJudgeRestored(t *testing.T) {
	without := func(n int) string { // the first, or the last of three
		b := newBooks(t)
		b.store = &rows{accounts: opening(b.config.Accounts)}
		for seq := range uint64(5) {
			if done := []int{0, -1, -1, 1, 2}[seq]; done >= 0 && done != n {
				b.apply(b.transfer(seq))
			}
		}
		return saved(t, b.store)
	}
	b := newBooks(t)
	for _, test := range []struct {
		name    string
		states  []definition.Restored
		verdict check.Verdict
		kinds   []string
		detail  string
	}{
		{"none", nil, check.Unknown, nil, ""},
		{"the last is missing", []definition.Restored{{Number: 1, Backup: 1, State: without(2), Begun: 3, Target: -1}}, check.Valid, nil, "it lacks 1 acknowledged transfer, 0 of which"},
		{"the first is missing", []definition.Restored{{Number: 1, Backup: 1, State: without(0), Begun: 3, Target: -1}}, check.Violated, []string{"no-moment"}, "1 finding"},
		{"one of two", []definition.Restored{{Number: 1, Backup: 1, State: without(2), Target: -1}, {Number: 2, Backup: 1, State: without(0), Target: -1}}, check.Violated, []string{"no-moment"}, "restore 2"},
		{"one was not read", []definition.Restored{{Number: 1, Backup: 1, State: without(2), Target: -1}, {Number: 2, Backup: 2, Problem: "no such table"}}, check.Unknown, nil, "no such table"},
		{"before a moment", []definition.Restored{{Number: 1, Backup: 1, State: without(2), Target: 6}}, check.Violated, []string{"missing-before-target"}, "1 finding"},
	} {
		e := b.files(t)
		e.Restored = test.states
		judged, err := b.config.Judge(t.Context(), b.seed, e)
		expect.NoError(t, err)
		i := slices.IndexFunc(judged.Results, func(r check.Result) bool { return r.Name == "restored" })
		if i < 0 {
			if test.states != nil {
				t.Errorf("%s: no check", test.name)
			}
			continue
		}
		r := judged.Results[i]
		var kinds []string
		for _, f := range r.Findings {
			kinds = append(kinds, f.Kind)
		}
		if r.Verdict != test.verdict || !slices.Equal(kinds, test.kinds) || !strings.Contains(r.Detail, test.detail) {
			t.Errorf("%s: %v: %s %v", test.name, r.Verdict, r.Detail, r.Evidence)
		}
		for _, other := range judged.Results[:i] {
			if other.Verdict == check.Violated {
				t.Errorf("%s: %s: %s", test.name, other.Name, other.Detail)
			}
		}
		if m, known := judged.Moments[1]; !known || m.Lacks != 1 {
			t.Errorf("%s: moment %+v, %v", test.name, m, known)
		}
	}
}

// TestRestoredAfterALoss: what the database itself has lost is held against it, and not
// against a backup that lacks it too, though it has what was started later.
func TestRestoredAfterALoss(t *testing.T) {
	b := newBooks(t)
	b.store = &rows{accounts: opening(b.config.Accounts)}
	for _, seq := range []uint64{3, 4} { // 0 was acknowledged, and is gone
		b.apply(b.transfer(seq))
	}
	e := b.files(t)
	e.Restored = []definition.Restored{{Number: 1, Backup: 1, State: e.State, Begun: 6, Target: 6}}
	judged, err := b.config.Judge(t.Context(), b.seed, e)
	expect.NoError(t, err)
	got := verdicts(t, judged)
	if got["restored"] != check.Valid || got["transfers"] != check.Violated {
		t.Errorf("%+v", judged.Results)
	}
	if m := judged.Moments[1]; m.Lacks != 0 {
		t.Errorf("%+v", m)
	}
}

// TestAStateThatWasCut has neither a verdict nor a moment: that it lacks nothing is not known.
func TestAStateThatWasCut(t *testing.T) {
	b := newBooks(t)
	e := b.files(t)
	path := saved(t, b.store)
	cut(t, path, 1)
	e.Restored = []definition.Restored{{Number: 1, Backup: 1, State: path, Target: -1, Alone: true}}
	judged, err := b.config.Judge(t.Context(), b.seed, e)
	expect.NoError(t, err)
	if _, known := judged.Moments[1]; known || verdicts(t, judged)["restored"] != check.Unknown {
		t.Errorf("%+v, moments %+v", judged.Results, judged.Moments)
	}
}
