package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/measure/servers"
)

// inRounds is a run of two rounds, of which the first is apart if that is so.
func inRounds(apart bool) *Result {
	r := validRun()
	r.Workload = "candles"
	r.Throughput.PerSecond, r.Throughput.Seconds = 56.25, 71
	r.Rounds = []Round{
		{Name: "ingest", Clients: 4, Apart: apart, Seconds: 36.4, Outcomes: history.Counts{Committed: 1400}, PerSecond: 38.5,
			Service: Latency{Count: 1400, Mean: 104, P50: 88, P95: 219, P99: 341, P999: 419, Max: 458},
			Facts:   []Setting{{Name: "rows", Value: "1400000"}}},
		{Name: "day, warm", Clients: 1, Seconds: 6.2},
	}
	return r
}

// TestTablesFitAPage: no table of a run has more than eight columns, which a window holds.
func TestTablesFitAPage(t *testing.T) {
	all := examples()
	facts := inRounds(true)
	for i := range 9 {
		facts.Rounds[0].Facts = append(facts.Rounds[0].Facts, Setting{fmt.Sprint("fact ", i), "1"})
	}
	facts.Servers = &servers.Summary{Nodes: []servers.NodeSummary{{Node: servers.Node{Name: "n1", CPUs: 2}}}}
	facts.TPCC = &TPCC{Transactions: []TPCCTransaction{{Name: "New-Order", Longest: 2}}, IsolationTests: []IsolationTest{{Test: 1}}}
	all["rounds"] = facts
	for name, r := range all {
		var text strings.Builder
		expect.NoError(t, Markdown(&text, r))
		tables := regexp.MustCompile(`(?m)^(\|.*)\n((?:\|--[-:])+)\|$`).FindAllStringSubmatch(text.String(), -1)
		if len(tables) < 3 {
			t.Errorf("%s has %d tables", name, len(tables))
		}
		for _, table := range tables {
			if n := strings.Count(table[2], "|"); n > mostColumns {
				t.Errorf("%s: %d columns: %s", name, n, table[1])
			}
		}
	}
	page := htmlOf(t, facts, Page{})
	expect.Text(t, "the page", page, "<caption>Rounds</caption>", "<caption>Times of the rounds&#39; operations</caption>", "<caption>What else is known of the rounds, continued</caption>",
		"<caption>Response times of the transactions</caption>", "<caption>Their disks and networks over the measured part</caption>")
	if rows := tableOf(t, page, "What else is known of the rounds, continued"); len(rows) != 3 || len(rows[0]) != 4 || rows[1][3] != "1" || rows[0][1] != "fact 6" {
		t.Errorf("the rest of the facts is %q", rows)
	}
}

// TestRoundsStandForThemselves: a rate over a load, quick queries and long ones
// is the rate of nothing, and must not be printed.
func TestRoundsStandForThemselves(t *testing.T) {
	var text, line, markdown bytes.Buffer
	for name, err := range map[string]error{
		"text": Text(&text, inRounds(true), TextOptions{}), "line": Line(&line, inRounds(true)), "markdown": Markdown(&markdown, inRounds(true)),
	} {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	expect.Text(t, "the summary", text.String(), "measured      2 rounds in 1 min 11 s", "ingest              4  36.4 s      1,400  104 ms", "ingest: rows 1,400,000", "day, warm           1   6.2 s          0       -")
	for row := range strings.Lines(text.String()) {
		if n := len([]rune(strings.TrimRight(row, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, row)
		}
	}
	if got := line.String(); got != "candles: valid, 2 rounds in 1 min 11 s, measurement valid\n" {
		t.Errorf("the line is %q", got)
	}
	for name, got := range map[string]string{"summary": text.String(), "Markdown": markdown.String()} {
		if strings.Contains(got, "56.2") || strings.Contains(got, "response") {
			t.Errorf("the %s has figures over all rounds:\n%s", name, got)
		}
	}
}

// TestCourseOfRounds: the charts over time are of all operations, or not there.
func TestCourseOfRounds(t *testing.T) {
	for apart, want := range map[bool]int{true: 0, false: 1} {
		var page bytes.Buffer
		expect.NoError(t, HTML(&page, inRounds(apart), Page{}))
		if got := strings.Count(page.String(), `<section id="throughput"`); got != want {
			t.Errorf("apart %t: %d charts over time, want %d", apart, got, want)
		}
		if strings.Count(page.String(), `<section id="rounds"`) != 1 || strings.Contains(page.String(), `<section id="latency"`) {
			t.Errorf("apart %t: the page has no rounds, or latencies over all of them", apart)
		}
	}
}
