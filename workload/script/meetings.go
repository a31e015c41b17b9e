package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/check/robustness"
	"assay/workload/script/access"
)

// Meeting is an anomaly between pairs of committed transactions, with the first pair.
type Meeting struct {
	Anomaly string `json:"anomaly"`
	// Count is the number of pairs.
	Count   int64     `json:"count"`
	Names   [2]string `json:"transactions"`
	Clients [2]int    `json:"clients"`
	// Tables are of the read and of the write behind it.
	Tables []string `json:"tables"`
	// Moments are the steps of both in order of time.
	Moments []Moment `json:"moments"`
}

// Moment is a statement or COMMIT.
type Moment struct {
	// Of is 0 or 1, for the first or second transaction.
	Of   int    `json:"of"`
	Text string `json:"text"`
	// Milliseconds count from the first moment.
	Milliseconds float64 `json:"ms"`
	at           time.Duration
}

// meetings compares each committing transaction with the transactions that it overlapped.
type meetings struct {
	level  robustness.Level
	recent []*overlapping
	found  []*Meeting
}

type overlapping struct {
	robustness.Execution
	end, commit, begun time.Duration
	name               string
	client, attempt    int
	seq                uint64
	steps              []step
}

// Bounds on transactions compared and anomalies kept.
const (
	mostRecent   = 256
	mostMeetings = 20
)

// look computes a transaction's reads and writes, once.
func (w *watch) look(x *overlapping) {
	if x.Events != nil {
		return
	}
	x.CommitStart, x.CommitEnd, x.Events = int64(x.commit), int64(x.end), []robustness.Event{}
	for i := range x.steps {
		s := &x.steps[i]
		values := s.values()
		for _, a := range w.accesses(&s.statement) {
			e := robustness.Event{Start: int64(s.start), End: int64(s.end), Condition: a.Condition, Fixed: map[string]string{},
				Text: s.statement.shape(), Answer: s.shown()}
			key := ""
			if a.Key != nil {
				key = rowKey(&a, s.statement.Parameters)
			}
			if key == "" && a.Verb == access.Read {
				for _, v := range values {
					e.Rows = append(e.Rows, a.Table+" "+v)
				}
			}
			for column, v := range a.Fixed {
				e.Fixed[column] = wordValue(v, s.statement.Parameters)
			}
			for _, op := range operationsOf(&a, key, s.rows, i) {
				e.Operation = op
				x.Events = append(x.Events, e)
			}
		}
	}
}

// add compares a transaction with the recent ones, after forgetting those that ended before since.
func (m *meetings) add(x *overlapping, since time.Duration) {
	m.recent = slices.DeleteFunc(m.recent, func(o *overlapping) bool { return o.end < since })
	for _, o := range m.recent {
		if !m.compare(o, x) {
			m.compare(x, o)
		}
	}
	if len(m.recent) < mostRecent {
		m.recent = append(m.recent, x)
	}
}

// compare notes an anomaly between two transactions, if there is one.
func (m *meetings) compare(first, second *overlapping) bool {
	anomaly, read, returned := robustness.Witness(&first.Execution, &second.Execution, m.level)
	if anomaly == "" {
		return false
	}
	tables := []string{first.Events[read].Relation, first.Events[returned].Relation}
	names := [2]string{first.name, second.name}
	for _, f := range m.found {
		if f.Anomaly == anomaly && f.Names == names && slices.Equal(f.Tables, tables) {
			f.Count++
			return true
		}
	}
	if len(m.found) < mostMeetings {
		m.found = append(m.found, &Meeting{Anomaly: anomaly, Count: 1, Names: names, Clients: [2]int{first.client, second.client},
			Tables: tables, Moments: momentsOf(first, second)})
	}
	return true
}

func momentsOf(pair ...*overlapping) (all []Moment) {
	for of, x := range pair {
		for i := range x.steps {
			s := &x.steps[i]
			all = append(all, Moment{Of: of, Text: strings.TrimSpace(s.statement.withValues() + " " + s.gave()), at: s.start})
		}
		all = append(all, Moment{Of: of, Text: "COMMIT", at: x.commit})
	}
	slices.SortStableFunc(all, func(a, b Moment) int { return cmp.Compare(a.at, b.at) })
	for i := range all {
		all[i].Milliseconds = float64((all[i].at - all[0].at).Microseconds()) / 1000
	}
	return all
}

// gave is a statement's result: the rows read or the number changed.
func (s *step) gave() string {
	switch {
	case s.statement.Reads && s.rows > 0:
		return "gives " + s.shown()
	case s.statement.Reads && s.rows == 0:
		return "gives no row"
	case s.rows >= 0 && !s.statement.Reads:
		return fmt.Sprintf("changes %d", s.rows)
	}
	return ""
}

// withValues has values in place of parameters.
func (s *Statement) withValues() string {
	if s.Command != nil {
		return shortened(s.Command.String())
	}
	all, err := tokens(s.Text)
	if err != nil {
		return shortened(s.Text)
	}
	text, copied := "", 0
	for _, t := range all {
		n := 0
		if t.Kind != access.Parameter {
			continue
		}
		if _, err := fmt.Sscan(t.Text, &n); err == nil && n >= 1 && n <= len(s.Parameters) {
			text += s.Text[copied:t.Start] + show(s.Parameters[n-1])
			copied = t.End
		}
	}
	return shortened(text + s.Text[copied:])
}
