package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/check"
)

//go:embed assets/page.html
var pageTemplate string

//go:embed assets/page.css
var pageStyle string

//go:embed assets/page.js
var pageScript string

//go:embed assets/uPlot.iife.min.js
var plotScript string

//go:embed assets/uPlot.min.css
var plotStyle string

// Page is what the HTML report shows beside the result.
type Page struct {
	// Environment describes the machine that assay ran on.
	Environment []Setting
	// Command runs the same again; without secrets.
	Command string
	// Scenario is the run's scenario file, as text.
	Scenario string
}

// HTML writes the report as one page that needs nothing beside it: it works
// from a file, and its content security policy forbids it any connection.
// Every figure of a chart stands in a table too, so that the page is complete
// where scripts do not run.
func HTML(w io.Writer, r *Result, p Page) error {
	parsed, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("report: write page: %w", err)
	}
	if err := parsed.Execute(w, newPage(clean(r), p)); err != nil {
		return fmt.Errorf("report: write page: %w", err)
	}
	return nil
}

// page is what the template is given. Result is clean.
type page struct {
	*Result
	Page
	// Policy is the content security policy. It lets only the two scripts and
	// the style run that are known by their hash, so that nothing that came
	// from a database can run even if it got into the page.
	Policy               string
	Style                template.CSS
	PlotScript, Script   template.JS
	Subject, VerdictLine string
	Mark, Meaning        string
	Believable           string
	ThresholdsLine       string
	Missed               int64
	Cards                []card
	Judged               []judged
	// Glance is true if the checks are listed by name first, because evidence
	// parts them.
	Glance            bool
	Chart             chart
	Throughput        table
	Latencies         table
	Outcomes          table
	ErrorClasses      table
	ThresholdTable    table
	FaultTable        table
	ClusterTable      table
	EventTable        table
	AvailabilityTable table
	EntityTable       table
	RoundTable        table
	RoundPicture      *roundPicture
	// Course is true if the charts over time are of the whole run.
	Course           bool
	Setup            table
	DatabaseSettings table
	Further          table
	EnvironmentTable table
	SeriesTable      table
	CurveTable       table
	AnyUncommitted   bool
}

// card is one of the figures at the top of the page.
type card struct{ Name, Value, Note string }

func newPage(r *Result, p Page) *page {
	style := plotStyle + "\n" + pageStyle
	v := &page{
		Result: r, Page: p,
		Policy: policyOf(style, plotScript, pageScript),
		Style:  template.CSS(style), PlotScript: template.JS(plotScript), Script: template.JS(pageScript),
		Subject: subject(r), VerdictLine: verdictLine(r), Mark: checkMark(r.Verdict), Meaning: meaning(r.Verdict),
		Believable: believable(r), ThresholdsLine: thresholdsLine(r), Missed: missed(r),
		Cards: cards(r), Judged: judgements(r), Chart: chartOf(r),
		Throughput: throughputFacts(r), Latencies: latencies(r, true), Outcomes: outcomes(r),
		ErrorClasses: errorClasses(r), ThresholdTable: thresholdTable(r), FaultTable: faultTable(r),
		Setup:            named("How it was run", "setting", setup(r)),
		DatabaseSettings: named("Settings of the database", "setting", r.Database.Settings),
		Further:          named("Further figures", "figure", further(r)),
		EnvironmentTable: named("Environment", "fact", p.Environment),
		SeriesTable:      seriesTable(&r.Series), CurveTable: curveTable(r),
	}
	v.Course = !slices.ContainsFunc(r.Rounds, func(x Round) bool { return x.Apart })
	if len(r.Rounds) > 0 {
		v.RoundTable, v.RoundPicture = roundTable(r), drawRounds(r.Rounds)
	}
	if r.Availability != nil {
		v.AvailabilityTable = availabilityTable(r.Availability)
	}
	if r.Entity != nil {
		v.EntityTable = entityTable(r.Entity)
	}
	if c := r.Cluster; c != nil {
		v.ClusterTable, v.EventTable = clusterTable(c), eventTable(c)
	}
	v.Glance = len(r.Checks) > 1 && slices.ContainsFunc(r.Checks, func(c check.Result) bool { return len(c.Evidence) > 0 })
	for i := range r.Series.points() {
		if r.Series.Rejected[i]+r.Series.Failed[i]+r.Series.Unknown[i] > 0 {
			v.AnyUncommitted = true
		}
	}
	return v
}

// policyOf allows one style and some scripts by their hash, and nothing else:
// no connection, image, font, frame or form.
func policyOf(style string, scripts ...string) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := "default-src 'none'; style-src" + hash(style) + "; script-src"
	for _, s := range scripts {
		policy += hash(s)
	}
	return policy + "; base-uri 'none'; form-action 'none'"
}

func meaning(v check.Verdict) string {
	switch v {
	case check.Valid:
		return "Everything that the checks below name was looked at, and nothing was wrong."
	case check.Violated:
		return "The database broke a promise. What was found is listed with each check below."
	}
	return "Nothing can be said about whether the database kept its word. That is not the same as valid."
}

func cards(r *Result) []card {
	var figures []card
	m := &r.Measured
	if len(r.Rounds) > 0 {
		m = &r.Outcomes
		figures = append(figures, card{"rounds", strconv.Itoa(len(r.Rounds)), "in " + seconds(r.Throughput.Seconds)})
	} else {
		figures = rateCards(r)
	}
	figures = append(figures, card{"committed", percent(m.Committed, m.Total()),
		check.Count(m.Committed) + " of " + check.Count(m.Total())})
	figures = append(figures, card{"outcome unknown", check.Count(r.Outcomes.Unknown), "in the whole run"})
	if r.Data.Bytes > 0 {
		figures = append(figures, card{"data on disk", size(r.Data.Bytes), "tables and indexes"})
	}
	return figures
}

// rateCards are the figures of a run of one piece. Over several rounds, each with
// work of its own, they would be means of what has nothing in common.
func rateCards(r *Result) []card {
	figures := []card{{"committed/s", figure(r.Throughput.PerSecond), "over " + seconds(r.Throughput.Seconds)}}
	if r.Throughput.Offered > 0 {
		figures[0].Note += ", " + short(r.Throughput.Offered) + " offered"
	}
	if l := &r.Latency; l.Count > 0 {
		figures = append(figures,
			card{"response, median", millis(l.P50), "mean " + millis(l.Mean)},
			card{"response, p99", millis(l.P99), "longest " + millis(l.Max)})
	}
	return figures
}

// judged is a check as the page shows it.
type judged struct {
	check.Result
	// ID is unique in the page.
	ID    string
	Mark  string
	Shown []shownEvidence
}

// shownEvidence is a piece of evidence, with its cycle if it has one.
type shownEvidence struct {
	check.Evidence
	Said    string
	Steps   []shownStep
	Picture *picture
	Legend  []dependency
}

// shownStep is a step of a cycle in words.
type shownStep struct {
	check.Step
	Class, Next string
}

func judgements(r *Result) []judged {
	var all []judged
	for i, c := range r.Checks {
		j := judged{Result: c, ID: fmt.Sprintf("check-%d", i+1), Mark: checkMark(c.Verdict)}
		for k, e := range c.Evidence {
			s := shownEvidence{Evidence: e, Said: said(e)}
			if cycle := cycleOf(e); cycle != nil {
				s.Picture, s.Legend = draw(cycle, fmt.Sprintf("cycle-%d-%d", i+1, k+1)), legend(cycle)
				for n, step := range cycle.Steps {
					s.Steps = append(s.Steps, shownStep{Step: step, Class: class(step.Kind), Next: after(cycle, n).Name})
				}
			}
			j.Shown = append(j.Shown, s)
		}
		all = append(all, j)
	}
	return all
}

// chart is what the page's script draws.
type chart struct {
	Interval float64       `json:"interval"`
	From     float64       `json:"from"`
	To       float64       `json:"to"`
	Start    []float64     `json:"start"`
	Counts   []chartCounts `json:"counts"`
	Times    []chartTimes  `json:"times"`
	Curves   []chartCurve  `json:"curves"`
	Faults   []chartFault  `json:"faults"`
	// Fall is when the throughput fell for good, if it did.
	Fall *float64 `json:"fall,omitempty"`
}

type chartCounts struct {
	Name   string  `json:"name"`
	Values []int64 `json:"values"`
}

type chartTimes struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"` // milliseconds, -1 for none
}

type chartCurve struct {
	Name   string       `json:"name"`
	Count  int64        `json:"count"`
	Points [][2]float64 `json:"points"`
}

type chartFault struct {
	Name string  `json:"name"`
	From float64 `json:"from"`
	To   float64 `json:"to"` // 0 if it was never healed
}

func chartOf(r *Result) chart {
	s, n := &r.Series, r.Series.points()
	c := chart{
		Interval: s.IntervalSeconds, From: s.MeasureStart, To: s.MeasureEnd, Start: s.Start[:n],
		Counts: []chartCounts{{"committed", s.Committed[:n]}, {"rejected", s.Rejected[:n]},
			{"failed", s.Failed[:n]}, {"unknown", s.Unknown[:n]}},
		Times:  []chartTimes{{"p50", s.P50[:n]}, {"p95", s.P95[:n]}, {"p99", s.P99[:n]}, {"max", s.Max[:n]}},
		Curves: []chartCurve{}, Faults: []chartFault{}, Fall: s.Degradation,
	}
	for _, curve := range curves(r) {
		if len(curve.Points) > 1 {
			c.Curves = append(c.Curves, curve)
		}
	}
	for _, f := range r.Faults {
		to := 0.0
		if f.healed() {
			to = f.HealedSecond
		}
		c.Faults = append(c.Faults, chartFault{f.name(), f.InjectedSecond, to})
	}
	return c
}

func curves(r *Result) []chartCurve {
	return []chartCurve{{"response", r.Latency.Count, r.Latency.Curve},
		{"service", r.ServiceTime.Count, r.ServiceTime.Curve},
		{"uncommitted", r.Uncommitted.Count, r.Uncommitted.Curve}}
}

// seriesTable holds the figures of the charts over time.
func seriesTable(s *Series) table {
	t := table{Title: "Figures over time", Head: []string{"from", "part", "committed/s", "rejected/s", "failed/s", "unknown/s",
		"p50", "p95", "p99", "max"}, Words: []int{1}}
	for i := range s.points() {
		part := "measured"
		switch {
		case s.Start[i] < s.MeasureStart:
			part = "warm-up"
		case s.Start[i] >= s.MeasureEnd:
			part = "after"
		}
		row := []string{strconv.FormatFloat(s.Start[i], 'f', -1, 64) + nbsp + "s", part}
		for _, n := range []int64{s.Committed[i], s.Rejected[i], s.Failed[i], s.Unknown[i]} {
			row = append(row, perSecond(n, s.IntervalSeconds))
		}
		for _, ms := range []float64{s.P50[i], s.P95[i], s.P99[i], s.Max[i]} {
			text := none
			if ms >= 0 {
				text = millis(ms)
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func perSecond(n int64, interval float64) string {
	if interval <= 0 {
		return none
	}
	return short(float64(n) / interval)
}

// curveTable holds the figures of the chart of percentiles.
func curveTable(r *Result) table {
	t := table{Title: "Figures by percentile", Head: []string{"percentile"}}
	var quantiles []float64
	var all []chartCurve
	for _, c := range curves(r) {
		if len(c.Points) == 0 {
			continue
		}
		all = append(all, c)
		t.Head = append(t.Head, c.Name)
		for _, p := range c.Points {
			quantiles = append(quantiles, p[0])
		}
	}
	slices.Sort(quantiles)
	for _, q := range slices.Compact(quantiles) {
		// Eleven digits hide what binary fractions add: 99.95, not 99.9500000001.
		row := []string{strings.TrimRight(strings.TrimRight(strconv.FormatFloat(math.Round(q*1e11)/1e9, 'f', 9, 64), "0"), ".") + nbsp + "%"}
		for _, c := range all {
			text := none
			if i := slices.IndexFunc(c.Points, func(p [2]float64) bool { return p[0] == q }); i >= 0 {
				text = millis(c.Points[i][1])
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
