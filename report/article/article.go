// Package article makes a study's publishable page, as one self-contained HTML page and as
// Markdown. It has the question, the answers with a chart, a section for each experiment, the
// set-up, and what was left out.
//
// It lays out what package compare has found. It must not know how runs are made or where they
// lie, nor the form of a study's file.
package article

import (
	"slices"
	"strings"

	"assay/check"
	"assay/report"
)

// Article is a study to be published. Its prose is Markdown without raw HTML.
type Article struct {
	// Name is the study's; Origin uses it.
	Name, Title string
	ChartPrefix string
	// Setup is what all experiments share.
	Question, Setup string
	// Compared has the figures behind the Answers. Only the page shows them.
	Answers  []Answer
	Compared report.Table
	Lead     Section
	// Facts are about the whole: when, on what machine, in which size.
	Facts     []report.Setting
	Overviews []report.Table
	Sections  []Section
	LeftOut   []string
	// Command repeats the study; without secrets.
	Command string
}

// Section is one experiment.
type Section struct {
	// Name is unique in the article, and its link target.
	Name, Title string
	// Before and After are paragraphs around the figures.
	Before, After string
	Verdict       report.DocumentVerdict
	// Problem says why the figures are not laid out as asked for; empty if they are.
	Problem string
	Tables  []report.Table
	Source  string
	Lines   []report.LineChart
	Bars    []report.BarChart
	// Notes are what a reader must know to believe the figures.
	Notes    []string
	Findings []Finding
	Runs     []report.Table
}

// Finding is what was found wrong in the runs of one configuration.
type Finding struct {
	// Title is unique among the article's headings.
	Title string
	Lines []string
}

// ID is its link target, as common Markdown renderers make it from the heading.
func (f Finding) ID() string { return fileWord(f.Title) }

// FindingTitle has only letters and digits, so that all renderers make the same link of it.
func FindingTitle(section, configuration string) string {
	return "Found in " + strings.ReplaceAll(fileWord(section+" "+configuration), "-", " ")
}

// Answer is the runs' answer to a part of the question.
type Answer struct {
	Ask, Sentence string
	Known         bool
}

// Mark is a question mark before an unknown answer.
func (a Answer) Mark() string {
	if a.Known {
		return ""
	}
	return report.Mark(check.Unknown)
}

// TakeLead moves a section's chart to the lead: the figure's lines, or its bars, or the first.
func (a *Article) TakeLead(section, figure string) {
	at := slices.IndexFunc(a.Sections, func(s Section) bool { return s.Name == section })
	if at < 0 {
		return
	}
	s := &a.Sections[at]
	a.Lead = Section{Name: s.Name, Title: s.Title}
	of := func(title string) bool { return strings.HasPrefix(strings.ToLower(title), strings.ToLower(figure)) }
	line := slices.IndexFunc(s.Lines, func(c report.LineChart) bool { return of(c.Title) && !strings.Contains(c.Title, " over time") })
	bar := slices.IndexFunc(s.Bars, func(c report.BarChart) bool { return of(c.Title) })
	if line < 0 && bar < 0 {
		line, bar = min(0, len(s.Lines)-1), min(0, len(s.Bars)-1)
	}
	switch {
	case line >= 0 && !(bar >= 0 && !of(s.Lines[line].Title)):
		a.Lead.Lines = []report.LineChart{s.Lines[line]}
		s.Lines = slices.Concat(s.Lines[:line], s.Lines[line+1:])
	case bar >= 0:
		a.Lead.Bars = []report.BarChart{s.Bars[bar]}
		s.Bars = slices.Concat(s.Bars[:bar], s.Bars[bar+1:])
	}
}

// Headline says how the runs ended, the gravest first. Experiments without findings share a line.
func (a *Article) Headline() []report.DocumentVerdict {
	var bad, unsure []report.DocumentVerdict
	var unmeasured, good []string
	for _, s := range a.Sections {
		v := s.Verdict
		v.Text = s.Title + ": " + v.Text
		switch {
		case v.Unmeasured:
			unmeasured = append(unmeasured, s.Title)
		case v.Verdict == check.Valid:
			good = append(good, s.Title)
		case v.Verdict == check.Violated:
			bad = append(bad, v)
		default:
			unsure = append(unsure, v)
		}
	}
	lines := append(bad, unsure...)
	if len(unmeasured) > 0 {
		lines = append(lines, report.DocumentVerdict{Text: "every run is VALID, but some measurements are INVALID: " + strings.Join(unmeasured, ", ")})
	}
	switch {
	case len(good) > 0 && len(lines) == 0:
		lines = append(lines, report.DocumentVerdict{Text: "every run is VALID, and so is its measurement", Verdict: check.Valid})
	case len(good) > 0:
		lines = append(lines, report.DocumentVerdict{Text: "VALID, with their measurements: " + strings.Join(good, ", "), Verdict: check.Valid})
	}
	return lines
}
