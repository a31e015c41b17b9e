package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
	"assay/report/scalability"
)

// Sweep is throughput and response time against load.
type Sweep struct {
	Workload string
	// Groups are in ascending order of load.
	Groups []Group
	// Law is nil if there are too few loads. Unbelieved means that it uses invalid measurements.
	Law        *scalability.Law
	Unbelieved bool
	// Objective is what was asked for, or empty. Rate is the highest rate of arrivals a second
	// that kept it twice; 0 if none did.
	Objective  string
	Rate       float64
	Tried      int
	Unanswered bool
	// Broken says which run of the search ended it with a violation.
	Broken string
	// Ended says why the sweep ended before all of its runs were made, such as "it was interrupted".
	Ended string
}

// NewSweep takes the groups of a series that varies only the clients, and fits the law. It
// returns a *report.FileError if no run has a result.
func NewSweep(workload string, groups []Group, seed uint64) (*Sweep, error) {
	s := &Sweep{Workload: workload}
	s.Groups = withResults(groups)
	if len(s.Groups) == 0 {
		return nil, &report.FileError{Path: workload, Problem: "no run of the sweep has a result"}
	}
	slices.SortStableFunc(s.Groups, func(a, b Group) int { return cmp.Compare(a.clients(), b.clients()) })
	s.Law, s.Unbelieved = fitLaw(s.Groups, func(_ Group, r Run) float64 { return float64(r.Result.Load.Clients) }, seed)
	return s, nil
}

func (g Group) clients() int { return g.Runs[0].Result.Load.Clients }

func (g Group) figure(name string) (float64, bool) {
	m, _ := find(metrics(), name)
	values := valuesOf(m, g)
	if len(values) < len(g.believed()) {
		return 0, false
	}
	return quantity.Median(values), true
}

// believed are the groups with a measurement that is not invalid, or all groups if there is none.
func (s *Sweep) believed() []Group {
	groups := slices.DeleteFunc(slices.Clone(s.Groups), Group.unbelieved)
	if len(groups) == 0 {
		return s.Groups
	}
	return groups
}

// Best is the load with the highest measured throughput.
func (s *Sweep) Best() (clients int, perSecond float64) {
	for _, g := range s.believed() {
		if x, ok := g.figure("throughput"); ok && x > perSecond {
			clients, perSecond = g.clients(), x
		}
	}
	return clients, perSecond
}

// Largest is the largest load.
func (s *Sweep) Largest() int { return s.Groups[len(s.Groups)-1].clients() }

// Knee is the measured load with the most throughput for its response time, X/R (L. Kleinrock,
// "Power and deterministic rules of thumb", ICC 1979). Beyond it clients wait longer for little
// gain.
func (s *Sweep) Knee() (clients int) {
	power := 0.0
	for _, g := range s.believed() {
		x, _ := g.figure("throughput")
		r, ok := g.figure("mean")
		if ok && r > 0 && x/r > power {
			clients, power = g.clients(), x/r
		}
	}
	return clients
}

// Document shows the sweep.
func (s *Sweep) Document() report.Document {
	d := report.Document{Title: s.Workload + ": throughput and response time against load"}
	d.Tables = append(d.Tables, s.table())
	notes := s.notes()
	d.Answers, d.Notes = []string{s.answer(notes[0])}, notes[1:]
	if n := s.runsEach(); n > 1 {
		d.Notes = append(d.Notes, fmt.Sprintf("Figures of each load are medians over %d runs.", n))
	}
	d.Notes = append(d.Notes, against(s.Groups...)...)
	switch {
	case s.Objective == "" && s.Ended != "":
		d.Notes = append(d.Notes, "The sweep ended early: "+s.Ended+".")
	case s.Objective != "":
		d.Verdicts = append(d.Verdicts, report.DocumentVerdict{Text: s.objectiveText(), Verdict: s.answered().Verdict()})
	}
	// There is no axis, and so no chart, if there was one number of clients.
	d.Charts, _, _ = Plots(s.Groups, []Plot{{figure: "throughput", over: "clients"}, {figure: "p50", over: "clients"}, {figure: "p99", over: "clients"}}, nil)
	return d
}

// table has a line for each load. It marks peak and knee if they are known, and a number of runs that
// differs from the other loads'.
func (s *Sweep) table() report.Table {
	load := report.Table{Head: []string{"clients", "throughput", "±", "p50", "±", "p99", "±", ""}}
	best, knee := 0, 0
	if s.valid() {
		best, _ = s.Best()
		knee = s.Knee()
	}
	for _, g := range s.Groups {
		row := []string{strconv.Itoa(g.clients())}
		for _, name := range []string{"throughput", "p50", "p99"} {
			m, _ := find(metrics(), name)
			row = append(row, g.medianAndShare(m)...)
		}
		var marks []string
		switch {
		case g.clients() == best:
			marks = append(marks, "peak")
		case g.clients() == knee:
			marks = append(marks, "knee")
		}
		if g.unbelieved() {
			marks = append(marks, "invalid")
		}
		if s.runsEach() == 0 {
			marks = append(marks, counted(g))
		}
		load.Rows = append(load.Rows, append(row, strings.Join(marks, ", ")))
	}
	return load
}

// runsEach is the number of runs of each load; 0 if not all have the same.
func (s *Sweep) runsEach() (n int) {
	for _, g := range s.Groups {
		if n > 0 && len(g.Runs) != n {
			return 0
		}
		n = len(g.Runs)
	}
	return n
}

// valid reports whether any measurement is, without which peak and knee are not known.
func (s *Sweep) valid() bool {
	return slices.ContainsFunc(s.Groups, func(g Group) bool { return !g.unbelieved() })
}

func (s *Sweep) notes() []string {
	clients, perSecond := s.Best()
	lines := []string{fmt.Sprintf("The highest throughput that was measured is %s/s, with %d clients. The knee, where throughput divided by response time is highest, is at %d.", quantity.Figure(perSecond), clients, s.Knee())}
	if s.Law == nil {
		return append(lines, "There are too few loads for the scalability law: it needs four, and has three parameters.")
	}
	return append(lines, lawText("Universal Scalability Law", "clients", s.Law, s.Unbelieved))
}

// answer says the rate that keeps the objective, or else peak and knee, or why it is unknown.
func (s *Sweep) answer(peak string) string {
	if !s.valid() {
		peak = "The peak and the knee are not known, since no measurement is valid (" + all(s.Groups).reasons() + ")."
	}
	if s.Objective == "" {
		return peak
	}
	return capital(s.objectiveText()) + ". " + peak
}

func (s *Sweep) answered() report.Answer {
	return report.AnswerOf(s.Rate > 0 && s.Broken == "", !s.Unanswered)
}

// Line is the answer to the objective as the end of a line; empty without one.
func (s *Sweep) Line() string {
	if s.Objective == "" {
		return ""
	}
	return "; " + s.objectiveText()
}

func (s *Sweep) objectiveText() string {
	text := fmt.Sprintf("objective %s is kept at %s arrivals a second, in two runs; %d were made to find it", s.Objective, quantity.Figure(s.Rate), s.Tried)
	if s.Rate == 0 {
		text = fmt.Sprintf("objective %s: no rate was found that keeps it, in %d runs", s.Objective, s.Tried)
	}
	switch {
	case s.Broken != "":
		text = fmt.Sprintf("objective %s: the search for a rate ended, since %s", s.Objective, s.Broken)
	case s.Ended != "":
		text = fmt.Sprintf("%s: objective %s: the search for a rate ended after %s: %s", report.NotAnswered, s.Objective, check.Counted(int64(s.Tried), "run", "runs"), s.Ended)
	case s.Unanswered:
		text = report.NotAnswered.String() + ", since it rests on invalid measurements or runs without a verdict: " + text
	}
	return text
}
