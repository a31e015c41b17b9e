package main

import (
	"cmp"

	"assay/report"
	"assay/report/article"
	"assay/report/compare"
	"assay/runner/study"
)

func checkOverviews(s *study.Study) error {
	of := map[string][]compare.Group{}
	for _, e := range s.Experiments {
		of[e.Name] = configurations(e)
		for _, l := range e.LeftOut {
			of[e.Name] = append(of[e.Name], compare.Group{Values: settingsOf(l.Values)})
		}
	}
	for _, o := range s.Overviews {
		for i, c := range overviewOf(s, o).Columns {
			if err := c.Check(of[c.Of]); err != nil {
				return &study.Error{Path: s.Path, Position: o.Columns[i].At, Problem: err.Error()}
			}
		}
	}
	return nil
}

func overviewOf(s *study.Study, o study.Overview) compare.Overview {
	titles := map[string]string{}
	for _, e := range s.Experiments {
		titles[e.Name] = titleOf(e)
	}
	out := compare.Overview{Title: o.Title, Rows: o.Rows, Values: o.Values}
	for _, c := range o.Columns {
		column := compare.OverviewColumn{Title: c.Title, Show: c.Show, Of: c.Of, Where: c.Where, Ratio: c.Ratio}
		column.Title = cmp.Or(column.Title, titles[c.Of], sentence(c.Of)) // --only may have left the experiment out
		out.Columns = append(out.Columns, column)
	}
	return out
}

func overviews(s *study.Study, plans []plannedExperiment, groups map[string][]compare.Group) (all []report.Table) {
	of := map[string]compare.Experiment{}
	for _, p := range plans {
		e := compare.Experiment{Groups: groups[p.experiment.Name], Found: map[string]string{}}
		for _, l := range p.experiment.LeftOut {
			e.LeftOut = append(e.LeftOut, compare.LeftOut{Values: settingsOf(l.Values), Why: l.Why})
		}
		for _, found := range compare.FindingsOf(e.Groups) {
			e.Found[found.Group] = "#" + article.Finding{Title: article.FindingTitle(titleOf(p.experiment), found.Group)}.ID()
		}
		of[p.experiment.Name] = e
	}
	for _, o := range s.Overviews {
		t, err := overviewOf(s, o).Table(of)
		if err != nil { // the runs are made, and what they found is not to be lost for it
			t.Title += ": not as the study asks for: " + err.Error()
		}
		all = append(all, t)
	}
	return all
}
