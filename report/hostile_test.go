package report

import (
	"bytes"
	"html"
	"math"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
)

// hostile tries to end a script, a style, an attribute, a table cell and a
// line, and to steer a terminal.
const hostile = "</script></style><script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{.}}|`[a](http://x)`\n# h\x1b[2J\u202e\xff"

// poison sets every text in v, map keys too, and keeps what has few values.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				poison(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Map:
		if v.Len() > 0 {
			value := reflect.New(v.Type().Elem()).Elem()
			v.SetMapIndex(reflect.ValueOf(hostile), value)
		}
	}
}

func poisoned() *Result {
	r := violatedRun()
	r.Checks[0].Evidence[0].Fields = map[string]int64{"a": 1}
	r.Checks[0].Evidence[0].Cycle = skew()
	r.Checks[2].Evidence[0].Cycle = longCycle(12)
	r.Checks[2].Evidence[1].Cycle = longCycle(20 + 1)
	r.Thresholds = []Threshold{{}, {Kept: true}}
	r.Measurement.Reasons = []string{""}
	poison(reflect.ValueOf(r).Elem())
	r.Load.Loop = "open"
	return r
}

func htmlOf(t *testing.T, r *Result, p Page) string {
	t.Helper()
	var b bytes.Buffer
	expect.NoError(t, HTML(&b, r, p))
	return b.String()
}

func TestHTMLEscapes(t *testing.T) {
	sound := htmlOf(t, violatedRun(), Page{})
	page := htmlOf(t, poisoned(), Page{Environment: []Setting{{hostile, hostile}}, Command: hostile, Scenario: hostile})
	for _, tag := range []string{"<script", "</script", "<style", "</style"} {
		if got, want := strings.Count(page, tag), strings.Count(sound, tag); got != want {
			t.Errorf("%d of %s, want %d: text of the result became part of the page", got, tag, want)
		}
	}
	for _, bad := range []string{"<img", "alert(1)</", "'><", "\"><img"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	expect.Text(t, "the page", page, "&lt;/script&gt;&lt;/style&gt;&lt;script&gt;alert(1)")
}

// TestDocumentEscapes: a page over several runs holds one script, which alone its policy
// lets run, whatever the runs say; and the places of its links are letters and digits.
func TestDocumentEscapes(t *testing.T) {
	table := Table{Title: hostile, Head: []string{"", hostile}, Rows: [][]string{{hostile, hostile}}}
	d := Document{Title: hostile, Tables: []Table{table, table, {Head: []string{"a"}}}, Notes: []string{hostile}, Command: hostile,
		Verdicts: []DocumentVerdict{{Text: hostile}}, Charts: []LineChart{{Title: hostile, Across: hostile, Up: hostile, Format: short,
			Lines: []ChartLine{{Name: hostile, Points: [][2]float64{{1, 1}, {2, 2}}}}}}}
	var page strings.Builder
	expect.NoError(t, d.HTML(&page))
	text := page.String()
	if n := strings.Count(text, "<script"); n != 1 || strings.Count(text, "</script") != 1 || !strings.Contains(text, "<script>"+pageScript+"</script>") {
		t.Errorf("the page has %d scripts, want the one of all pages", n)
	}
	if policy := Policy(Style()); !strings.Contains(html.UnescapeString(text), `content="`+policy+`"`) || strings.Count(policy, "sha256-") != 2 || strings.Contains(policy, "unsafe") {
		t.Errorf("the page has another policy than %s", policy)
	}
	for _, bad := range []string{"<img", "alert(1)</", "'><", "\"><img", "onerror=alert(1)>"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if ids[m[1]] || strings.ContainsFunc(m[1], func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			t.Errorf("the place %q is there twice or no word", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if at, err := url.PathUnescape(m[1]); err != nil || !ids[at] {
			t.Errorf("a link leads to %q, which is not there", m[1])
		}
	}
	if len(ids) < 5 {
		t.Errorf("the page has the places %v", ids)
	}
}

func TestMarkdownEscapes(t *testing.T) {
	r := poisoned()
	var b bytes.Buffer
	expect.NoError(t, Markdown(&b, r))
	text := b.String()
	for _, bad := range []string{"<script", "<img", "\n# h", "\x1b", "|`", " [a", "\u202e"} {
		if strings.Contains(text, bad) {
			t.Errorf("Markdown holds %q", bad)
		}
	}
	// All rows of a table have as many cells as its head.
	cells := func(line string) int {
		return strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "|") && i > 0 && strings.HasPrefix(lines[i-1], "|") && cells(line) != cells(lines[i-1]) {
			t.Errorf("a row of %d cells follows one of %d: %s", cells(line), cells(lines[i-1]), line)
		}
	}
}

func TestTextDoesNotSteerTheTerminal(t *testing.T) {
	text := textOf(t, poisoned(), TextOptions{})
	for _, r := range text {
		if (r < ' ' && r != '\n') || r == 0x7f || r == '\u202e' {
			t.Fatalf("the summary holds %q", r)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if n := len([]rune(line)); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestAnyResultCanBeShown holds that no result, however odd, makes a report
// panic or fail.
func TestAnyResultCanBeShown(t *testing.T) {
	aimless := violatedRun()
	aimless.Checks[0].Evidence[0].Cycle = &check.Cycle{}
	aimless.Checks[2].Evidence[0].Cycle = &check.Cycle{Steps: make([]check.Step, 3)}
	aimless.Checks[2].Evidence[1].Cycle = longCycle(1)
	aimless.Checks[2].Evidence[2].Cycle = longCycle(1000)
	uneven := violatedRun()
	uneven.Series.Max, uneven.Series.Unknown = uneven.Series.Max[:3], nil
	odd := violatedRun()
	odd.Throughput.PerSecond, odd.Latency.P99, odd.Series.IntervalSeconds = math.NaN(), math.Inf(1), 0
	odd.Checks[0].Verdict, odd.Checks[0].Found = check.Verdict(9), -3
	odd.Data.Bytes, odd.Loading.Seconds = math.MinInt64, math.MaxFloat64
	odd.Latency.Curve = [][2]float64{{2, -1}, {math.NaN(), 1}}
	odd.Outcomes = history.Counts{Committed: math.MaxInt64, Rejected: math.MaxInt64, Failed: 1, Unknown: -1}
	odd.Faults[0].HealedSecond = -1
	claim := validRun() // says valid, and no check says so
	claim.Checks = []check.Result{{Name: "total"}}
	blame := validRun()
	blame.Verdict = check.Violated
	for name, r := range map[string]*Result{"empty": {}, "uneven": uneven, "aimless": aimless, "odd": odd, "claim": claim, "blame": blame} {
		var b bytes.Buffer
		for what, err := range map[string]error{
			"Text": Text(&b, r, TextOptions{}), "Markdown": Markdown(&b, r), "HTML": HTML(&b, r, Page{}), "JSON": WriteJSON(&b, r),
		} {
			if err != nil {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf ") {
			t.Errorf("%s shows a figure that is no number", name)
		}
	}
}
