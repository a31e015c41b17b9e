package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/load"
	"assay/workload/bank"
)

// arithmetic are the tables of docs/results.md by their heads, and how a row's computed
// cells follow from the others.
var arithmetic = map[string]func(r pageRow) map[int]string{
	"clients / latency": func(r pageRow) map[int]string {
		computed := r.number(1) / r.number(2) * 1000
		return map[int]string{3: grouped(computed), 5: percent(computed, r.number(4))}
	},
	"change":            func(r pageRow) map[int]string { return map[int]string{3: percent(r.number(1), r.number(2))} },
	"shards × copies":   func(r pageRow) map[int]string { return map[int]string{3: grouped(r.number(1) * r.number(2))} },
	"times":             func(r pageRow) map[int]string { return map[int]string{3: fmt.Sprintf("%.1f", r.number(1)/r.number(2))} },
	"first write after": func(r pageRow) map[int]string { return map[int]string{2: fmt.Sprintf("%.1f", r.clock(1)-r.clock(0))} },
	"workers × time / tasks, s": func(r pageRow) map[int]string {
		return map[int]string{3: fmt.Sprintf("%.2f", r.number(0)*r.number(1)/r.number(2))}
	},
}

// pageRow is a row of a table.
type pageRow struct {
	t     *testing.T
	cells []string
}

func (r pageRow) number(i int) float64 {
	n, err := strconv.ParseFloat(strings.ReplaceAll(r.cells[i], ",", ""), 64)
	if err != nil {
		r.t.Fatalf("%q: %v", r.cells, err)
	}
	return n
}

func (r pageRow) clock(i int) float64 {
	at, err := time.Parse("15:04:05.000000", r.cells[i])
	if err != nil {
		r.t.Fatalf("%q: %v", r.cells, err)
	}
	return float64(at.Sub(at.Truncate(24*time.Hour))) / 1e9
}

// grouped is a number as the page has it: 1,829.
func grouped(x float64) string {
	text := strconv.FormatFloat(math.Round(x), 'f', 0, 64)
	if len(text) > 3 {
		text = text[:len(text)-3] + "," + text[len(text)-3:]
	}
	return text
}

// percent is the change between two figures, with its sign.
func percent(from, to float64) string {
	change := math.Round((to - from) / from * 100)
	if change == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%+.0f %%", change)
}

// TestReportsAreRecomputed: what docs/results.md computes from the reports' figures is what
// these figures give.
func TestReportsAreRecomputed(t *testing.T) {
	t.Parallel()
	rows := map[string]int{}
	var compute func(pageRow) map[int]string
	var head string
	_, recomputed, _ := strings.Cut(readFile(t, "..", "..", "docs", "results.md"), "\n## The reports, recomputed\n")
	for line := range strings.Lines(recomputed) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			compute, head = nil, ""
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case head == "":
			for name, of := range arithmetic {
				if strings.Contains(line, "| "+name+" |") {
					compute, head = of, name
				}
			}
			if compute == nil {
				t.Errorf("nothing computes the table %s", line)
				head = line
			}
		case regexp.MustCompile(`^\|[-:|]+\|$`).MatchString(line) || compute == nil:
		default:
			rows[head]++
			for i, want := range compute(pageRow{t, cells}) {
				if cells[i] != want {
					t.Errorf("%s: %q, and the figures beside it give %s", line, cells[i], want)
				}
			}
		}
	}
	for name := range arithmetic {
		if rows[name] == 0 {
			t.Errorf("no row was computed of a table with %q", name)
		}
	}
}

// TestDocumentedDefaults: what the first run is said to do is what the program does by itself.
func TestDocumentedDefaults(t *testing.T) {
	t.Parallel()
	page := strings.Join(strings.Fields(readFile(t, "..", "..", "docs", "guides", "first-run.md")), " ")
	expect.Text(t, "first-run.md", page, "Four clients move money between "+grouped(float64(bank.Defaults().Accounts))+" accounts")
	if clients := load.Defaults().Clients; clients != 4 {
		t.Errorf("the guide says four clients, and there are %d", clients)
	}
}
