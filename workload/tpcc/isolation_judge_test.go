package tpcc

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
)

// honestTests are what the isolation tests leave on a database where nobody waits for
// who only reads.
func honestTests() []IsolationTest {
	before, after := []int64{1, 5, 25_000}, []int64{2, 5, 10_000}
	return []IsolationTest{
		{Test: 1, Early: true, First: true, Second: true, Before: before, Done: after, Seen: before},
		{Test: 2, Early: true, Second: true, Before: before, Done: after, Seen: before},
		{Test: 3, Waited: true, First: true, Second: true, Before: []int64{2}, Done: []int64{2}, Seen: []int64{3}, After: []int64{4}},
		{Test: 4, Waited: true, Second: true, Before: []int64{2}, Done: []int64{2}, Seen: []int64{2}, After: []int64{3}},
		{Test: 5, Waited: true, First: true, Second: true, Before: []int64{-1000}, Done: []int64{25_000}, Seen: []int64{300}, After: []int64{23_700}},
		{Test: 6, Waited: true, Second: true, Before: []int64{-1000}, Done: []int64{25_000}, Seen: []int64{300}, After: []int64{-1300}},
		{Test: 7, Early: true, First: true, Second: true, Before: []int64{1000, 1000}, Seen: []int64{1000, 1000}, Again: []int64{1000, 1000},
			Done: []int64{1100, 1100}, After: []int64{1100, 1100}},
		{Test: 8, Early: true, First: true, Second: true, Seen: []int64{0}, Again: []int64{0}, Done: []int64{2}},
		{Test: 9, Early: true, First: true, Second: true, Seen: []int64{1}, Again: []int64{1}, Done: []int64{2}},
	}
}

// judgedTests are the isolation tests of a folder, judged by a promise.
func judgedTests(t *testing.T, tests []IsolationTest, promise string) (*check.Result, string) {
	t.Helper()
	folder := t.TempDir()
	text, err := json.Marshal(isolationRecord{Tests: tests})
	expect.NoError(t, err)
	expect.NoError(t, os.WriteFile(filepath.Join(folder, FileIsolation), text, 0o600))
	result, shown, note, err := judgeIsolation(folder, promise)
	if err != nil || result == nil || len(shown) != len(tests) {
		t.Fatalf("%v, %d tests, %v", result, len(shown), err)
	}
	return result, note
}

func TestIsolationTestsOfAnHonestDatabase(t *testing.T) {
	for _, promise := range []string{"strict-serializable", "read-committed", ""} {
		if r, note := judgedTests(t, honestTests(), promise); r.Verdict != check.Valid || note != "" || !strings.HasPrefix(r.Detail, "9 of 9 ") {
			t.Errorf("%s: %v: %s, note %q", promise, r.Verdict, r.Detail, note)
		}
	}
	// With locks the second waits, or one is refused.
	tests := honestTests()
	tests[0].Waited, tests[0].Early, tests[0].Seen = true, false, tests[0].Done
	tests[1].Waited, tests[1].Early = true, false
	tests[4].First, tests[4].Refused, tests[4].After = false, "deadlock", []int64{-1300}
	tests[6].Second, tests[6].Done, tests[6].After, tests[6].Refused = false, nil, tests[6].Before, "deadlock"
	tests[7].First, tests[7].Again, tests[7].Refused = false, nil, "deadlock"
	if r, _ := judgedTests(t, tests, "serializable"); r.Verdict != check.Valid {
		t.Errorf("with locks: %v: %s %v", r.Verdict, r.Detail, r.Evidence)
	}
}

// TestIsolationTestsFindWhatIsNotIsolated has one thing wrong at a time. It convicts only
// against a promise.
func TestIsolationTestsFindWhatIsNotIsolated(t *testing.T) {
	for _, c := range []struct {
		test   int
		is     func(x *IsolationTest)
		kind   string
		levels string // that do not allow it, of these three
	}{
		{1, func(x *IsolationTest) { x.Seen = x.Done }, "dirty read", "read-committed snapshot-isolation serializable"},
		{1, func(x *IsolationTest) { x.Early, x.Seen = false, []int64{2, 3, 6000} }, "dirty read", "read-committed snapshot-isolation serializable"},
		{2, func(x *IsolationTest) { x.Seen, x.Early = x.Done, false }, "dirty read", "read-committed snapshot-isolation serializable"},
		{3, func(x *IsolationTest) { x.Seen, x.After = []int64{2}, []int64{3} }, "lost update", "snapshot-isolation serializable"},
		{3, func(x *IsolationTest) { x.After = []int64{3} }, "lost update", "snapshot-isolation serializable"},
		{4, func(x *IsolationTest) { x.Seen, x.After = []int64{3}, []int64{4} }, "dirty read", "read-committed snapshot-isolation serializable"},
		{5, func(x *IsolationTest) { x.After = []int64{-1300} }, "lost update", "snapshot-isolation serializable"},
		{5, func(x *IsolationTest) { x.After = []int64{24_000} }, "lost update", "snapshot-isolation serializable"},
		{6, func(x *IsolationTest) { x.After = []int64{23_700} }, "dirty read", "read-committed snapshot-isolation serializable"},
		{7, func(x *IsolationTest) { x.Again = x.Done }, "non-repeatable read", "snapshot-isolation serializable"},
		{7, func(x *IsolationTest) { x.After = x.Before }, "lost update", "snapshot-isolation serializable"},
		{8, func(x *IsolationTest) { x.Again = x.Done }, "phantom", "snapshot-isolation serializable"},
		{9, func(x *IsolationTest) { x.Again = x.Done }, "phantom", "snapshot-isolation serializable"},
	} {
		tests := honestTests()
		c.is(&tests[c.test-1])
		for _, promise := range []string{"read-uncommitted", "read-committed", "snapshot-isolation", "serializable", ""} {
			r, note := judgedTests(t, tests, promise)
			at := fmt.Sprintf("test %d, %s, at %q: %v, %s", c.test, c.kind, promise, r.Verdict, r.Detail)
			if promise != "" && strings.Contains(c.levels, promise) {
				if r.Verdict != check.Violated || r.Found != 1 || r.Evidence[0].Kind != c.kind || note != "" {
					t.Errorf("%s: want a conviction: %v, note %q", at, r.Evidence, note)
				}
			} else if by := r.Findings[0]; (by.Promised != nil) != (promise != "") || (by.Source == "") != (promise != "") || !strings.Contains(r.Detail, c.kind) {
				t.Errorf("%s: want it said and not convicted: %+v", at, by)
			}
		}
	}
}

func TestIsolationTestsThatWereNotPlayed(t *testing.T) {
	tests := honestTests()
	tests[2] = IsolationTest{Test: 3, NotPlayed: "it took too long"}
	if r, _ := judgedTests(t, tests, "serializable"); r.Verdict != check.Unknown || !strings.Contains(r.Detail, "it took too long") {
		t.Errorf("%v: %s", r.Verdict, r.Detail)
	}
	if r, _ := judgedTests(t, honestTests()[:8], "serializable"); r.Verdict != check.Unknown {
		t.Errorf("8 tests: %v: %s", r.Verdict, r.Detail)
	}
	folder := t.TempDir()
	for text, want := range map[string]string{"": "no record", `{"not_tried": "it cannot"}`: "it cannot"} {
		if text != "" {
			expect.NoError(t, os.WriteFile(filepath.Join(folder, FileIsolation), []byte(text), 0o600))
		}
		r, _, note, err := judgeIsolation(folder, "serializable")
		if r != nil || err != nil || !strings.Contains(note, "not tried: ") || !strings.Contains(note, want) {
			t.Errorf("%q: %v, note %q, %v", text, r, note, err)
		}
		expect.NoError(t, os.RemoveAll(filepath.Join(folder, FileIsolation)))
	}
	for _, text := range []string{"{", `{"tests": [{"test": 10}]}`, `{"tests": [{"test": 1, "before": [1]}]}`, `{"tests": [{"test": 8, "seen": [1], "again": [1, 2]}]}`} {
		expect.NoError(t, os.WriteFile(filepath.Join(folder, FileIsolation), []byte(text), 0o600))
		if _, _, _, err := judgeIsolation(folder, "serializable"); !errors.As(err, new(*history.FormatError)) {
			t.Errorf("%q: %v, want a *history.FormatError", text, err)
		}
	}
}
