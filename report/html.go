package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"unicode"

	"assay/check"
)

//go:embed assets/page.html
var pageTemplate string

//go:embed assets/page.css
var pageStyle string

//go:embed assets/page.js
var pageScript string

//go:embed assets/copy.js
var copyText string

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

// parsePage parses the template of pages, which has the tables of a result by name.
func parsePage() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"throughputTable": throughputTable, "latencyTable": latencyTable, "outcomeTable": outcomeTable, "errorTable": errorTable,
		"thresholdTable": thresholdTable, "promiseTable": promiseTable, "convictionTables": convictionTables, "faultTable": faultTable, "clusterTable": clusterTable, "eventTable": eventTable,
		"sections": sections, "roundTable": roundTable, "roundFactTable": roundFactTable,
		"seriesTable": seriesTable, "curveTable": curveTable, "nodeTable": nodeTable, "accountTable": accountTable,
		"serverReasons": serverReasons, "settingTable": settingTable, "setup": setup, "further": further,
		"subject": subject, "mark": checkMark, "verdictLine": verdictLine, "meaning": meaning, "measurementLine": measurementLine,
		"thresholdsLine": thresholdsLine, "answerOfAll": answerOfAll,
		"copyScript": func() template.JS { return template.JS(copyText) },
	}).Parse(pageTemplate)
}

// page is what the template is given. Result is clean.
type page struct {
	*Result
	Page
	// Policy is the content security policy. It lets only the three scripts and
	// the style run that are known by their hash, so that nothing that came
	// from a database can run even if it got into the page.
	Policy             string
	Style              template.CSS
	PlotScript, Script template.JS
	// Key are the figures that the run is for, at most three, More the others.
	Key, More []card
	// CheckViews are the checks, those that found something wrong first.
	CheckViews []checkView
	Chart      chart
	// RoundPicture is for wide windows, RoundNarrow the same for narrow ones.
	RoundPicture, RoundNarrow *roundPicture
	// IntervalText is the length of the charts' intervals, LeftOut describes which
	// percentiles have no line.
	IntervalText, LeftOut string
	// Course is true if the charts over time are of the whole run.
	Course bool
}

func newPage(r *Result, p Page) *page {
	style := plotStyle + "\n" + Style()
	v := &page{
		Result: r, Page: p,
		Policy: Policy(style, plotScript, pageScript, copyText),
		Style:  template.CSS(style), PlotScript: template.JS(plotScript), Script: template.JS(pageScript),
		CheckViews: checkViews(r), Chart: chartOf(r),
		RoundPicture: drawRounds(r.Rounds, wideForm()), RoundNarrow: drawRounds(r.Rounds, narrowForm()),
		Course: !slices.ContainsFunc(r.Rounds, func(x Round) bool { return x.Apart }),
	}
	all := cards(r)
	v.Key, v.More = all[:min(keyCards, len(all))], all[min(keyCards, len(all)):]
	v.IntervalText, v.LeftOut = seconds(v.Chart.Interval), omittedPercentiles(&v.Chart)
	v.Chart.Servers = p.Servers.drawn()
	return v
}

// Policy allows one style and some scripts by their hash, and nothing else:
// no connection, image, font, frame or form.
func Policy(style string, scripts ...string) string {
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
	Picture *picture
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

// First is what a violated run's page says first; nil if no check has evidence.
func (p *page) First() *finding {
	if len(p.CheckViews) == 0 || p.CheckViews[0].Verdict != check.Violated || len(p.CheckViews[0].Shown) == 0 {
		return nil
	}
	c := p.CheckViews[0]
	return &finding{c.ID, c.Name, sentence(c.Shown[0].Summary)}
}

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
	for i, c := range r.Checks {
		j := checkView{Result: c, ID: unique(taken, "check "+c.Name), Mark: checkMark(c.Verdict)}
		for k, e := range c.Evidence {
			s := shownEvidence{Evidence: e, Summary: evidenceText(e)}
			if cycle := cycleOf(e); cycle != nil {
				s.Picture, s.Legend = draw(cycle, fmt.Sprintf("cycle-%d-%d", i+1, k+1)), legend(cycle)
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
