package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
	"assay/report/article"
	"assay/report/compare"
	"assay/runner/study"
	"assay/store"
)

// checkProse says what of the columns, charts and claims cannot be used, before any run is
// made, as far as that needs no run.
func checkProse(s *study.Study) error {
	for _, e := range s.Experiments {
		wanted, err := plots(e)
		if err == nil {
			err = layout(e).Check(axes(e), wanted)
		}
		for _, p := range wanted {
			if err == nil {
				err = p.Check(configurations(e))
			}
		}
		if err != nil {
			return &study.Error{Path: s.Path, Position: e.At, Problem: err.Error()}
		}
	}
	if err := checkOverviews(s); err != nil {
		return err
	}
	for _, c := range s.Conclusions {
		if c.Claim == "" {
			continue
		}
		if _, err := claimOf(c); err != nil {
			return &study.Error{Path: s.Path, Position: c.At, Problem: err.Error()}
		}
	}
	return nil
}

// configurations are the groups that the experiment will have, without runs.
func configurations(e study.Experiment) (groups []compare.Group) {
	for _, c := range e.Configurations {
		groups = append(groups, compare.Group{Values: settingsOf(c.Values)})
	}
	return groups
}

func axes(e study.Experiment) (names []string) {
	for _, v := range e.Configurations[0].Values {
		names = append(names, v.Axis)
	}
	return names
}

func layout(e study.Experiment) compare.Layout {
	l := compare.Layout{Columns: e.Columns, Sort: e.Sort, Group: e.Group}
	for _, r := range e.Reported {
		l.Reported = append(l.Reported, compare.Reported{Values: settingsOf(r.Values), Figures: r.Figures, Remark: r.Remark})
	}
	return l
}

func plots(e study.Experiment) (all []compare.Plot, err error) {
	for _, text := range e.Charts {
		p, err := compare.ParsePlot(text)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// article lays out what the experiments have so far; groups are by the experiment's name.
func (f *studyFlags) article(s *study.Study, plans []plannedExperiment, groups map[string][]compare.Group) *article.Article {
	a := &article.Article{Name: nameOf(s), Title: s.Title, Question: s.Question, Setup: s.Description, Command: f.command(s), Facts: f.facts(plans, groups)}
	for _, p := range plans {
		a.Sections = append(a.Sections, sectionOf(p.experiment, groups[p.experiment.Name]))
	}
	a.Overviews = overviews(s, plans, groups)
	for _, c := range s.Conclusions {
		a.Conclusions = append(a.Conclusions, conclusionOf(c, groups))
	}
	return a
}

// command makes the study again. The folder is left out: it is the reader's own, as what is
// above the file of a study is if its path is absolute.
func (f *studyFlags) command(s *study.Study) string {
	path := s.Path
	if filepath.IsAbs(path) {
		path = filepath.Base(path)
	}
	text := "assay study " + filepath.ToSlash(path) + " --size " + f.size
	for _, name := range f.only {
		text += " --only " + name
	}
	if f.repeat > 0 {
		text += fmt.Sprintf(" --repeat %d", f.repeat)
	}
	if f.untilValid > 0 {
		text += fmt.Sprintf(" --until-valid=%d", f.untilValid)
	}
	return text
}

// facts are about all runs: where and when they were made, and of what.
func (f *studyFlags) facts(plans []plannedExperiment, groups map[string][]compare.Group) (facts []report.Setting) {
	var machines, databases, versions, rules []string
	runs, again, first, last := 0, 0, "", ""
	for _, p := range plans {
		for _, g := range groups[p.experiment.Name] {
			again += g.Again
			for _, r := range g.Runs {
				runs++
				m, x := r.Machine, r.Result
				machines = append(machines, fmt.Sprintf("%s, %s, %s, %s", m.CPU, check.Counted(int64(m.CPUs), "processor", "processors"), quantity.Memory(int64(m.MemoryBytes)), m.OS))
				databases = append(databases, x.Database.Product+" "+x.Database.Version)
				versions = append(versions, x.Version)
				rules = append(rules, fmt.Sprint(max(1, x.Rules)))
				day := x.Started.UTC().Format("2006-01-02")
				if first == "" || day < first {
					first = day
				}
				last = max(last, day)
			}
		}
	}
	if runs == 0 {
		return nil
	}
	days := first
	if last != first {
		days += " to " + last
	}
	made := fmt.Sprint(runs)
	if again > 0 {
		made += fmt.Sprintf(", and %d before them whose measurements were invalid, which were made again", again)
	}
	return []report.Setting{{Name: "runs", Value: made}, {Name: "size", Value: f.size}, {Name: "made", Value: days},
		{Name: "machine", Value: distinct(machines)}, {Name: "databases", Value: distinct(databases)}, {Name: "assay", Value: distinct(versions)}, {Name: "rules of verdict", Value: distinct(rules)}}
}

func distinct(all []string) string {
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "; ")
}

func sectionOf(e study.Experiment, groups []compare.Group) article.Section {
	section := article.Section{Name: e.Name, Title: titleOf(e), Before: e.Description, After: e.Discussion, Source: e.Source}
	section.Verdict = compare.VerdictOf(groups)
	section.Notes = compare.Remarks(groups)
	made := slices.ContainsFunc(groups, func(g compare.Group) bool { return len(g.Runs) > 0 })
	if !made {
		return section
	}
	wanted, err := plots(e)
	if err == nil {
		section.Lines, section.Bars, err = compare.Plots(groups, wanted, e.Group)
	}
	if err == nil {
		section.Table, section.Remarks, err = compare.Configurations(groups, layout(e))
	}
	if err != nil { // the runs are made, and their figures are not to be lost for it
		section.Problem = "The table and the charts are not as the study asks for: " + err.Error()
		section.Lines, section.Bars, _ = compare.Plots(groups, nil, nil)
		section.Table, _, _ = compare.Configurations(groups, compare.Layout{})
	}
	section.Table.Title = section.Title
	section.Remarks = append(section.Remarks, leftOutLines(e)...)
	for _, found := range compare.FindingsOf(groups) {
		section.Findings = append(section.Findings, article.Finding{Title: article.FindingTitle(section.Title, found.Group), Lines: found.Lines})
	}
	summary, single := compare.Summary(e.Workload, groups), compare.Runs(groups)
	section.Runs = append(summary.Tables[1:], single.Tables...)
	return section
}

// settingsOf are values as series and reports have them, without passwords.
func settingsOf(values []study.Value) (all []report.Setting) {
	for _, v := range values {
		text := v.Text
		if v.Axis == flagDatabase {
			text = store.Redact(text)
		}
		all = append(all, report.Setting{Name: v.Axis, Value: text})
	}
	return all
}

const flagDatabase = "db"

// claimOf reads a claim, in which addresses stand as reports have them: without passwords.
func claimOf(c study.Conclusion) (compare.Claim, error) {
	words := strings.Split(c.Claim, " ")
	for i, word := range words {
		if !strings.Contains(word, "://") {
			continue
		}
		if address, of := strings.CutPrefix(word, flagDatabase+"="); of {
			words[i] = flagDatabase + "=" + store.Redact(address)
		} else {
			words[i] = store.Redact(word)
		}
	}
	return compare.ParseClaim(strings.Join(words, " "))
}

// titleOf heads an experiment.
func titleOf(e study.Experiment) string { return cmp.Or(e.Title, sentence(e.Name)) }

// sentence is the name of an experiment as a heading.
func sentence(name string) string {
	text := strings.ReplaceAll(name, "-", " ")
	return strings.ToUpper(text[:1]) + text[1:]
}

func conclusionOf(c study.Conclusion, groups map[string][]compare.Group) article.Conclusion {
	out := article.Conclusion{Text: c.Text}
	if c.Claim == "" {
		return out
	}
	if groups[c.Experiment] == nil {
		out.Problem = "experiment " + c.Experiment + " has no result"
		return out
	}
	claim, err := claimOf(c)
	if err == nil {
		var result compare.ClaimResult
		if result, err = claim.Judge(groups[c.Experiment]); err == nil {
			out.Result = &result
			return out
		}
	}
	out.Problem = err.Error()
	return out
}
