package main

import (
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
	"assay/workload/definition"
)

// checkQuestions finds questions that no run answers, before any run.
func checkQuestions(s *study.Study, plans []plannedExperiment) error {
	for _, q := range s.Questions {
		for _, c := range q.Compare {
			for _, e := range plans {
				if e.experiment.Name != q.Experiment {
					continue
				}
				if err := c.Check(e.experiment.Groups(), e.work()); err != nil {
					return problem(s, c.At, err.Error())
				}
			}
		}
	}
	return nil
}

// work describes an experiment's runs before they are made.
func (p plannedExperiment) work() (w compare.Work) {
	for _, c := range p.plan.Configurations {
		w.Faults = w.Faults || len(c.Scenario.Faults) > 0
		w.Priced = w.Priced || c.Scenario.Price != ""
		w.Ramped = w.Ramped || c.Scenario.Load.Ramp > 0
		if in, has := c.Scenario.Config.(definition.NamesRounds); has {
			w.Rounds = append(w.Rounds, in.RoundNames()...)
		}
		if counts, has := c.Scenario.Config.(definition.Counts); has {
			w.Own = counts.Figures()
		}
	}
	return w
}

// article lays out the experiments so far; groups are by experiment name.
func (f *studyFlags) article(s *study.Study, plans []plannedExperiment, groups map[string][]compare.Group) *article.Article {
	a := &article.Article{Name: nameOf(s), Title: s.Title, Question: s.Question, Setup: s.Description, Command: f.command(s), Facts: f.facts(plans, groups)}
	var whole []compare.Group
	for _, p := range plans {
		whole = append(whole, groups[p.experiment.Name]...)
		a.Sections = append(a.Sections, sectionOf(p.experiment, groups[p.experiment.Name]))
	}
	if len(a.Sections) > 0 {
		first := &a.Sections[0]
		first.Notes = slices.Concat([]string{compare.HowToRead}, compare.Imprecise(whole), first.Notes)
	}
	a.Overviews = overviews(s, plans, groups)
	a.Compared = report.Table{Title: "What the answers rest on", Head: compare.AnswerHead(), Words: []int{1, 2}}
	for _, q := range s.Questions {
		one, rows := answerOf(q, groups)
		a.Answers, a.Compared.Rows = append(a.Answers, one), append(a.Compared.Rows, rows...)
	}
	for _, p := range plans {
		for _, line := range leftOutLines(p.experiment) {
			a.LeftOut = append(a.LeftOut, p.experiment.Title+": "+line)
		}
	}
	a.TakeLead(leadOf(s))
	return a
}

// leadOf is the experiment and the figure of the chart that shows the answers.
func leadOf(s *study.Study) (experiment, figure string) {
	for _, q := range s.Questions {
		if len(q.Compare) > 0 {
			_, figure, _ := strings.Cut(q.Compare[0].Text, " in ")
			return q.Experiment, figure
		}
	}
	for _, q := range s.Questions {
		return q.Found[0], ""
	}
	return "", ""
}

// command repeats the study. It leaves out the folder, and the directories of the file's absolute
// path: these are the reader's own.
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
	if f.untilValid != mostAgain {
		text += fmt.Sprintf(" --until-valid=%d", f.untilValid)
	}
	return text
}

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
	section := article.Section{Name: e.Name, Title: e.Title, Before: e.Description, After: e.Discussion, Source: e.Source}
	section.Verdict = compare.VerdictOf(groups)
	section.Notes = compare.Remarks(groups)
	made := slices.ContainsFunc(groups, func(g compare.Group) bool { return len(g.Runs) > 0 })
	if !made {
		return section
	}
	var err error
	if section.Lines, section.Bars, err = compare.Plots(groups, e.Charts, e.Group); err == nil {
		section.Tables, err = compare.Configurations(groups, e.Layout)
	}
	if err != nil { // the runs are made, and their figures are not to be lost for it
		section.Problem = "The table and the charts are not as the study asks for: " + err.Error()
		section.Lines, section.Bars, _ = compare.Plots(groups, nil, nil)
		section.Tables, _ = compare.Configurations(groups, compare.Layout{})
	}
	for _, found := range compare.FindingsOf(groups) {
		section.Findings = append(section.Findings, article.Finding{Title: article.FindingTitle(section.Title, found.Group), Lines: found.Lines})
	}
	summary, single := compare.Summary(e.Workload, groups), compare.Runs(groups)
	section.Runs = append(summary.Tables[1:], single.Tables...)
	return section
}

func answerOf(q study.Question, groups map[string][]compare.Group) (article.Answer, [][]string) {
	out := article.Answer{Ask: q.Ask, Known: true}
	var sentences []string
	var rows [][]string
	say := func(a compare.Answer, err error) {
		if err != nil {
			a = compare.Answer{Sentence: "Not known: " + err.Error() + "."}
		}
		sentences, rows = append(sentences, a.Sentence), append(rows, a.Rows...)
		out.Known = out.Known && a.Known
	}
	for _, c := range q.Compare {
		if groups[q.Experiment] == nil {
			say(compare.Answer{}, fmt.Errorf("experiment %s has no result", q.Experiment))
			continue
		}
		say(c.Answer(groups[q.Experiment]))
	}
	if len(q.Found) > 0 {
		var all []compare.Group
		for _, name := range q.Found {
			if all = append(all, groups[name]...); groups[name] == nil {
				say(compare.Answer{}, fmt.Errorf("experiment %s has no result", name))
			}
		}
		say(compare.FoundAnswer(all), nil)
	}
	out.Sentence = strings.Join(sentences, " ")
	return out, rows
}

func overviews(s *study.Study, plans []plannedExperiment, groups map[string][]compare.Group) (all []report.Table) {
	of := map[string]compare.Experiment{}
	for _, p := range plans {
		e := compare.Experiment{Groups: groups[p.experiment.Name], Found: map[string]string{}}
		for _, l := range p.experiment.LeftOut {
			e.LeftOut = append(e.LeftOut, compare.LeftOut{Values: l.Values, Why: l.Why})
		}
		for _, found := range compare.FindingsOf(e.Groups) {
			e.Found[found.Group] = "#" + article.Finding{Title: article.FindingTitle(p.experiment.Title, found.Group)}.ID()
		}
		of[p.experiment.Name] = e
	}
	for _, o := range s.Overviews {
		t, err := o.Table(of)
		if err != nil { // the runs are made, and what they found is not to be lost for it
			t.Title += ": not as the study asks for: " + err.Error()
		}
		all = append(all, t)
	}
	return all
}
