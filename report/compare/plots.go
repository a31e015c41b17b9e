package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/quantity"
	"assay/report"
)

// Plot is what an author wants drawn of an experiment.
type Plot struct {
	text string
	// over is an axis, overTimeWord, overRoundsWord, overPercentilesWord, or empty for a bar for
	// each configuration. With tasksWord figure is the name of a round.
	figure, over string
	// of are values that drawn configurations must have; empty draws all.
	of []string
}

const (
	overTimeWord        = "time"
	overRoundsWord      = "rounds"
	overPercentilesWord = "percentile"
	tasksWord           = "each task of"
	noPlotWord          = "none"
)

// PlotForms says how a plot is written.
const PlotForms = "a metric (bars by configuration), METRIC and METRIC, METRIC by AXIS, throughput over time, response time by percentile, METRIC over rounds, each task of ROUND (its time), or ramp (throughput by active clients); behind throughput over time, response time by percentile, METRIC over rounds and ramp 'of VALUE & VALUE' chooses configurations; none alone draws nothing"

// ParsePlot reads one of PlotForms. It returns a *LayoutError.
func ParsePlot(text string) (Plot, error) {
	p := Plot{text: strings.TrimSpace(text)}
	form := p.text
	for _, word := range []string{" over " + overTimeWord, " by " + overPercentilesWord, " over " + overRoundsWord, rampWord} {
		if at := strings.Index(form, word+" of "); at >= 0 {
			p.of = wordsOf(form[at+len(word+" of "):])
			form = form[:at+len(word)]
		}
	}
	p.figure = figureName(form)
	for _, word := range []string{" over ", " by "} {
		if figure, over, found := cutLast(form, word); found {
			p.figure, p.over = figureName(figure), strings.TrimSpace(over)
		}
	}
	if form == rampWord || form == noPlotWord {
		p.over = form
	}
	if round, is := strings.CutPrefix(p.text, tasksWord+" "); is {
		p.figure, p.over = round, tasksWord
	}
	if p.figure == "" {
		return p, &LayoutError{fmt.Sprintf("the chart %q names no figure; write %s", text, PlotForms)}
	}
	return p, nil
}

// Plots draws plots, or without any the defaults for the kind of work. group are the axes that
// group bars. It returns a *LayoutError.
func Plots(groups []Group, plots []Plot, group []string) (lines []report.LineChart, bars []report.BarChart, err error) {
	had := withResults(groups)
	if len(had) == 0 {
		return nil, nil, nil
	}
	if len(plots) == 0 {
		own := group
		if plots, group = defaultPlots(had); len(own) > 0 {
			group = own
		}
	}
	for _, p := range plots {
		chosen, err := p.chosen(had)
		if err != nil {
			return nil, nil, err
		}
		switch p.over {
		case noPlotWord:
		case "":
			chart, err := p.bars(chosen, group)
			if err != nil {
				return nil, nil, err
			}
			if len(chart.Bars) > 0 {
				bars = append(bars, chart)
			}
		case overTimeWord:
			lines = append(lines, overTimeByFault(capital(p.text), chosen)...)
		case tasksWord:
			lines = append(lines, p.tasks(chosen))
		case rampWord:
			lines = append(lines, byClients(chosen))
		case overPercentilesWord:
			chart := timesByPercentile(chosen)
			chart.Title = capital(p.text)
			lines = append(lines, chart)
		default:
			chart, err := p.lines(chosen)
			if err != nil {
				return nil, nil, err
			}
			lines = append(lines, chart)
		}
	}
	lines = slices.DeleteFunc(lines, func(c report.LineChart) bool { return len(c.Lines) == 0 })
	return lines, bars, nil
}

func (p Plot) chosen(groups []Group) ([]Group, error) {
	if len(p.of) == 0 {
		return groups, nil
	}
	chosen := slices.DeleteFunc(slices.Clone(groups), func(g Group) bool { return g.axesWith(p.of) == nil })
	if len(chosen) == 0 {
		return nil, &LayoutError{fmt.Sprintf("the chart %q: no configuration has %s; values are %s", p.text, strings.Join(p.of, " and "), strings.Join(valuesOfAll(groups), ", "))}
	}
	return chosen, nil
}

func (p Plot) metric(groups []Group) (metric, error) {
	like := groups[0].Runs[0].Result
	m, found := figureOf(like, p.figure)
	if !found {
		return m, unknownColumn("figure for the chart "+strconv.Quote(p.text)+":", p.figure, like)
	}
	return m, nil
}

// lines has a line for each combination of the other values.
func (p Plot) lines(groups []Group) (report.LineChart, error) {
	if p.over == overRoundsWord {
		return p.overRounds(groups)
	}
	m, err := p.metric(groups)
	if err != nil {
		return report.LineChart{}, err
	}
	chart := report.LineChart{Title: capital(m.name) + " by " + p.over, Across: p.over, Up: m.name + ", median over the runs", Format: m.format}
	for _, g := range groups {
		of := report.ValueOf(g.Values, p.over)
		if of == "" {
			return chart, p.doesNotVary(axesOf(groups))
		}
		x, err := strconv.ParseFloat(of, 64)
		if err != nil {
			return chart, &LayoutError{fmt.Sprintf("the chart %q is by %s, whose value %q is no number", p.text, p.over, of)}
		}
		if everyRunHas([]Group{g}, m) {
			s := g.spread(m)
			addPoint(&chart, g.without(p.over), x, s.Median)
			if s.AtLeast && !strings.Contains(chart.Up, quantity.AtLeast) {
				chart.Up += " (where the end of runs cut it, " + quantity.AtLeast + "so long)"
			}
		}
	}
	for i := range chart.Lines {
		slices.SortFunc(chart.Lines[i].Points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	}
	if m.name == "throughput" && scales(p.over) {
		p.addLaws(&chart, groups)
	}
	return chart, nil
}

func (p Plot) doesNotVary(axes []string) error {
	return &LayoutError{fmt.Sprintf("the chart %q is by %q, which does not vary; there vary %s", p.text, p.over, strings.Join(axes, ", "))}
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func addPoint(c *report.LineChart, name string, x, y float64) {
	at := slices.IndexFunc(c.Lines, func(l report.ChartLine) bool { return l.Name == name })
	if at < 0 {
		at = len(c.Lines)
		c.Lines = append(c.Lines, report.ChartLine{Name: name})
	}
	c.Lines[at].Points = append(c.Lines[at].Points, [2]float64{x, y})
}

// without names the group by its values except an axis's.
func (g Group) without(axis string) string {
	rest := slices.DeleteFunc(slices.Clone(g.Values), func(v report.Setting) bool { return v.Name == axis })
	return cmp.Or(report.Pairs(rest, ", "), "measured")
}

// tasks draws the time of each operation of a round, in the first run of each group with a valid
// measurement, or else the first run.
func (p Plot) tasks(groups []Group) report.LineChart {
	var names []string
	var rounds []report.Round
	for _, g := range groups {
		at := max(0, slices.IndexFunc(g.Runs, func(r Run) bool { return !r.Result.Measurement.Invalid() }))
		for _, r := range g.Runs[at].Result.Rounds {
			if r.Name == p.figure {
				names, rounds = append(names, g.without("")), append(rounds, r)
			}
		}
	}
	return report.TimesOfTasks("Time of each task, "+p.figure, names, rounds)
}

func (p Plot) overRounds(groups []Group) (report.LineChart, error) {
	figures := roundFigures()
	at := slices.IndexFunc(figures, func(f roundFigure) bool { return f.name == p.figure })
	if at < 0 {
		return report.LineChart{}, &LayoutError{fmt.Sprintf("the chart %q: of rounds there are %s", p.text, strings.Join(roundFigureNames(), ", "))}
	}
	f := figures[at]
	chart := report.LineChart{Title: capital(p.text), Across: "round", Up: f.name + ", median over the runs", Format: f.metricOf("").format}
	for _, g := range groups {
		for i := range g.Runs[0].Result.Rounds {
			var values []float64
			for _, r := range g.Runs {
				if i < len(r.Result.Rounds) {
					if v, ok := f.get(&r.Result.Rounds[i]); ok {
						values = append(values, v)
					}
				}
			}
			if len(values) > 0 {
				addPoint(&chart, g.without(""), float64(i+1), quantity.Median(values))
			}
		}
	}
	return chart, nil
}
