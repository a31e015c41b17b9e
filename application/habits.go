package application

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/application/wire"
	"assay/check"
)

// Untouched is what the application does when nothing happens to it.
type Untouched struct {
	Transactions int     `json:"transactions"`
	Committed    int     `json:"committed"`
	Statements   int     `json:"statements"`
	Connections  int     `json:"connections"`
	Seconds      float64 `json:"seconds"`
	// Database is the time, in seconds, in which statements were under way that the server answered. Idle is
	// the time in which a transaction was open and the server waited for the application. Both are sums
	// over all connections.
	Database float64 `json:"database_seconds"`
	Idle     float64 `json:"idle_in_transaction_seconds"`
	// Habits are what may be better otherwise.
	Habits []Habit        `json:"habits"`
	Places []*wire.Place  `json:"places"`
	Kinds  map[string]int `json:"outcomes"`
	// Problem is the first failure of assay's own, with --serve.
	Problem string `json:"problem,omitempty"`
}

// Habit is something that an application does and might do better.
type Habit struct {
	Kind      string `json:"kind"` // n+1 or open
	Statement string `json:"statement"`
	Times     int    `json:"times"`
	Detail    string `json:"detail"`
}

// The least that is told as a habit: statements in a row, and the time a transaction stays idle.
const (
	leastRow  = 5
	leastIdle = time.Second
)

func (b *baseline) describe() Untouched {
	t := tally{}
	for _, x := range b.run.all {
		t.add(x)
	}
	t.Transactions += b.run.left
	return t.describe(b.run.recorder, b.run.took)
}

// tally adds transactions up. The zero value is ready.
type tally struct {
	Untouched
	// rows are by connections, and found are the habits by their kinds and statements.
	rows  map[int]*row
	found map[string]int
}

// mostTallied bounds the connections that are looked at for queries in a row, and the habits.
const mostTallied = 10_000

// add takes a transaction, in the order of their ends.
func (t *tally) add(x *wire.Transaction) {
	if t.Kinds == nil {
		t.Kinds = map[string]int{}
	}
	t.Transactions++
	t.Kinds[string(x.Outcome)]++
	if x.Outcome == wire.Committed {
		t.Committed++
	}
	t.Idle += x.Idle.Seconds()
	if x.Idle >= leastIdle {
		t.note(Habit{Kind: "open", Statement: strings.Join(x.Shapes(), "; "), Times: 1, Detail: fmt.Sprintf("a transaction was open for %.1f s while the application did something else", x.Idle.Seconds())})
	}
	of := t.rows[x.Connection]
	if of == nil {
		if len(t.rows)%mostTallied == 0 { // there are none, or too many
			t.rows = map[int]*row{}
		}
		of = &row{}
		t.rows[x.Connection] = of
	}
	for _, s := range x.Statements {
		if s.Kind != wire.Prepare {
			t.Statements++
		}
		if s.Answered > 0 { // without an answer nobody knows when it ended
			t.Database += (s.Answered - s.Sent).Seconds()
		}
		if n := of.add(s); n >= leastRow {
			t.note(Habit{Kind: "n+1", Statement: s.Shape, Times: n, Detail: "one statement in a row, each time for another row"})
		}
	}
}

// note enters a habit, or that it was seen again.
func (t *tally) note(h Habit) {
	if t.found == nil {
		t.found = map[string]int{}
	}
	key := h.Kind + h.Statement
	at, known := t.found[key]
	switch {
	case known:
		t.Habits[at].Times = max(t.Habits[at].Times, h.Times)
	case len(t.Habits) < mostTallied:
		t.found[key] = len(t.Habits)
		t.Habits = append(t.Habits, h)
	}
}

// describe has what was added up, and what else was recorded in that time.
func (t *tally) describe(recorder *wire.Recorder, took time.Duration) Untouched {
	u := t.Untouched
	u.Habits = slices.Clone(t.Habits) // which go on
	u.Kinds = map[string]int{}
	maps.Copy(u.Kinds, t.Kinds)
	u.Connections, u.Places, u.Seconds = recorder.Connections(), recorder.Places(), took.Seconds()
	return u
}

// row counts a query that is sent again and again with other values.
type row struct {
	shape, values string
	n             int
}

func (r *row) add(s *wire.Statement) int {
	if s.Kind != wire.Other {
		return 0
	}
	values := s.Exactly()
	if s.Shape != r.shape || values == r.values || s.Writes || len(s.Values) == 0 {
		*r = row{shape: s.Shape}
	}
	r.values = values
	r.n++
	return r.n
}

// line says it for the terminal.
func (h Habit) line() string {
	if h.Kind == "n+1" {
		return fmt.Sprintf("%s in a row of %s", check.Counted(h.Times, "query", "queries"), short(h.Statement, 60))
	}
	return h.Detail
}

func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}
