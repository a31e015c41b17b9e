package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"assay/internal/expect"
)

// A statement is one line of the terminal, with its figures below their heads, and whole on the
// page.
func TestAStatementIsOneLineOnTheTerminal(t *testing.T) {
	long := "update pgbench_branches set bbalance = bbalance + ? where bid = ? and the_last_word = ?"
	of := &Replay{Statements: []ReplayedStatement{
		{Statement: long, Count: 18_015, RecordedP50: 0.188, RecordedP99: 4.54, P50: 0.335, P99: 9.28},
		{Statement: "begin", Count: 18_015, RecordedP50: 0.001, RecordedP99: 0.006, P50: 0.053, P99: 3.92, NewErrors: 12},
	}, Errors: []ReplayError{{Statement: long, Error: "ERROR: deadlock detected (SQLSTATE 40P01)", Times: 12}}}
	tables := replayTables(of)
	for width, heads := range map[int]string{80: "count then p50 now p50 ratio new errors", 160: "count then p50 now p50 ratio then p99 now p99 new errors"} {
		w := newTextWriter(TextOptions{Width: width})
		w.table(tables[0])
		var b bytes.Buffer
		expect.NoError(t, w.writeTo(&b))
		lines := strings.Split(strings.Trim(b.String(), "\n"), "\n")
		if len(lines) != 3 || strings.Join(strings.Fields(lines[0])[1:], " ") != heads || !strings.HasPrefix(lines[1], "update pgbench_branches") {
			t.Fatalf("%d columns:\n%s", width, b.String())
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > width || n != utf8.RuneCountInString(lines[0]) {
				t.Errorf("%d columns: a line of %d:\n%s", width, n, b.String())
			}
		}
		if cutOff := strings.Contains(lines[1], "…"); cutOff != (width == 80) {
			t.Errorf("%d columns: cut %v:\n%s", width, cutOff, b.String())
		}
	}
	if tables[0].Rows[0][0] != long || tables[1].Rows[0][0] != long {
		t.Errorf("the page has %q and %q", tables[0].Rows[0][0], tables[1].Rows[0][0])
	}
	for text, want := range map[string]string{"select a from b: p50": "select a…: p50", "a: select from b": "a: select fro…"} {
		if got := shortened(text, 14); got != want {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
}
