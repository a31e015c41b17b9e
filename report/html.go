package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"assay/check"
)

//go:embed assets/page.html
var pageTemplate string

//go:embed assets/page.css
var pageStyle string

//go:embed assets/page.js
var pageScript string

// Page is what the HTML report shows beside the result.
type Page struct {
	Environment []Setting
	// Command repeats the run; without secrets.
	Command  string
	Scenario string
	Servers  ServerCharts
}

// HTML writes the report as one self-contained page that works from a file and may open no
// connection. Tables repeat the figures of charts for readers without scripts.
func HTML(w io.Writer, r *Result, p Page) error {
	parsed, err := own()
	if err == nil {
		err = parsed.ExecuteTemplate(w, "page", newPage(clean(r), p))
	}
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// parsePage parses the template of pages, which looks up a result's tables by name. A template
// calls functions and no methods: otherwise the linker keeps every method of the program.
func parsePage() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"throughputTable": throughputTable, "latencyTable": latencyTable, "outcomeTable": outcomeTable, "errorTable": errorTable,
		"thresholdTable": thresholdTable, "promiseTable": promiseTable, "convictionTables": convictionTables, "faultTable": faultTable, "proofTable": proofTable, "clusterTable": clusterTable, "eventTable": eventTable,
		"sections": sections, "roundTables": roundTables,
		"nodeTables": nodeTables, "accountTable": accountTable,
		"serverReasons": serverReasons, "settingTable": settingTable, "setup": setup, "further": further,
		"subject": subject, "mark": Mark, "verdictLine": verdictLine, "meaning": meaning, "measurementLine": measurementLine,
		"thresholdsLine": thresholdsLine, "thresholdsClass": func(r *Result) check.Verdict { return answerOfAll(r).Verdict() },
		"leftAligned": Table.Left, "doubted": Table.Doubted, "cellMark": Table.Mark, "cellLink": Table.Link, "unmarked": Table.Unmarked,
		"cardFigure": card.Figure, "cardOff": card.Off, "sectionCharts": section.Drawn, "lineLabel": drawnLine.Label,
		"isZero": time.Time.IsZero, "formatTime": time.Time.Format,
		"pageScript": func() template.JS { return template.JS(pageScript) },
	}).Parse(pageTemplate)
}

// page is the data of the template. Result is clean.
type page struct {
	*Result
	Page
	// Title heads the page in lists of windows.
	Title, Policy string
	Style         template.CSS
	// First is shown first on a violated run's page; nil without evidence.
	First *finding
	// Key are up to three figures that the run is for.
	Key, More []card
	// CheckViews starts with the checks that found something wrong.
	CheckViews []checkView
	// OverTime has the figures of Committed and Further, Looks the figures of ServerCharts. A
	// chart that some runs lack is a list of one or none.
	Committed, Further, ServerCharts, Curve, Sizes []DrawnChart
	OverTime, Looks                                Figures
	AllCommitted                                   bool
	// RoundCharts show how long rounds and their operations took; Tasks has the figures.
	RoundCharts []DrawnBars
	Tasks       []DrawnChart
	// IntervalText is the charts' interval. LeftOut names percentiles without a line.
	IntervalText, LeftOut string
	Course                bool
}

func newPage(r *Result, p Page) *page {
	c, all := courseOf(r), cards(r)
	if n := len(p.Servers.At); n > 0 {
		c.axis = max(c.end, p.Servers.At[n-1])
	}
	v := &page{
		Result: r, Page: p, Title: r.Verdict.String() + ": " + subject(r), Policy: Policy(Style()), Style: template.CSS(Style()),
		Key: all[:min(keyCards, len(all))], More: all[min(keyCards, len(all)):], CheckViews: checkViews(r),
		Sizes: drawn("sizes", sizesChart(r)), Curve: drawn("curve", curveChart(r)), RoundCharts: drawRounds(r.Rounds), Tasks: drawn("tasks", tasksChart(r)),
		IntervalText: seconds(c.series.IntervalSeconds), LeftOut: omittedPercentiles(c.times()),
		Course: !slices.ContainsFunc(r.Rounds, func(x Round) bool { return x.Apart }),
	}
	v.Further, v.OverTime = drawTogether("over-time", "Figures over time", c.charts())
	v.Committed, v.Further = v.Further[:min(1, len(v.Further))], v.Further[min(1, len(v.Further)):]
	v.AllCommitted = len(c.uncommitted().Lines) == 0
	v.ServerCharts, v.Looks = p.Servers.drawn(c)
	if c := v.CheckViews; len(c) > 0 && c[0].Verdict == check.Violated && len(c[0].Shown) > 0 {
		v.First = &finding{c[0].ID, c[0].Name, sentence(c[0].Shown[0].Summary)}
	}
	return v
}

// Policy is the content security policy of a page with this style. It allows only this style and
// the pages' script, each by its hash: nothing that came from a database can run or connect.
func Policy(style string) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(pageScript) + "; base-uri 'none'; form-action 'none'"
}

type checkView struct {
	check.Result
	// ID is unique in the page.
	ID    string
	Mark  string
	Shown []shownEvidence
}

type shownEvidence struct {
	check.Evidence
	Summary string
	Steps   []shownStep
	Legend  []dependency
	// Lanes is a text picture of the smallest part of the history.
	Lanes string
}

type shownStep struct {
	check.Step
	Class, Next string
}

type finding struct{ ID, Name, Text string }

// anchor makes a stable link target of letters, digits and hyphens.
func anchor(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "-")
}

// unique returns an anchor that is new to taken, and adds it.
func unique(taken map[string]bool, text string) string {
	id := anchor(text)
	for n := 2; id == "" || taken[id]; n++ {
		id = strings.TrimPrefix(fmt.Sprintf("%s-%d", anchor(text), n), "-")
	}
	taken[id] = true
	return id
}

func checkViews(r *Result) []checkView {
	var all []checkView
	taken := map[string]bool{}
	for _, c := range r.Checks {
		j := checkView{Result: c, ID: unique(taken, "check "+c.Name), Mark: Mark(c.Verdict)}
		for _, e := range c.Evidence {
			s := shownEvidence{Evidence: e, Summary: evidenceText(e)}
			if cycle := cycleOf(e); cycle != nil {
				s.Legend = legend(cycle)
				for n, step := range cycle.Steps {
					s.Steps = append(s.Steps, shownStep{Step: step, Class: class(step.Kind), Next: after(cycle, n).Name})
				}
			}
			if e.Smallest != nil && !Noted(e.Smallest) {
				s.Lanes = strings.Join(drawLanes(e.Smallest, 80), "\n")
			}
			j.Shown = append(j.Shown, s)
		}
		all = append(all, j)
	}
	slices.SortStableFunc(all, func(a, b checkView) int { return gravity(b.Verdict) - gravity(a.Verdict) })
	return all
}

func gravity(v check.Verdict) int {
	return slices.Index([]check.Verdict{check.Valid, check.Allowed, check.Unknown, check.Violated}, v)
}
