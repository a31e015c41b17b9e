package application

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"assay/application/wire"
	"assay/check"
	"assay/report"
)

// Comparison is what an application does on two servers, each of which it ran on twice.
type Comparison struct {
	Command []string `json:"command"`
	// Servers are the two.
	Servers [2]Compared `json:"servers"`
	// Same counts the statements that both answered alike, and Unsteady those that are not compared:
	// one server did not answer alike in its two runs, or in rows that are not looked at.
	Same        int          `json:"same"`
	Unsteady    int          `json:"unsteady"`
	Differences []Difference `json:"differences"`
	Times       []Times      `json:"statements"`
	Again       string       `json:"again"`
}

// Compared is one server.
type Compared struct {
	Product  string  `json:"product"`
	Database string  `json:"database"`
	Ended    string  `json:"ended"`
	Exit     int     `json:"exit"`
	Seconds  float64 `json:"seconds"`
	Log      string  `json:"log"`
}

// Difference is one between the answers to a statement.
type Difference struct {
	Statement string    `json:"statement"`
	Values    []string  `json:"values,omitempty"`
	What      string    `json:"what"`
	Answers   [2]string `json:"answers"`
}

// Times are how long a statement took: the median of all of its times in milliseconds.
type Times struct {
	Statement string     `json:"statement"`
	Times     int        `json:"times"`
	Median    [2]float64 `json:"median_ms"`
}

// Compare runs the application twice on each of two servers, with nothing done to it. b is the
// plan for the other server.
func Compare(ctx context.Context, a, b Plan) (*Comparison, error) {
	c := &Comparison{Command: redactedWords(a.Command)}
	_, c.Again = a.again()
	var runs [4]*run
	for i, p := range []Plan{a, b} {
		for n := range 2 {
			p.Progress(fmt.Sprintf("running the application on %s, %s time", p.Database, []string{"the first", "the second"}[n]))
			r, err := p.untouched(ctx, 2*i+n)
			if err != nil {
				return nil, err
			}
			runs[2*i+n] = r
		}
		r := runs[2*i]
		c.Servers[i] = Compared{Product: p.Product.Reach().Product, Database: p.Database, Ended: r.how(), Exit: r.exit, Seconds: r.took.Seconds(), Log: r.log}
	}
	if how, other := c.Servers[0].Ended, c.Servers[1].Ended; how != other {
		c.Differences = append(c.Differences, Difference{Statement: "the application", What: "it ended otherwise", Answers: [2]string{how, other}})
	}
	c.compare(runs)
	return c, nil
}

// untouched runs the application once, and keeps the answers that it gets.
func (p Plan) untouched(ctx context.Context, number int) (r *run, err error) {
	t := &trying{Plan: p, number: number}
	if r, err = t.around(ctx, nil, func(r *run) { r.recorder.KeepAnswers() }, func(context.Context, *run) error { return nil }); err != nil {
		return nil, err
	}
	if err := t.never(r); err != nil {
		return nil, err
	}
	if r.left > 0 {
		r.problem = errors.Join(r.problem, errors.New("there were more transactions than assay keeps"))
	}
	return r, r.problem
}

// sent are a run's statements by their texts, in the order in which they were sent.
func sent(r *run) (order []string, by map[string][]*wire.Statement) {
	by = map[string][]*wire.Statement{}
	var all []*wire.Statement
	for _, t := range r.all {
		for _, s := range t.Statements {
			if s.Kind != wire.Prepare {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *wire.Statement) int { return cmp.Compare(a.Sent, b.Sent) })
	for _, s := range all {
		if by[s.Shape] == nil {
			order = append(order, s.Shape)
		}
		by[s.Shape] = append(by[s.Shape], s)
	}
	return order, by
}

// compare compares the runs on the first server with those on the second.
func (c *Comparison) compare(runs [4]*run) {
	var by [4]map[string][]*wire.Statement
	var order []string
	for i, r := range runs {
		own, sent := sent(r)
		by[i] = sent
		for _, shape := range own {
			if !slices.Contains(order, shape) {
				order = append(order, shape)
			}
		}
	}
	for _, shape := range order {
		var of [4][]*wire.Statement
		for i := range by {
			of[i] = by[i][shape]
		}
		a, b := len(of[0]), len(of[2])
		steady := a == len(of[1]) && b == len(of[3])
		switch {
		case a != b && steady:
			c.Differences = append(c.Differences, Difference{Statement: shape, What: "it was not sent as often", Answers: [2]string{check.Counted(a, "time", "times"), check.Counted(b, "time", "times")}})
			continue
		case !steady:
			c.Unsteady += max(a, b)
			continue
		}
		for i := range a {
			c.one(of[0][i], of[1][i], of[2][i], of[3][i])
		}
		c.Times = append(c.Times, Times{Statement: shape, Times: a, Median: [2]float64{median(of[0], of[1]), median(of[2], of[3])}})
	}
}

// one compares the answers to one statement.
func (c *Comparison) one(a, again, b, bAgain *wire.Statement) {
	switch what := differs(a, b); {
	case what == "":
		c.Same++
	case differs(a, again) != "" || differs(b, bAgain) != "":
		c.Unsteady++
	default:
		c.Differences = append(c.Differences, Difference{Statement: a.Shape, Values: b.Values, What: what, Answers: [2]string{answered(a), answered(b)}})
	}
}

// differs says in what two answers differ; empty if in nothing.
func differs(a, b *wire.Statement) string {
	code := func(s *wire.Statement) string { word, _, _ := strings.Cut(s.Error, " "); return word }
	x, y := a.Keeps(), b.Keeps()
	switch {
	case code(a) != code(b):
		return "another error"
	case a.Error != b.Error:
		return "the same error in other words"
	case (a.Answered == 0) != (b.Answered == 0):
		return "one was not answered"
	case a.Rows != b.Rows:
		return "not as many rows changed"
	case x == nil || y == nil:
		return ""
	case x.Rows != y.Rows:
		return "not as many rows"
	case x.Cut || y.Cut:
		return "rows that assay has not looked at"
	case x.Bag != y.Bag:
		return "other rows"
	case x.Ordered == y.Ordered:
		return ""
	case strings.Contains(strings.ToUpper(a.Shape), "ORDER BY"):
		return "the same rows in another order, in spite of ORDER BY: equal keys, or another collation"
	}
	return "the same rows in another order, and there is no ORDER BY"
}

func answered(s *wire.Statement) string {
	switch rows := s.Keeps(); {
	case s.Error != "":
		return s.Error
	case s.Answered == 0:
		return "no answer"
	case rows != nil && rows.Rows > 0:
		return check.Counted(int(rows.Rows), "row", "rows") + ": " + strings.Join(rows.First, ", ")
	}
	return check.Counted(int(s.Rows), "row", "rows") + " changed"
}

func median(of ...[]*wire.Statement) float64 {
	var all []float64
	for _, s := range slices.Concat(of...) {
		if s.Answered > 0 {
			all = append(all, float64(s.Answered-s.Sent)/float64(time.Millisecond))
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// Compared reports whether anything could be compared.
func (c *Comparison) Compared() bool { return c.Same+len(c.Differences) > 0 }

// Lines are the summary for the terminal.
func (c *Comparison) Lines(w io.Writer, page string) error {
	a, b := c.Servers[0], c.Servers[1]
	lines := []string{
		title(c.Command) + " on two servers", "",
		report.Folded("the first       ", a.Product+", "+a.Database),
		report.Folded("the second      ", b.Product+", "+b.Database),
		report.Folded("the application ", fmt.Sprintf("%s, %.2f s; %s, %.2f s", a.Ended, a.Seconds, b.Ended, b.Seconds)),
		report.Folded("answers         ", fmt.Sprintf("%s the same, %s not", check.Count(int64(c.Same)), check.Counted(len(c.Differences), "is", "are"))),
	}
	if c.Unsteady > 0 {
		lines = append(lines, report.Folded("not compared    ", check.Counted(c.Unsteady, "statement", "statements")+", which one server did not answer alike in two runs, or in rows too long or behind a cursor"))
	}
	for i, d := range c.Differences {
		if i == 4 {
			lines = append(lines, fmt.Sprintf("                and %d more", len(c.Differences)-i))
			break
		}
		lines = append(lines, report.Folded("✗ ", fmt.Sprintf("%s: %s: %s; %s", short(d.Statement, 60), d.What, short(d.Answers[0], 60), short(d.Answers[1], 60))))
	}
	return writeLines(w, lines, page)
}

// Document is the page.
func (c *Comparison) Document() report.Document {
	a, b := c.Servers[0], c.Servers[1]
	first, second := a.Product+" ("+a.Database+")", b.Product+" ("+b.Database+")"
	d := report.Document{Title: "One application on two servers", Command: c.Again, Verdicts: []report.DocumentVerdict{{
		Text: fmt.Sprintf("%d answers are the same, %d are not, %d are not compared", c.Same, len(c.Differences), c.Unsteady), Verdict: report.AnswerOf(len(c.Differences) == 0, c.Compared()).Verdict()}}}
	d.Tables = append(d.Tables, report.Table{Title: "The application", Head: []string{"on", "it", "seconds", "log"}, Words: []int{1}, Rows: [][]string{
		{first, a.Ended, fmt.Sprintf("%.2f", a.Seconds), a.Log}, {second, b.Ended, fmt.Sprintf("%.2f", b.Seconds), b.Log}}})
	different := report.Table{Title: "Answers that differ", Head: []string{"statement", "values", "what", first, second}, Words: []int{1, 2, 3, 4}}
	for _, x := range c.Differences {
		different.Rows = append(different.Rows, []string{short(x.Statement, 300), short(strings.Join(x.Values, ", "), 200), x.What, x.Answers[0], x.Answers[1]})
	}
	times := report.Table{Title: "How long statements took (median, ms)", Head: []string{"statement", "times", first, second}}
	for _, x := range c.Times {
		times.Rows = append(times.Rows, []string{short(x.Statement, 300), fmt.Sprint(x.Times), fmt.Sprintf("%.2f", x.Median[0]), fmt.Sprintf("%.2f", x.Median[1])})
	}
	d.Tables = append(d.Tables, different, times)
	return d
}
