package hunt

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/check"
	"assay/history"
	"assay/report"
)

// Stop says what the hunt did, and what it did not reach.
func (s *State) Stop() string {
	found := "nothing"
	if n := len(s.Findings); n > 0 {
		found = check.Counted(n, "finding", "findings")
	}
	if n := s.Plans - s.judged(); n > 0 {
		found += ", and no verdict of " + check.Counted(n, "plan", "plans")
	}
	text := fmt.Sprintf("In %s, %s s of load: %s; %d of %d states reached", check.Counted(s.Plans, "plan", "plans"), check.Count(int64(s.LoadSeconds)), found, len(s.States)-len(s.unreached()), len(s.States))
	if left := s.unreached(); len(left) > 0 {
		text += "; not reached: " + strings.Join(left[:min(len(left), 6)], "; ")
		if len(left) > 6 {
			text += fmt.Sprintf("; and %d others", len(left)-6)
		}
	}
	return text + "."
}

func (s *State) unreached() []string {
	return slices.DeleteFunc(slices.Clone(s.States), func(name string) bool { return s.Coverage.States[name] > 0 })
}

// Violated reports whether a promise was broken.
func (s *State) Violated() bool {
	return slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Verdict == check.Violated })
}

// Judged reports whether a run had a verdict.
func (s *State) Judged() bool { return s.judged() > 0 }

func (s *State) judged() int {
	return s.Verdicts[check.Valid.String()] + s.Verdicts[check.Allowed.String()] + s.Verdicts[check.Violated.String()]
}

func (f Finding) probability() string {
	switch {
	case f.Goal == unhealed:
		return fmt.Sprintf("seen by %s; the command alone ends its servers, and does not wait for them to heal", check.Counted(f.Seen, "plan", "plans"))
	case f.Of == 0 && f.Undecided > 0:
		return check.Counted(f.Undecided, "run", "runs") + " of the command alone had no verdict"
	case f.Of == 0:
		return "not repeated yet"
	}
	text := fmt.Sprintf("found in %d of %s of %.0f s (%.0f to %.0f %%)", f.Found, check.Counted(f.Of, "run", "runs"), f.RunSeconds, 100*f.Low, 100*f.High)
	if f.Found == 0 {
		text = fmt.Sprintf("not found again in %s of %.0f s by the command alone", check.Counted(f.Of, "run", "runs"), f.RunSeconds)
	}
	if f.Undecided > 0 {
		text += fmt.Sprintf("; %d more had no verdict", f.Undecided)
	}
	return text
}

func (f Finding) verdictWord() string {
	switch {
	case f.Verdict == check.Violated:
		return "VIOLATED"
	case f.Goal == unhealed:
		return "NOT HEALED"
	case f.Verdict == check.Allowed:
		return "allowed by the manual"
	}
	return "found, verdict " + f.Verdict.String()
}

// Text is the summary for a terminal. folder is the hunt's folder.
func (s *State) Text(folder string) string {
	var b strings.Builder
	searched := fmt.Sprintf("%.0f s", s.Seconds)
	fmt.Fprintf(&b, "hunt on %s · %s · goals %s · seed %d%s\n\n", s.Cluster, strings.Join(s.Workloads, ", "), s.goals(), s.Seed, s.ablation())
	first := slices.Clone(s.Findings)
	slices.SortStableFunc(first, func(a, b Finding) int { return cmp.Compare(b.violates(), a.violates()) })
	for _, f := range first[:min(len(first), 3)] {
		fmt.Fprintf(&b, "! %s  %s\n  %s\n  %s; first by plan %d, after %.0f s\n", f.verdictWord(), short(f.Text), f.Command, f.probability(), f.At, f.After)
	}
	if more := len(s.Findings) - 3; more > 0 {
		fmt.Fprintf(&b, "  and %s more, on the page\n", check.Counted(more, "finding", "findings"))
	}
	fmt.Fprintf(&b, "%s\n", s.Stop())
	fmt.Fprintf(&b, "searched      %s, %s, %s\n", searched, check.Counted(s.Clusters, "cluster", "clusters"), s.verdicts())
	fmt.Fprintf(&b, "reached       %d faults by state, %d classes of errors and findings, %d patterns of log lines\n", s.pairs(), len(s.Coverage.Errors), len(s.Coverage.Lines))
	if s.Interrupted {
		fmt.Fprintf(&b, "interrupted   assay hunt --resume %s goes on\n", folder)
	}
	fmt.Fprintf(&b, "page          %s\n", filepath.Join(folder, FilePage))
	return b.String()
}

func (f Finding) violates() int {
	if f.Verdict == check.Violated {
		return 1
	}
	return 0
}

// short cuts a finding's text to the width of a terminal.
func short(text string) string {
	if runes := []rune(text); len(runes) > 160 {
		return string(runes[:160]) + "..."
	}
	return text
}

func (s *State) goals() string {
	var all []string
	for _, g := range s.Goals {
		all = append(all, g.String())
	}
	return strings.Join(all, ", ")
}

func (s *State) ablation() string {
	if s.Random {
		return " · random plans"
	}
	return ""
}

func (s *State) verdicts() string {
	if s.Plans == 0 {
		return "no runs"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.Verdicts)) {
		all = append(all, fmt.Sprintf("%d %s", s.Verdicts[name], name))
	}
	return "runs: " + strings.Join(all, ", ")
}

func (s *State) pairs() (n int) {
	for _, states := range s.Coverage.Pairs {
		n += len(states)
	}
	return n
}

// Document is the page.
func (s *State) Document() report.Document {
	d := report.Document{Title: "Hunt on " + s.Cluster, Answers: []string{s.Stop()},
		Notes: []string{fmt.Sprintf("goals %s; workloads %s; seed %d%s; %s", s.goals(), strings.Join(s.Workloads, ", "), s.Seed, s.ablation(), s.verdicts())}}
	found := report.Table{Title: "Found", Head: []string{"goal", "what", "how often", "command"}, Words: []int{1, 2, 3}}
	for _, f := range s.Findings {
		verdict := f.Verdict
		if verdict == check.Valid { // of the run's checks: what a goal asked for is no good news
			verdict = check.Unknown
		}
		d.Verdicts = append(d.Verdicts, report.DocumentVerdict{Text: f.verdictWord() + ": " + f.Text, Verdict: verdict})
		found.Rows = append(found.Rows, []string{f.Goal, f.Text, f.probability(), f.Command})
	}
	tried := report.Table{Title: "Tried", Head: []string{"fault", "state at injection", "runs"}, Words: []int{1}}
	for _, action := range slices.Sorted(maps.Keys(s.Coverage.Pairs)) {
		states := s.Coverage.Pairs[action]
		for _, state := range slices.Sorted(maps.Keys(states)) {
			tried.Rows = append(tried.Rows, []string{action, state, fmt.Sprint(states[state])})
		}
	}
	for _, action := range s.Faults {
		if len(s.Coverage.Pairs[action]) == 0 {
			tried.Rows = append(tried.Rows, []string{action, "never injected", "0"})
		}
	}
	reached := report.Table{Title: "States", Head: []string{"state", "runs that reached it"}}
	for _, state := range s.States {
		runs := "never"
		if n := s.Coverage.States[state]; n > 0 {
			runs = fmt.Sprint(n)
		}
		reached.Rows = append(reached.Rows, []string{state, runs})
	}
	all := []report.Table{found}
	for _, f := range s.Findings {
		all = append(all, report.Table{Title: "What shows " + f.Key, Drawn: f.History})
	}
	for _, t := range append(all, tried, reached) {
		if len(t.Rows) > 0 || t.Drawn != "" {
			d.Tables = append(d.Tables, t)
		}
	}
	return d
}

func (s *State) writePages(folder string) error {
	d := s.Document()
	var page, text strings.Builder
	if err := d.HTML(&page); err != nil {
		return err
	}
	if err := d.Markdown(&text); err != nil {
		return err
	}
	for name, content := range map[string]string{FilePage: page.String(), FileText: text.String()} {
		if err := history.WriteFile(filepath.Join(folder, name), []byte(content)); err != nil {
			return err
		}
	}
	return os.MkdirAll(filepath.Join(folder, runs), 0o755)
}
