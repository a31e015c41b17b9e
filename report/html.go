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
	// Environment describes the machine that assay ran on.
	Environment []Setting
	// Command runs the same again; without secrets.
	Command string
	// Scenario is the run's scenario file, as text.
	Scenario string
	// Servers are the charts of what the servers were doing.
	Servers ServerCharts
}

// HTML writes the report as one page that needs nothing beside it: it works
// from a file, and its content security policy forbids it any connection.
// Every figure of a chart stands in a table too, so that the page is complete
// where scripts do not run.
func HTML(w io.Writer, r *Result, p Page) error {
	parsed, err := Templates()
	if err == nil {
		err = parsed.ExecuteTemplate(w, "page", newPage(clean(r), p))
	}
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// parsePage parses the template of pages, which has the tables of a result by name. A template
// calls functions and no methods: the linker would keep every method of the program for it.
func parsePage() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"throughputTable": throughputTable, "latencyTable": latencyTable, "outcomeTable": outcomeTable, "errorTable": errorTable,
		"thresholdTable": thresholdTable, "promiseTable": promiseTable, "convictionTables": convictionTables, "faultTable": faultTable, "clusterTable": clusterTable, "eventTable": eventTable,
		"sections": sections, "roundTable": roundTable, "roundFactTable": roundFactTable,
		"nodeTable": nodeTable, "accountTable": accountTable,
		"serverReasons": serverReasons, "settingTable": settingTable, "setup": setup, "further": further,
		"subject": subject, "mark": checkMark, "verdictLine": verdictLine, "meaning": meaning, "measurementLine": measurementLine,
		"thresholdsLine": thresholdsLine, "thresholdsClass": func(r *Result) string { return answerOfAll(r).Class() },
		"leftAligned": Table.Left, "doubted": Table.Doubted, "cellMark": Table.Mark, "cellLink": Table.Link, "unmarked": Table.Unmarked,
		"cardFigure": card.Figure, "cardOff": card.Off, "sectionCharts": section.Drawn, "lineLabel": drawnLine.Label,
		"verdictClass": DocumentVerdict.Class, "verdictMark": DocumentVerdict.Mark,
		"isZero": time.Time.IsZero, "formatTime": time.Time.Format,
		"pageScript": func() template.JS { return template.JS(pageScript) },
	}).Parse(pageTemplate)
}

// page is what the template is given. Result is clean.
type page struct {
	*Result
	Page
	// Title heads the page in lists of windows.
	Title, Policy string
	Style         template.CSS
	// First is what a violated run's page says first; nil if no check has evidence.
	First *finding
	// Key are the figures that the run is for, at most three, More the others.
	Key, More []card
	// CheckViews are the checks, those that found something wrong first.
	CheckViews []checkView
	// Committed and the charts in Further have their figures in OverTime, ServerCharts in Looks. Of a
	// chart that some runs do not have, there is one or none.
	Committed, Further, ServerCharts, Curve, Sizes []DrawnChart
	OverTime, Looks                                Figures
	// AllCommitted is true if no operation ended otherwise.
	AllCommitted bool
	// RoundCharts are how long the rounds took, and the times of their operations; Tasks has the
	// time of each.
	RoundCharts []DrawnBars
	Tasks       []DrawnChart
	// IntervalText is the length of the charts' intervals, LeftOut describes which
	// percentiles have no line.
	IntervalText, LeftOut string
	// Course is true if the charts over time are of the whole run.
	Course bool
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

// Policy is the content security policy of a page with this style. It allows that and the script
// of all pages by their hash, and nothing else, neither a connection nor an image, font, frame or
// form: nothing that came from a database can run even if it got into the page.
func Policy(style string) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(pageScript) + "; base-uri 'none'; form-action 'none'"
}

// checkView is a check as the page shows it.
type checkView struct {
	check.Result
	// ID is unique in the page.
	ID    string
	Mark  string
	Shown []shownEvidence
}

// shownEvidence is a piece of evidence, with its cycle if it has one.
type shownEvidence struct {
	check.Evidence
	Summary string
	Steps   []shownStep
	Legend  []dependency
	// Lanes is a picture in text of the smallest part of the history.
	Lanes string
}

// shownStep is a step of a cycle in words.
type shownStep struct {
	check.Step
	Class, Next string
}

// finding is the first piece of evidence of a violated check.
type finding struct{ ID, Name, Text string }

// anchor makes a text the place of a link, the same whenever the text is: letters and
// digits, joined by hyphens.
func anchor(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "-")
}

// unique returns the anchor of a text that taken does not have yet, and enters it there.
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
		j := checkView{Result: c, ID: unique(taken, "check "+c.Name), Mark: checkMark(c.Verdict)}
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
