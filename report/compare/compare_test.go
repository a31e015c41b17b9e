package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/report"
)

// result is one of a run of so many committed a second.
func result(perSecond float64, seed uint64) *report.Result {
	r := &report.Result{Format: report.Format, Workload: "bank", Seed: seed, Verdict: check.Valid,
		Measurement: report.Measurement{Verdict: "valid"}, Measured: history.Counts{Committed: int64(perSecond * 10)},
		Throughput: report.Throughput{PerSecond: perSecond, Seconds: 10},
		Latency: report.Latency{Count: int64(perSecond * 10), Mean: 4000 / perSecond, P50: 4000 / perSecond, P95: 8000 / perSecond, P99: 16000 / perSecond, P999: 32000 / perSecond, Max: 64000 / perSecond,
			Curve: [][2]float64{{0, 1}, {0.5, 4000 / perSecond}, {0.99, 16000 / perSecond}, {1, 64000 / perSecond}}},
		Load:     report.Load{Clients: 4, Loop: "closed"},
		Client:   report.Client{CPUShare: -1},
		Database: report.Database{Product: "PostgreSQL", Settings: []report.Setting{{Name: "fsync", Value: "on"}, {Name: "isolation", Value: "read committed"}}},
		Series:   report.Series{IntervalSeconds: 1, MeasureEnd: 10},
	}
	for i := range 10 {
		s := &r.Series
		s.Start, s.Committed = append(s.Start, float64(i)), append(s.Committed, int64(perSecond))
		for _, zero := range []*[]int64{&s.Rejected, &s.Failed, &s.Unknown} {
			*zero = append(*zero, 0)
		}
		for _, times := range []*[]float64{&s.P50, &s.P95, &s.P99, &s.Max} {
			*times = append(*times, 1)
		}
	}
	return r
}

func group(name string, perSecond ...float64) Group {
	g := Group{Name: name}
	for i, v := range perSecond {
		g.Runs = append(g.Runs, Run{Folder: fmt.Sprint(name, i), Result: result(v, uint64(i))})
	}
	return g
}

func row(t *testing.T, c *Comparison, metric string) Row {
	t.Helper()
	i := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Metric == metric })
	if i < 0 {
		t.Fatalf("there is no row %s", metric)
	}
	return c.Rows[i]
}

func TestCompare(t *testing.T) {
	c, err := Compare(group("a", 1000, 1010, 990, 1005, 995), group("b", 800, 810, 790, 805, 795), Options{})
	expect.NoError(t, err)
	r := row(t, c, "throughput")
	// 2 of 252 arrangements of five and five are as extreme.
	if r.A.Median != 1000 || r.B.Median != 800 || math.Abs(r.Change+0.2) > 1e-9 || !r.Significant || r.Better || math.Abs(r.P-2.0/252) > 1e-9 {
		t.Errorf("throughput: %+v", r)
	}
	if r.A.Confident || r.A.Low != 990 || r.A.High != 1010 || r.A.Share() != 0.01 {
		t.Errorf("five runs have no confidence interval of 95 %%: %+v", r.A)
	}
	if r := row(t, c, "p99"); math.Abs(r.Change-0.25) > 1e-9 || r.Better {
		t.Errorf("p99: %+v", r)
	}
	same, err := Compare(group("a", 1000, 1010, 990, 1005, 995), group("b", 1001, 1011, 991, 1004, 996), Options{})
	if r := row(t, same, "throughput"); err != nil || r.Significant {
		t.Errorf("two of the same: %+v, %v", r, err)
	}
	few, err := Compare(group("a", 1000, 1001, 1002), group("b", 1, 2, 3), Options{})
	if r := row(t, few, "throughput"); err != nil || r.Significant {
		t.Errorf("three runs tell nothing: %+v, %v", r, err)
	}
	if text := Document([]*Comparison{few}, "").Notes; !slices.ContainsFunc(text, func(n string) bool { return strings.Contains(n, "too few") }) {
		t.Errorf("the notes are %q", text)
	}
}

// TestPicture draws each figure of both groups, whatever a group is called.
func TestPicture(t *testing.T) {
	c, err := Compare(group("before", 100, 101, 102, 103, 104, 105), group("a <b> & \x00\xff\"c\"", 200, 201, 202, 203, 204, 205), Options{})
	expect.NoError(t, err)
	var b bytes.Buffer
	expect.NoError(t, Picture(&b, []*Comparison{c}))
	expect.NoError(t, xml.Unmarshal(b.Bytes(), new(struct{})))
	expect.Text(t, "the picture", b.String(), "throughput: 102/s → 202/s", "97.6 %, better", "p99: ")
}

// TestGateFindsWhatItShould: the same noise on both sides is passed, a fifth less is
// found. The noise is that of a busy machine: a tenth.
func TestGateFindsWhatItShould(t *testing.T) {
	gate, err := ParseGate("throughput > -5%")
	expect.NoError(t, err)
	throughput, _ := find(metrics(), "throughput")
	const trials = 2000
	random := rand.New(rand.NewPCG(1, 2))
	missed := func(factor, noise float64) (share float64) {
		for range trials {
			var a, b []float64
			for range 5 {
				a = append(a, 1000*math.Exp(noise*random.NormFloat64()))
				b = append(b, 1000*factor*math.Exp(noise*random.NormFloat64()))
			}
			c := &Comparison{A: group("a", a...), B: group("b", b...)}
			c.Rows = []Row{newRow(throughput, c.A, c.B)}
			result, err := gate.judge(c, 1)
			expect.NoError(t, err)
			if result.Missed {
				share += 1.0 / trials
			}
		}
		return share
	}
	if share := missed(1, 0.1); share > 0.05 {
		t.Errorf("a false alarm in %.3f of the comparisons of the same", share)
	}
	if share := missed(0.95, 0.1); share > 0.06 {
		t.Errorf("an alarm in %.3f of those whose change is just the limit", share)
	}
	if share := missed(0.8, 0.05); share < 0.95 {
		t.Errorf("a fifth less is found in %.3f only", share)
	}
}

func TestGates(t *testing.T) {
	a, b := group("a", 1000, 1010, 990, 1005, 995), group("b", 800, 810, 790, 805, 795)
	for text, missed := range map[string]bool{
		"throughput>-5%": true, "throughput >= -25 %": false, "p99<+10%": true, "p99 <= 30%": false, "errors<0%": false,
	} {
		g, err := ParseGate(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		c, err := Compare(a, b, Options{Gates: []Gate{g}})
		if err != nil || c.Gates[0].Missed != missed || Missed([]*Comparison{c}) != missed {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
	for _, text := range []string{"", "throughput", ">-5%", "throughput>-5", "p99<x%", "p99<NaN%", "p99<-101%", "throughput=5%"} {
		if _, err := ParseGate(text); !errors.As(err, new(*GateError)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"speed>-5%", "throughput>-5%"} {
		g, err := ParseGate(text)
		expect.NoError(t, err)
		if _, err := Compare(group("a", 1, 2, 3), group("b", 1, 2, 3), Options{Gates: []Gate{g}}); !errors.As(err, new(*GateError)) {
			t.Errorf("%s of three runs: %v", text, err)
		}
	}
}

func FuzzParseGate(f *testing.F) {
	f.Add("throughput>-5%")
	f.Add("p99 <= +10 %")
	f.Fuzz(func(t *testing.T, text string) {
		if g, err := ParseGate(text); err == nil && (g.metric == "" || !(g.limit >= -1)) {
			t.Errorf("%q gave %+v", text, g)
		}
	})
}

func TestWhatCannotBeCompared(t *testing.T) {
	for condition, change := range map[string]func(r *Run){
		"workload":  func(r *Run) { r.Result.Options = []report.Setting{{Name: "accounts", Value: "7"}} },
		"load":      func(r *Run) { r.Result.Load.Clients = 8 },
		"isolation": func(r *Run) { r.Result.Database.Settings[1].Value = "serializable" },
		"faults":    func(r *Run) { r.Result.Faults = []report.Fault{{Action: "kill", Target: "primary"}} },
		"machine":   func(r *Run) { r.Machine.CPUs = 64 },
	} {
		a, b := group("a", 1, 2, 3, 4), group("b", 1, 2, 3, 4)
		for i := range b.Runs {
			a.Runs[i].Machine.CPUs = 2
			b.Runs[i].Machine.CPUs = 2
			change(&b.Runs[i])
		}
		_, err := Compare(a, b, Options{})
		var different *DifferentError
		if !errors.As(err, &different) || len(different.Differences) != 1 || different.Differences[0].Condition != condition || !strings.Contains(err.Error(), "--allow "+condition) {
			t.Errorf("%s: %v", condition, err)
		}
		c, err := Compare(a, b, Options{Allow: []string{condition}})
		if err != nil || len(c.Differences) != 1 {
			t.Errorf("%s allowed: %v", condition, err)
		}
		if _, err := Compare(group("a", 1, 2), Group{Name: "b", Runs: []Run{a.Runs[0], b.Runs[1]}}, Options{}); err == nil {
			t.Errorf("%s: differs within a group, and nobody says so", condition)
		}
	}
	other := group("b", 1, 2, 3, 4)
	for i := range other.Runs {
		other.Runs[i].Result.Seed += 100
	}
	if c, err := Compare(group("a", 1, 2, 3, 4), other, Options{}); err != nil || len(c.Differences) != 0 {
		t.Errorf("other seeds: %+v, %v", c, err)
	}
	varied := func(g Group) Group { g.Values = []report.Setting{{Name: "clients"}}; return g }
	a, b := varied(group("a", 1, 2)), varied(group("b", 1, 2))
	for i := range b.Runs {
		b.Runs[i].Result.Load.Clients = 8
	}
	if _, err := Compare(a, b, Options{}); err != nil {
		t.Errorf("what a series varies: %v", err)
	}
}

// save writes runs as folders.
func save(t *testing.T, folder string, g Group) {
	t.Helper()
	for i, run := range g.Runs {
		path := filepath.Join(folder, fmt.Sprintf("001-%03d", i+1))
		expect.NoError(t, os.MkdirAll(path, 0o755))
		var text bytes.Buffer
		expect.NoError(t, report.WriteJSON(&text, run.Result))
		for name, content := range map[string]string{"result.json": text.String(), "environment.json": `{"cpus": 2, "cpu_model": "m"}`} {
			expect.NoError(t, os.WriteFile(filepath.Join(path, name), []byte(content), 0o644))
		}
	}
}

func TestRead(t *testing.T) {
	folder := t.TempDir()
	save(t, filepath.Join(folder, "a"), group("a", 1, 2, 3))
	groups, err := Read(filepath.Join(folder, "a"))
	if err != nil || len(groups) != 1 || len(groups[0].Runs) != 3 || groups[0].Name != "a" || groups[0].Runs[0].Machine.CPUs != 2 {
		t.Fatalf("a folder of runs: %+v, %v", groups, err)
	}
	one, err := Read(filepath.Join(folder, "a", "001-002"))
	if err != nil || len(one[0].Runs) != 1 || one[0].Runs[0].Result.Throughput.PerSecond != 2 {
		t.Errorf("a run: %+v, %v", one, err)
	}
	if _, err := Read(filepath.Join(folder, "a", "001-002", "result.json")); err != nil {
		t.Error(err)
	}
	series := report.RunSeries{Format: report.Format, Workload: "bank", Configurations: []report.Configuration{
		{Name: "clients=1", Values: []report.Setting{{Name: "clients", Value: "1"}}}, {Name: "clients=2"}},
		Runs: []report.SeriesRun{{Folder: "001-001", Configuration: "clients=1", State: report.StateDone},
			{Folder: "001-002", Configuration: "clients=2", State: report.StateDone},
			{Folder: "x", Configuration: "clients=2", State: report.StateFailed}, {Folder: "y", Configuration: "clients=2", State: report.StateWaiting}}}
	text, err := json.Marshal(series)
	expect.NoError(t, err)
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		expect.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		return path
	}
	write("a/series.json", string(text))
	groups, err = Read(filepath.Join(folder, "a"))
	if err != nil || len(groups) != 2 || groups[1].Failed != 1 || groups[1].Waiting != 1 || len(groups[1].Runs) != 1 || groups[0].Values[0].Name != "clients" {
		t.Errorf("a series: %+v, %v", groups, err)
	}
	var kept bytes.Buffer
	expect.NoError(t, WriteBaseline(&kept, group("a", 5, 6)))
	base, err := Read(write("base.json", kept.String()))
	if err != nil || len(base[0].Runs) != 2 || base[0].Runs[1].Result.Throughput.PerSecond != 6 || base[0].Name != "a" {
		t.Errorf("a baseline: %+v, %v", base, err)
	}
	write("a/series.json", strings.Replace(string(text), "001-001", "../x", 1))
	expect.NoError(t, os.Mkdir(filepath.Join(folder, "empty"), 0o755))
	for _, path := range []string{filepath.Join(folder, "none"), filepath.Join(folder, "a"), filepath.Join(folder, "empty"),
		write("not.json", "{"), write("other.json", `{"baseline_format": 2}`), write("bare.json", `{"baseline_format": 1}`),
		write("hollow.json", `{"baseline_format": 1, "runs": [{}]}`)} {
		if groups, err := Read(path); err == nil || len(groups) > 0 {
			t.Errorf("%s: %+v", path, groups)
		}
	}
}

func TestPairs(t *testing.T) {
	a, b, c := group("a", 1), group("b", 2), group("c", 3)
	names := func(arguments ...[]Group) string {
		pairs, err := pairsOf(arguments)
		if err != nil {
			return err.Error()
		}
		var all []string
		for _, p := range pairs {
			all = append(all, p[0].Name+"-"+p[1].Name)
		}
		return strings.Join(all, " ")
	}
	if got := names([]Group{a, b, c}); got != "a-b a-c" {
		t.Error(got)
	}
	if got := names([]Group{a}, []Group{a}); got != "a-a (2)" {
		t.Error(got)
	}
	if got := names([]Group{a, b}, []Group{b}, []Group{b}); got != "a-b a-b (3) a-b (4)" {
		t.Error(got)
	}
	in := func(folder string) []Group {
		x, y := a, b
		x.Folder, y.Folder = folder, folder
		return []Group{x, y}
	}
	if got := names(in("before"), in("after"), in("after")); got != "a (before)-a (after) a (before)-a (after) (3) b (before)-b (after) b (before)-b (after) (3)" {
		t.Error(got)
	}
	expect.Text(t, "the names", names([]Group{a}), "alone")
	expect.Text(t, "the names", names([]Group{a, {Name: "d"}}), "nothing to compare")
}

// TestDocuments looks at what a reader gets.
func TestDocuments(t *testing.T) {
	// The figures of the second run are not believed.
	a, b := group("before", 1000, 1010, 990, 1005, 995), group("after", 800, 100, 810, 790, 805, 795)
	b.Runs[0].Result.Verdict = check.Violated
	b.Runs[1].Result.Measurement = report.Measurement{Verdict: "invalid", Reasons: []string{"machine busy: much"}}
	b.Failed = 1
	gate, err := ParseGate("throughput>-5%")
	expect.NoError(t, err)
	c, err := Compare(a, b, Options{Gates: []Gate{gate}})
	expect.NoError(t, err)
	var text, page, table bytes.Buffer
	d := Document([]*Comparison{c}, "assay compare before after")
	expect.NoError(t, errors.Join(d.Text(&text, report.TextOptions{}), d.HTML(&page), d.CSV(&table)))
	expect.Text(t, "the text", text.String(), "throughput", "1,000/s", "800/s", "-20.0 %", "0.008", "VIOLATED", "measurement is invalid, machine busy", "left out of the figures", "Runs that could not be made: after (1 of 7)", "missed")
	for _, line := range strings.Split(text.String(), "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
	expect.Text(t, "the table", table.String(), "throughput,\"1,000/s\"")
	if n := strings.Count(page.String(), "<path class=\"line-2\""); n != 4 { // two charts, each with its legend
		t.Errorf("the second line is drawn %d times", n)
	}
	var program bytes.Buffer
	expect.NoError(t, WriteJSON(&program, []*Comparison{c}))
	var read struct {
		Rows []struct {
			Metric      string
			A, B        float64
			Change      float64
			P           float64
			Significant bool
		}
		Gates []GateResult
	}
	if err := json.Unmarshal(program.Bytes(), &read); err != nil || read.Rows[0].Metric != "throughput" || read.Rows[0].B != 800 || !read.Rows[0].Significant || !read.Gates[0].Missed {
		t.Errorf("%+v, %v", read, err)
	}
	summary := Summary("bank", []Group{a, b, {Name: "never", Waiting: 5}})
	text.Reset()
	expect.NoError(t, summary.Text(&text, report.TextOptions{}))
	expect.Text(t, "the summary", text.String(), "before", "VALID in 5 of 5 runs", "after: VIOLATED in 1 of 6 runs, VALID in 5 of 6 runs", "Runs that are not made yet: never (5 of 5)", "? never: no run has a result")
	if v := summary.Verdicts[1]; v.Verdict != check.Violated || !strings.HasSuffix(v.Text, "; 1 run is missing") {
		t.Errorf("a run could not be made: %+v", v)
	}
	b.Runs = b.Runs[2:] // all valid, and one could not be made
	if v := VerdictOf([]Group{b}); v.Verdict != check.Unknown {
		t.Errorf("%+v", v)
	}
}

// TestRuns: a line for each run, in words and in plain numbers.
func TestRuns(t *testing.T) {
	groups := []Group{group("a", 1000, 2000), group("b", 3000)}
	var text, table bytes.Buffer
	expect.NoError(t, errors.Join(Runs(groups).Text(&text, report.TextOptions{}), RunsCSV(&table, groups)))
	expect.Text(t, "the text", text.String(), "3 runs", "1 bank", "3 bank", "3,000", "2: a1, of a")
	lines, err := csv.NewReader(&table).ReadAll()
	if err != nil || len(lines) != 4 {
		t.Fatal(lines, err)
	}
	at := slices.Index(lines[0], "throughput /s")
	if at < 0 || lines[3][at] != "3000" || lines[1][0] != "a0" || lines[1][slices.Index(lines[0], "outage ms")] != "" {
		t.Errorf("the lines are %q", lines)
	}
}
