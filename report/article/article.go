// Package article makes the page of a study that a reader would publish: its question and
// set-up, for each experiment a paragraph, a table with a row for each configuration and
// charts, and conclusions that say whether the runs bear them out; as one HTML page that
// needs nothing beside it, and as Markdown.
//
// It lays out what package compare has found. It must not know how runs are made, where
// they lie, nor the form of a study's file.
package article

import (
	"strings"

	"assay/report"
	"assay/report/compare"
)

// Article is what is published. Its prose is Markdown, of which raw HTML is left out.
type Article struct {
	// Name is the study's, by which Origin knows its files.
	Name, Title string
	// ChartPrefix begins the name of each chart's file.
	ChartPrefix string
	// Question is what the study wants to know, Setup what all experiments share.
	Question, Setup string
	// Facts are about the whole: when, on what machine, in which size.
	Facts []report.Setting
	// Overviews are tables over several sections.
	Overviews   []report.Table
	Sections    []Section
	Conclusions []Conclusion
	// Command makes the same again; without secrets.
	Command string
}

// Section is one experiment.
type Section struct {
	// Name is unique in the article, and its place in a link.
	Name, Title string
	// Before and After are paragraphs around the figures.
	Before, After string
	Verdict       report.DocumentVerdict
	// Problem is why the figures are not laid out as was asked for; empty if they are.
	Problem string
	Table   report.Table
	// Source is where the reported figures are from, Remarks what is to be said of them.
	Source  string
	Remarks []string
	Lines   []report.LineChart
	Bars    []report.BarChart
	// Notes are what a reader must know to believe the figures.
	Notes []string
	// Findings are what was found wrong.
	Findings []Finding
	// Runs are tables of single runs, and of what only some experiments have.
	Runs []report.Table
}

// Finding is what was found wrong in the runs of one configuration.
type Finding struct {
	// Title is in no other heading of the article.
	Title string
	Lines []string
}

// ID is its place in a link: what the usual renderers of Markdown make of the heading.
func (f Finding) ID() string { return fileWord(f.Title) }

// FindingTitle heads the findings of a configuration in a section: in letters and digits alone,
// so that its place in links is the same in pages and in Markdown.
func FindingTitle(section, configuration string) string {
	return "Found in " + strings.ReplaceAll(fileWord(section+" "+configuration), "-", " ")
}

// Conclusion is a sentence with the claims of figures that it rests on.
type Conclusion struct {
	Text string
	// Result is nil if the sentence claims no figure.
	Result *compare.ClaimResult
	// Problem is why the claim could not be judged; empty if it was.
	Problem string
}

// Mark is a tick, a cross or a question mark.
func (c Conclusion) Mark() string { return c.verdict().Mark() }

// Class is the conclusion's in pages.
func (c Conclusion) Class() string { return c.verdict().Class() }

// State says in words whether the runs bear the claim out.
func (c Conclusion) State() string {
	switch {
	case c.Problem != "":
		return "not judged: " + c.Problem
	case c.Result != nil:
		return c.Result.State
	}
	return ""
}

func (c Conclusion) verdict() report.DocumentVerdict {
	if c.Result == nil || c.Result.State == compare.NotShown {
		return report.DocumentVerdict{Unsure: true}
	}
	return report.DocumentVerdict{Good: c.Result.State == compare.Held}
}

// Headline is how the runs of all experiments ended, the gravest first. Experiments without a
// finding share a line.
func (a *Article) Headline() []report.DocumentVerdict {
	var bad, unsure []report.DocumentVerdict
	var unmeasured, good []string
	for _, s := range a.Sections {
		v := s.Verdict
		v.Text = s.Title + ": " + v.Text
		switch {
		case v.Unmeasured:
			unmeasured = append(unmeasured, s.Title)
		case v.Unsure:
			unsure = append(unsure, v)
		case v.Good:
			good = append(good, s.Title)
		default:
			bad = append(bad, v)
		}
	}
	lines := append(bad, unsure...)
	if len(unmeasured) > 0 {
		lines = append(lines, report.DocumentVerdict{Text: "VALID in every run, and not every measurement is: " + strings.Join(unmeasured, ", "), Unsure: true})
	}
	switch {
	case len(good) > 0 && len(lines) == 0:
		lines = append(lines, report.DocumentVerdict{Text: "every run is VALID, and so is its measurement", Good: true})
	case len(good) > 0:
		lines = append(lines, report.DocumentVerdict{Text: "VALID, with their measurements: " + strings.Join(good, ", "), Good: true})
	}
	return lines
}
