package report

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/internal/expect"
)

var inline = regexp.MustCompile(`(?s)<(script|style)([^>]*)>(.*?)</(?:script|style)>`)

// TestHTMLNeedsNothingBesideIt looks for whatever could make a browser load
// something.
func TestHTMLNeedsNothingBesideIt(t *testing.T) {
	for name, r := range map[string]*Result{"violated": violatedRun(), "isolation": isolationRun(), "ramp": rampedRun()} {
		page := htmlOf(t, r, Page{})
		markup := inline.ReplaceAllString(page, "<$1$2></$1>")
		for _, m := range regexp.MustCompile(`(?i)\s(src|srcset|href|action|data|poster|background|formaction|ping)\s*=\s*["']?([^"'\s>]*)`).FindAllStringSubmatch(markup, -1) {
			if !strings.HasPrefix(m[2], "#") {
				t.Errorf("%s: the page refers to %s", name, m[0])
			}
		}
		for _, tag := range []string{"<link", "<img", "<iframe", "<object", "<embed", "<base", "http-equiv=\"refresh\""} {
			if strings.Contains(strings.ToLower(markup), tag) {
				t.Errorf("%s: the page has %s", name, tag)
			}
		}
		for _, m := range inline.FindAllStringSubmatch(page, -1) {
			if m[1] == "style" && regexp.MustCompile(`(?i)@import|url\(`).MatchString(m[3]) {
				t.Errorf("%s: the style refers to something", name)
			}
			if m[1] == "script" && regexp.MustCompile(`\bfetch\(|XMLHttpRequest|WebSocket|\bimport\(|sendBeacon|EventSource`).MatchString(m[3]) {
				t.Errorf("%s: a script could connect", name)
			}
		}
	}
}

// TestHTMLPolicy checks the policy as a browser does: each script and style
// that is to run must have its hash there, and nothing else is allowed.
func TestHTMLPolicy(t *testing.T) {
	page := htmlOf(t, violatedRun(), Page{})
	m := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatchIndex(page)
	if m == nil {
		t.Fatal("the page has no policy")
	}
	if at := inline.FindStringIndex(page); at[0] < m[0] {
		t.Error("the policy stands behind what it should govern")
	}
	policy := html.UnescapeString(page[m[2]:m[3]])
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("the policy is %s", policy)
	}
	var hashes int
	for _, block := range inline.FindAllStringSubmatch(page, -1) {
		sum := sha256.Sum256([]byte(block[3]))
		if hash := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, hash) {
			t.Errorf("a %s of %d characters may not run: %s is not in the policy", block[1], len(block[3]), hash)
		}
		hashes++
	}
	if hashes != 2 || strings.Count(policy, "sha256-") != 2 {
		t.Errorf("%d scripts and styles, and %d hashes, want 2 of each", hashes, strings.Count(policy, "sha256-"))
	}
	for _, r := range []*Result{violatedRun(), cyclesRun()} {
		markup := inline.ReplaceAllString(htmlOf(t, r, Page{}), "")
		if on := regexp.MustCompile(`(?i)\s(on[a-z]+|style)\s*=`).FindString(markup); on != "" {
			t.Errorf("the policy forbids the attribute %q that the page has", on)
		}
	}
}

// TestHTMLChartsAndTablesAgree: each row of a table has its place on the axis of the charts, and
// each line its column.
func TestHTMLChartsAndTablesAgree(t *testing.T) {
	r := violatedRun()
	page := htmlOf(t, r, Page{})
	series := tableOf(t, page, "Figures over time")
	want := []string{"seconds since the start of the run", "committed/s", "rejected/s", "failed/s", "unknown/s", "p50", "p95", "p99", "max", "meanwhile"}
	if len(series) != len(r.Series.Start)+1 || !slices.Equal(series[0], want) {
		t.Fatalf("the table has %d rows, want %d, under %q", len(series), len(r.Series.Start)+1, series[0])
	}
	charts, figures := drawTogether("over-time", "Figures over time", courseOf(r).charts())
	if places := strings.Fields(figures.Rows); len(places) != len(series)-1 || !strings.Contains(page, ` id="over-time" data-rows="`+figures.Rows+`"`) {
		t.Errorf("%d places of %d rows", len(places), len(series)-1)
	}
	for _, chart := range charts {
		for _, line := range chart.Lines {
			if head := strings.TrimSuffix(series[0][line.Column], "/s"); head != line.Name {
				t.Errorf("the line %q has the column %q", line.Name, head)
			}
		}
	}
	for i, row := range series[1:] {
		want := []string{strconv.Itoa(i), short(float64(r.Series.Committed[i])), short(float64(r.Series.Rejected[i])),
			short(float64(r.Series.Failed[i])), short(float64(r.Series.Unknown[i]))}
		for _, ms := range []float64{r.Series.P50[i], r.Series.P95[i], r.Series.P99[i], r.Series.Max[i]} {
			if ms < 0 {
				want = append(want, none)
			} else {
				want = append(want, strings.ReplaceAll(millis(ms), nbsp, " "))
			}
		}
		meanwhile := none
		switch {
		case i < 10:
			meanwhile = "warm-up"
		case i >= 70:
			meanwhile = "after"
		case i >= 22 && i < 30:
			meanwhile = "kill primary (n1)"
		case i >= 50 && i < 55:
			meanwhile = "pause any (n2)"
		}
		if want = append(want, meanwhile); !slices.Equal(row, want) {
			t.Errorf("row %d is %q, want %q", i, row, want)
		}
	}
	curve := tableOf(t, page, "By percentile")
	if want := []string{"99.95 %", "71.0 ms", "70.5 ms", "25.1 ms"}; !slices.ContainsFunc(curve, func(row []string) bool { return slices.Equal(row, want) }) {
		t.Errorf("no row %q in %q", want, curve)
	}
}

// TestHTMLChecksGolden holds the part of the page that shows evidence.
func TestHTMLChecksGolden(t *testing.T) {
	page := htmlOf(t, isolationRun(), Page{})
	_, rest, _ := strings.Cut(page, `<section id="checks"`)
	part, _, found := strings.Cut(rest, "</section>")
	if !found {
		t.Fatal("the page has no part about checks")
	}
	golden(t, "checks.html", []byte(`<section id="checks"`+part+"</section>\n"))
}

// tableOf returns the cells of the table with the given caption.
func tableOf(t *testing.T, page, caption string) [][]string {
	t.Helper()
	_, rest, found := strings.Cut(page, "<caption>"+caption+"</caption>")
	if !found {
		t.Fatalf("there is no table %q", caption)
	}
	text, _, _ := strings.Cut(rest, "</table>")
	var rows [][]string
	for _, row := range regexp.MustCompile(`(?s)<tr>(.*?)</tr>`).FindAllStringSubmatch(text, -1) {
		var cells []string
		for _, cell := range regexp.MustCompile(`(?s)<t[hd][^>]*>(.*?)</t[hd]>`).FindAllStringSubmatch(row[1], -1) {
			cells = append(cells, strings.ReplaceAll(html.UnescapeString(cell[1]), nbsp, " "))
		}
		rows = append(rows, cells)
	}
	return rows
}

func TestHTMLSaysAll(t *testing.T) {
	page := html.UnescapeString(htmlOf(t, violatedRun(), Page{Environment: []Setting{{"kernel", "Linux 6.1"}},
		Command: "assay run bank --seed 42", Scenario: "workload: bank\n"}))
	expect.Text(t, "the page", page,
		"<title>violated: bank on MongoDB 8.0.4</title>", "VIOLATED: 14 findings in 2 of 5 checks (total, transfers)",
		"13 acknowledged transfers are not there", "transfer 3.4,112 of 250", "seq=4112",
		"assay run bank --seed 42", "workload: bank\n", "Linux 6.1", "kill primary", "write concern", "p99<100ms",
		"does not promise that such a write survives", `lang="en"`, `scope="col"`, `scope="row"`)
	if n := strings.Count(page, `role="img" aria-label="Line chart`); n != 4 {
		t.Errorf("%d charts have a label, want 4", n)
	}
}
