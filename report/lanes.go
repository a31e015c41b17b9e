package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/check"
	"assay/internal/quantity"
)

// The picture of an excerpt in text: time goes down, and each process has a column.

const (
	narrowLane = 17 // columns of a lane that has room for what was done
	bareLane   = 5  // columns of a lane that has names only
	mostLanes  = 12
	mostEvents = 60
)

type lanes struct {
	excerpt *check.Excerpt
	columns map[int64]int // process to lane
	clock   int           // columns of the times
	lane    int           // columns of a lane
	running []*check.Operation
	lines   []string
}

type moment struct {
	at   int64
	ends bool
	of   *check.Operation
}

// drawLanes draws lines of at most this width; nil if the excerpt is too large.
func drawLanes(x *check.Excerpt, width int) []string {
	l := lanes{excerpt: x, columns: map[int64]int{}}
	var heads []string
	for i := range x.Operations {
		o := &x.Operations[i]
		if _, known := l.columns[o.Process]; !known {
			l.columns[o.Process] = len(heads)
			heads = append(heads, processName(o))
		}
	}
	moments := momentsOf(x)
	if len(heads) == 0 || len(heads) > mostLanes || len(moments) > mostEvents {
		return nil
	}
	l.clock = len(clockName(x.Clock))
	for _, m := range moments {
		l.clock = max(l.clock, utf8.RuneCountInString(l.time(m.at)))
	}
	l.clock += 2
	if l.lane = min((width-l.clock)/len(heads), 40); l.lane < narrowLane {
		l.lane = bareLane
	}
	l.running = make([]*check.Operation, len(heads))
	l.head(heads)
	for _, m := range moments {
		if m.ends {
			l.end(m)
		} else {
			l.begin(m, width)
		}
	}
	return l.lines
}

// LaneOfFaults is the process of faults.
const LaneOfFaults = -1

// byStatement makes each statement an operation, in the order of time. A statement sent together
// with the next one stands above it.
func byStatement(x *check.Excerpt) *check.Excerpt {
	apart := *x
	apart.Operations = nil
	for _, o := range x.Operations {
		var above []string
		for _, s := range o.Statements {
			if s.Answered < 0 {
				above = append(above, s.Text)
				continue
			}
			one := check.Operation{Name: o.Name, Process: o.Process, Invoke: s.Sent, Complete: s.Answered, Steps: append(above, s.Text), Outcome: cmp.Or(s.Answer, "done")}
			apart.Operations, above = append(apart.Operations, one), nil
		}
	}
	slices.SortStableFunc(apart.Operations, func(a, b check.Operation) int { return cmp.Compare(a.Invoke, b.Invoke) })
	return &apart
}

// momentsOf sorts by time. At the same time invocations come first, unless of one process.
func momentsOf(x *check.Excerpt) []moment {
	var all []moment
	for i := range x.Operations {
		o := &x.Operations[i]
		all = append(all, moment{at: o.Invoke, of: o})
		if o.Complete >= o.Invoke {
			all = append(all, moment{at: o.Complete, ends: true, of: o})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int {
		if a.at != b.at || a.of == b.of {
			return cmp.Compare(a.at, b.at)
		}
		if a.of.Process == b.of.Process {
			return cmp.Compare(a.of.Invoke, b.of.Invoke)
		}
		return cmp.Compare(rank(a), rank(b))
	})
	return all
}

func rank(m moment) int {
	if m.ends {
		return 1
	}
	return 0
}

func processName(o *check.Operation) string {
	switch {
	case o.ID < 0:
		return "the end"
	case o.Process == LaneOfFaults:
		return "faults"
	}
	return "process " + strconv.FormatInt(o.Process, 10)
}

func (l *lanes) head(heads []string) {
	line := pad(clockName(l.excerpt.Clock), l.clock)
	for _, head := range heads {
		if l.lane == bareLane {
			head = strings.TrimPrefix(head, "process ")
		}
		line += pad(cut(head, l.lane-1), l.lane)
	}
	l.lines = append(l.lines, strings.TrimRight(line, " "))
}

func clockName(c check.Clock) string {
	if c == check.Events {
		return "event"
	}
	return "time"
}

// time is the number of an event, or the time since the first.
func (l *lanes) time(at int64) string {
	if l.excerpt.Clock == check.Events {
		return strconv.FormatInt(at, 10)
	}
	microseconds := (at - l.excerpt.Operations[0].Invoke + 500) / 1000
	return quantity.Milliseconds(float64(microseconds) / 1000)
}

func (l *lanes) begin(m moment, width int) {
	at := l.columns[m.of.Process]
	l.running[at] = nil
	if l.lane == bareLane {
		l.running[at] = m.of
		room := width - l.clock - len(l.running)*l.lane
		for i, part := range wrap(plain(m.of.Name+": "+strings.Join(m.of.Steps, "; ")), room) {
			cell, time := "│", ""
			if i == 0 {
				cell, time = "┌"+m.of.Name, l.time(m.at)
			}
			l.row(time, at, cell, part)
		}
		return
	}
	l.row(l.time(m.at), at, "┌ "+m.of.Name, "")
	l.running[at] = m.of
	for _, step := range m.of.Steps {
		for i, part := range wrap(plain(step), l.lane-4) {
			if i > 0 {
				part = " " + part
			}
			l.row("", at, bar(m.of)+" "+part, "")
		}
	}
}

func (l *lanes) end(m moment) {
	at := l.columns[m.of.Process]
	cell := "└ " + m.of.Outcome
	if l.lane == bareLane {
		cell = "└" + m.of.Name
		if m.of.Outcome != "committed" {
			cell = "└!" + m.of.Name
		}
	}
	l.running[at] = nil
	l.row(l.time(m.at), at, cell, "")
}

// bar stands for an operation under way, dotted if it never ended.
func bar(o *check.Operation) string {
	if o.Complete < o.Invoke {
		return "┊"
	}
	return "│"
}

// row writes a line with one cell, the bars of the other lanes, and text behind them.
func (l *lanes) row(time string, at int, cell, text string) {
	line := pad(time, l.clock)
	for i, o := range l.running {
		switch {
		case i == at:
			line += pad(cut(cell, l.lane-1), l.lane)
		case o != nil:
			line += pad(bar(o), l.lane)
		default:
			line += strings.Repeat(" ", l.lane)
		}
	}
	l.lines = append(l.lines, strings.TrimRight(line+text, " "))
}

func story(x *check.Excerpt) []string {
	var lines []string
	for i := range x.Operations {
		o := &x.Operations[i]
		who := fmt.Sprintf("%s, of %s,", o.Name, processName(o))
		if o.ID < 0 {
			who = o.Name + ", the read at the end,"
		}
		var steps []string
		for _, s := range o.Steps {
			verb, rest, _ := strings.Cut(s, " ")
			steps = append(steps, strings.TrimSpace(verb+"s "+rest))
		}
		what := strings.Join(steps, ", then ")
		if what == "" {
			what = "does nothing of interest here"
		}
		lines = append(lines, fmt.Sprintf("%s begins%s. It %s. %s", who, among(x, i), what, ending(o)))
	}
	return lines
}

func ending(o *check.Operation) string {
	switch o.Outcome {
	case "committed":
		return "It is acknowledged."
	case "unknown":
		return "Nobody knows whether it took effect."
	default:
		return "It is " + o.Outcome + ": it has certainly no effect."
	}
}

// among says which operations before the i-th had ended when it began, and which went on.
func among(x *check.Excerpt, i int) string {
	var over, on []string
	for k := range i {
		o := &x.Operations[k]
		switch {
		case o.Complete < o.Invoke: // nobody knows
		case o.Complete < x.Operations[i].Invoke, o.Process == x.Operations[i].Process:
			over = append(over, o.Name)
		default:
			on = append(on, o.Name)
		}
	}
	var text string
	if len(over) > 0 {
		text = " after the end of " + listed(over)
	}
	if len(on) > 0 {
		text += " while " + listed(on) + " " + verb(len(on), "runs", "run")
	}
	return text
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func listed(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return names[0]
}
