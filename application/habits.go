package application

import (
	"fmt"
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
	all, left := b.run.all, b.run.left
	u := Untouched{Transactions: len(all) + left, Connections: b.run.recorder.Connections(), Seconds: b.run.took.Seconds(), Places: b.places, Kinds: map[string]int{}}
	rows := map[int]*row{}
	found := map[string]*Habit{}
	order := []string{}
	note := func(h Habit) {
		if known := found[h.Kind+h.Statement]; known != nil {
			known.Times = max(known.Times, h.Times)
			return
		}
		found[h.Kind+h.Statement] = &h
		order = append(order, h.Kind+h.Statement)
	}
	for _, t := range all {
		u.Kinds[string(t.Outcome)]++
		if t.Outcome == wire.Committed {
			u.Committed++
		}
		u.Idle += t.Idle.Seconds()
		if t.Idle >= leastIdle {
			note(Habit{Kind: "open", Statement: strings.Join(t.Shapes(), "; "), Times: 1, Detail: fmt.Sprintf("a transaction was open for %.1f s while the application did something else", t.Idle.Seconds())})
		}
		of := rows[t.Connection]
		if of == nil {
			of = &row{}
			rows[t.Connection] = of
		}
		for _, s := range t.Statements {
			if s.Kind != wire.Prepare {
				u.Statements++
			}
			if s.Answered > 0 { // without an answer nobody knows when it ended
				u.Database += (s.Answered - s.Sent).Seconds()
			}
			if n := of.add(s); n >= leastRow {
				note(Habit{Kind: "n+1", Statement: s.Shape, Times: n, Detail: "one statement in a row, each time for another row"})
			}
		}
	}
	for _, key := range order {
		u.Habits = append(u.Habits, *found[key])
	}
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
	values := strings.Join(s.Values, "\x00")
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
