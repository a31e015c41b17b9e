package script

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/workload/definition"
)

const judged = `
def f(tx, r):
    pass
transaction("f", run = f)
transaction("g", run = f)
invariant("sum", "SELECT sum(a) FROM t", equals = 10)
invariant("none", "SELECT a FROM t WHERE a < 0", empty = True, at_end = True)
counted("t", transaction = "f", each = 2, start = 1)
`

// recorded is one attempt as a history has it.
type recorded struct {
	client      int
	seq         uint64
	attempt     int
	last        bool
	kind        uint8
	outcome     history.Outcome
	final       history.Outcome
	values      []int64
	reservation uint64
}

// evidence writes a history and a state.
func evidence(t *testing.T, whole bool, ops []recorded, state string) definition.Evidence {
	t.Helper()
	dir := t.TempDir()
	e := definition.Evidence{History: filepath.Join(dir, "history.bin"), State: filepath.Join(dir, FileState)}
	w, err := history.Create(e.History, history.Header{Run: "r", Workload: Name})
	expect.NoError(t, err)
	for _, o := range ops {
		if o.reservation > 0 {
			err = w.Reserve(history.Reservation{Client: o.client, UpTo: o.reservation})
		} else {
			err = w.Record(&history.Op{Client: o.client, Seq: o.seq, Attempt: o.attempt, Last: o.last, Kind: o.kind, Outcome: o.outcome, Final: o.final, Values: o.values})
		}
		expect.NoError(t, err)
	}
	expect.NoError(t, w.Close())
	if !whole { // as a kill leaves it: without its last frame
		content, err := os.ReadFile(e.History)
		if err == nil {
			err = os.WriteFile(e.History, content[:len(content)-4], 0o600)
		}
		expect.NoError(t, err)
	}
	if state != "" {
		expect.NoError(t, os.WriteFile(e.State, []byte(state), 0o600))
	}
	return e
}

func stateOf(sum, none, count string) string {
	return `{"invariants":[{"rows":[[` + sum + `]],"count":1},{"rows":[` + none + `],"count":` + map[bool]string{true: "0", false: "1"}[none == ""] + `}],"counts":[{"rows":[[` + count + `]],"count":1}],
		"findings":[{"check":"expected","index":0,"text":"client 0, operation 0: n was to be 5 and is 4"},{"check":"invariants","index":0,"text":"sum: wanted 10, got 9"}]}`
}

func committedF(seq uint64, values ...int64) recorded {
	return recorded{seq: seq, attempt: 1, last: true, kind: 1, outcome: history.Committed, final: history.Committed, values: values}
}

func judgeOf(t *testing.T, c Config, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	t.Helper()
	return c.Judge(t.Context(), seed, e)
}

// TestJudge holds each rule: what breaks it, beside a twin that does not.
func TestJudge(t *testing.T) {
	good := []recorded{committedF(0, 1, 0), committedF(1, 1, 0), {seq: 2, attempt: 1, last: true, kind: 2, outcome: history.Committed, final: history.Committed, values: []int64{0, 0}},
		{client: 9, attempt: 1, last: true, kind: KindObserve, outcome: history.Committed, final: history.Committed}}
	unknown := append(good[:len(good):len(good)], recorded{seq: 3, attempt: 1, last: true, kind: 1})
	retried := append(good[:len(good):len(good)], recorded{seq: 3, attempt: 1, kind: 1},
		recorded{seq: 3, attempt: 2, last: true, kind: 1, outcome: history.Failed, final: history.Committed})
	twice := append(good[:len(good):len(good)], recorded{seq: 3, attempt: 1, kind: 1},
		recorded{seq: 3, attempt: 2, last: true, kind: 1, outcome: history.Committed, final: history.Committed, values: []int64{0, 0}})
	seen := append(good[:len(good):len(good)], recorded{client: 9, seq: 1, attempt: 1, last: true, kind: KindObserve, outcome: history.Committed, final: history.Committed, values: []int64{0}})
	missed := append([]recorded{committedF(0, 1, 1)}, good[1:]...)
	for name, c := range map[string]struct {
		ops                        []recorded
		state                      string
		invariants, counted, expec check.Verdict
		text                       string
	}{
		"good":                     {good, stateOf("10", "", "5"), check.Valid, check.Valid, check.Valid, ""},
		"a sum as a float":         {good, stateOf("10.0", "", "5"), check.Valid, check.Valid, check.Valid, ""},
		"another sum":              {good, stateOf("11", "", "5"), check.Violated, check.Valid, check.Valid, "sum: wanted 10, got 11, at the end"},
		"a sum of nothing":         {good, stateOf("null", "", "5"), check.Violated, check.Valid, check.Valid, "wanted 10, got null"},
		"a sum that is a text":     {good, stateOf(`"10"`, "", "5"), check.Violated, check.Valid, check.Valid, `got "10"`},
		"a row too many":           {good, stateOf("10", "[-1]", "5"), check.Violated, check.Valid, check.Valid, "no row was to be there, and 1 were, such as (-1)"},
		"a lost row":               {good, stateOf("10", "", "4"), check.Valid, check.Violated, check.Valid, "at least 5 were to be there"},
		"a row twice":              {good, stateOf("10", "", "6"), check.Valid, check.Violated, check.Valid, "at most 5 were to be there"},
		"unknown, done":            {unknown, stateOf("10", "", "7"), check.Valid, check.Valid, check.Valid, ""},
		"unknown, not done":        {unknown, stateOf("10", "", "5"), check.Valid, check.Valid, check.Valid, ""},
		"unknown, half done":       {unknown, stateOf("10", "", "6"), check.Valid, check.Violated, check.Valid, "each was to leave 2 rows, or none"},
		"unknown, done twice":      {unknown, stateOf("10", "", "8"), check.Valid, check.Violated, check.Valid, "at most 7"},
		"found done":               {retried, stateOf("10", "", "7"), check.Valid, check.Valid, check.Valid, ""},
		"found done, and not":      {retried, stateOf("10", "", "6"), check.Valid, check.Violated, check.Valid, "at least 7"},
		"committed, maybe earlier": {twice, stateOf("10", "", "9"), check.Valid, check.Valid, check.Valid, ""},
		"committed, lost":          {twice, stateOf("10", "", "6"), check.Valid, check.Violated, check.Valid, "at least 7"},
		"observed":                 {seen, stateOf("10", "", "5"), check.Violated, check.Valid, check.Valid, "sum: wanted 10, got 9"},
		"unexpected":               {missed, stateOf("10", "", "5"), check.Valid, check.Valid, check.Violated, "n was to be 5 and is 4"},
		"nothing was read":         {good, "", check.Unknown, check.Unknown, check.Valid, ""},
	} {
		j, err := judgeOf(t, configOf("x.star", judged), 1, evidence(t, true, c.ops, c.state))
		if err != nil || len(j.Results) != 3 {
			t.Errorf("%s: %+v, %v", name, j, err)
			continue
		}
		text := ""
		for i, want := range []check.Verdict{c.invariants, c.counted, c.expec} {
			r := j.Results[i]
			if r.Verdict != want || (r.Found > 0) != (want == check.Violated) {
				t.Errorf("%s: %s is %v with %d findings (%s), want %v", name, r.Name, r.Verdict, r.Found, r.Detail, want)
			}
			for _, e := range r.Evidence {
				text += e.Text + "\n"
			}
		}
		if !strings.Contains(text, c.text) || c.text == "" && text != "" {
			t.Errorf("%s: the evidence is %q, want %q", name, text, c.text)
		}
	}
}

// TestNothingCounted: a count that no committed transaction put to the test has no verdict.
func TestNothingCounted(t *testing.T) {
	ops := []recorded{{attempt: 1, last: true, kind: 1}, {seq: 1, attempt: 1, last: true, kind: 2, outcome: history.Committed, final: history.Committed, values: []int64{0, 0}}}
	for count, want := range map[string]check.Verdict{"1": check.Unknown, "3": check.Unknown, "0": check.Violated, "4": check.Violated} {
		j, err := judgeOf(t, configOf("x.star", judged), 1, evidence(t, true, ops, stateOf("10", "", count)))
		if err != nil || j.Results[1].Name != CheckCounted || j.Results[1].Verdict != want {
			t.Errorf("%s rows: %+v, %v, want %v", count, j.Results, err, want)
		}
	}
}

// TestPartsOfSeveralTransactions: a script that begins and ends several transactions may have done
// some of them, and one in a transaction may not.
func TestPartsOfSeveralTransactions(t *testing.T) {
	const rows = "INSERT INTO journal VALUES (:operation_id, 1);\nINSERT INTO journal VALUES (-:operation_id, 1);\n"
	for text, want := range map[string]check.Verdict{
		rows:                                     check.Valid,
		"BEGIN;\n" + rows + "COMMIT;\n":          check.Violated,
		strings.Replace(rows, ";\n", "\\;\n", 1): check.Valid, // MariaDB commits each
		"CALL both(:operation_id);\n":            check.Valid, // it may commit
		"BEGIN;\n" + rows + "CREATE TABLE t (a int);\nCOMMIT;": check.Valid, // MariaDB commits what is before
	} {
		c := configOf("f.sql", "-- assay: counted journal each 2:\n"+text)
		c.Setup, c.SetupText = "setup.sql", "CREATE TABLE journal (id bigint PRIMARY KEY, amount bigint);"
		ops := []recorded{committedF(0, 0, 0), {seq: 1, attempt: 1, last: true, kind: 1, outcome: history.Unknown, final: history.Unknown}}
		j, err := judgeOf(t, c, 1, evidence(t, true, ops, `{"invariants":[],"counts":[{"rows":[[3]],"count":1}],"findings":[]}`))
		if err != nil || len(j.Results) != 1 || j.Results[0].Verdict != want || want == check.Violated && j.Results[0].Evidence[0].Kind != kindHalf {
			t.Errorf("%s: %+v, %v, want %v", text, j.Results, err, want)
		}
	}
}

// TestJudgeOfAKilledRun: what was reserved and has no record may have been done.
func TestJudgeOfAKilledRun(t *testing.T) {
	ops := []recorded{{reservation: 5}, committedF(0, 1, 0)}
	whole, err := judgeOf(t, configOf("x.star", judged), 1, evidence(t, true, ops, stateOf("10", "", "9")))
	if err != nil || whole.Results[1].Verdict != check.Violated || whole.Counts.Unknown != 0 {
		t.Errorf("a run that ended: %+v, %v", whole, err)
	}
	cut, err := judgeOf(t, configOf("x.star", judged), 1, evidence(t, false, ops, stateOf("10", "", "3")))
	if err != nil || cut.Results[1].Verdict == check.Violated || cut.Counts.Unknown < 4 || cut.Counts.Total() != 5 {
		t.Errorf("a run that was killed: %+v, %v", cut, err)
	}
	again := []recorded{{reservation: 1}, {attempt: 1, kind: 1, outcome: history.Unknown}, {client: 1, reservation: 1}}
	twice, err := judgeOf(t, configOf("x.star", judged), 3, evidence(t, false, again, stateOf("10", "", "5")))
	if err != nil || twice.Results[1].Verdict == check.Violated {
		t.Errorf("an attempt without an answer, and a killed one: %+v, %v", twice, err)
	}
}

// TestMalformedEvidence: files that cannot be are told, and nothing is judged by them.
func TestMalformedEvidence(t *testing.T) {
	good := []recorded{committedF(0, 1, 0)}
	for name, e := range map[string]definition.Evidence{
		"no JSON":          evidence(t, true, good, "{"),
		"other invariants": evidence(t, true, good, `{"invariants":[],"counts":[]}`),
		"a nested value":   evidence(t, true, good, stateOf(`{"a":1}`, "", "5")),
		"another kind":     evidence(t, true, []recorded{{attempt: 1, last: true, kind: 7}}, stateOf("10", "", "1")),
		"no values":        evidence(t, true, []recorded{committedF(0)}, stateOf("10", "", "3")),
		"an observation":   evidence(t, true, []recorded{{attempt: 1, last: true, kind: KindObserve, outcome: history.Committed, values: []int64{5}}}, stateOf("10", "", "1")),
	} {
		var malformed *history.FormatError
		if j, err := judgeOf(t, configOf("x.star", judged), 1, e); !errors.As(err, &malformed) {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
	}
}

// TestNothingDeclared: without anything that must hold nothing is judged, and that is said.
func TestNothingDeclared(t *testing.T) {
	j, err := judgeOf(t, configOf("x.star", declared("")), 1, evidence(t, true, []recorded{committedF(0, 0, 0)}, `{"invariants":null,"counts":null,"findings":null}`))
	if err != nil || len(j.Results) != 0 || j.Unasked == "" {
		t.Errorf("%+v, %v", j, err)
	}
}
