package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"assay/history"
	"assay/internal/expect"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// golden compares got with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		expect.NoError(t, os.WriteFile(path, got, 0o644))
		return
	}
	want, err := os.ReadFile(path)
	expect.NoError(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update writes it anew, look at the difference):\n%s", path, got)
	}
}

func textOf(t *testing.T, r *Result, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	expect.NoError(t, Text(&b, r, o))
	return b.String()
}

func TestTextGolden(t *testing.T) {
	for name, r := range examples() {
		got := textOf(t, r, TextOptions{Report: "runs/20260301T120000Z-bank-postgres/report.html"})
		golden(t, name+".txt", []byte(got))
	}
}

func TestTextKeepsToItsWidth(t *testing.T) {
	for name, r := range examples() {
		for _, width := range []int{0, 20, 72, 80, 100, 200} {
			limit := width
			switch {
			case width == 0:
				limit = 80
			case width < 72:
				limit = 72
			}
			for line := range strings.SplitSeq(textOf(t, r, TextOptions{Width: width}), "\n") {
				if n := utf8.RuneCountInString(line); n > limit {
					t.Errorf("%s at %d: %d columns: %s", name, width, n, line)
				}
				if strings.TrimRight(line, " ") != line {
					t.Errorf("%s at %d: space at the end: %q", name, width, line)
				}
			}
		}
	}
}

// TestTextIsShort holds that a run in which nothing was wrong fits on a
// screen, whatever the number of checks.
func TestTextIsShort(t *testing.T) {
	smooth := bankRun()
	smooth.Outcomes, smooth.Measured = history.Counts{Committed: 155260}, history.Counts{Committed: 138559}
	smooth.Errors, smooth.Uncommitted = nil, Latency{}
	for _, c := range []struct {
		name  string
		r     *Result
		lines int
	}{{"a bank with failed transfers", bankRun(), 46}, {"a bank without", smooth, 42}} {
		if got := strings.Count(textOf(t, c.r, TextOptions{Report: "runs/x/report.html"}), "\n"); got > c.lines {
			t.Errorf("the summary of %s has %d lines, want at most %d", c.name, got, c.lines)
		}
	}
}

// TestTextLeavesOutOnlyTheUsual changes one fact at a time and finds it in the
// summary.
func TestTextLeavesOutOnlyTheUsual(t *testing.T) {
	usual := func() *Result {
		r := bankRun()
		r.Outcomes, r.Measured = history.Counts{Committed: 155260}, history.Counts{Committed: 138559}
		r.Errors, r.Database.Nodes, r.Database.Replicas, r.Data.Kept = nil, number(1), nil, r.Database.Address
		return r
	}
	for _, c := range []struct {
		word   string
		change func(*Result)
	}{
		{"tester        used 23 %", func(r *Result) { r.Measurement.Verdict = "invalid" }},
		{"service       6.98 ms", func(r *Result) { r.ServiceTime = latencyOf(135804, 6.98, 0.8) }},
		{"uncommitted    900 ms", func(r *Result) { r.Uncommitted = latencyOf(20, 900, 0.2) }},
		{"machines      2 nodes", func(r *Result) { r.Database.Nodes = number(2) }},
		{"retries       failed, at most 10", func(r *Result) { r.Retries.Policy = "failed" }},
		{"data size     ", func(r *Result) { r.Data.Measured = "keys and values" }},
		{" of keys and values", func(r *Result) { r.Data.Measured = "keys and values" }},
		{"kept in schema x", func(r *Result) { r.Data.Kept = "schema x" }},
		{"timeout 30 s", func(r *Result) { r.Outcomes.Unknown = 1 }},
		{"unknown              0", func(r *Result) { r.Outcomes.Unknown = 1 }},
		{"errors        3 timeout (unknown)", func(r *Result) { r.Errors = []ErrorCount{{Class: "timeout", Outcome: "unknown", Attempts: 3}} }},
		{"promises      serializable", func(r *Result) { r.Database.Promise = "serializable" }},
		{"10,000 rows in accounts", func(r *Result) { r.Data.Bytes = 0 }},
		{"thresholds    MISSED", func(r *Result) { r.Thresholds = []Threshold{{Text: "p99<1ms"}} }},
	} {
		if strings.Contains(joinedLines(textOf(t, usual(), TextOptions{})), c.word) {
			t.Errorf("%q is in the summary of a run in which all is as usual", c.word)
		}
		r := usual()
		c.change(r)
		if got := textOf(t, r, TextOptions{}); !strings.Contains(joinedLines(got), c.word) {
			t.Errorf("%q is not in the summary:\n%s", c.word, got)
		}
	}
}

// joinedLines undoes the wrapping.
func joinedLines(text string) string {
	return strings.ReplaceAll(text, "\n              ", " ")
}

// TestBytesPerTransfer: what was loaded is not divided by the transfers, and a
// growth that says nothing is not divided at all.
func TestBytesPerTransfer(t *testing.T) {
	for loaded, want := range map[int64]string{
		21_457_280: "500 B added per transfer",
		31_457_280: "no larger than after loading, so that bytes per transfer cannot be told",
		41_457_280: "no larger than after loading, so that bytes per transfer cannot be told",
		31_400_000: "57.3 kB more than after loading, too little to tell bytes per transfer",
	} {
		r := validRun()
		r.Data.Rows, r.Data.Loaded = map[string]int64{"transfer": 20_000}, &loaded
		expect.Text(t, loaded, textOf(t, r, TextOptions{Width: 200}), "; "+want+"\n")
	}
	r := validRun()
	r.Data.Loaded = nil // as earlier versions left it
	if text := textOf(t, r, TextOptions{Width: 200}); strings.Contains(text, "per transfer") {
		t.Errorf("%s", text)
	}
}
