package script

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/check/robustness"
	"assay/history"
	"assay/internal/wait"
	"assay/store"
	"assay/workload"
	"assay/workload/script/access"
)

type step struct {
	statement Statement
	// rows is the number given or changed; -1 if not counted.
	rows int64
	// first is the only column of the first row; nil if it has more.
	first      any
	answer     [][]any
	start, end time.Duration
	// line is the script's; 0 if unknown.
	line int
}

// part is a transaction of an attempt: all of a Starlark function, the statements from BEGIN to
// COMMIT in pgbench's language, or a statement outside these.
type part struct {
	steps []step
	// line is where it begins in a script of several, otherwise 0.
	line int
	// alone: a statement outside BEGIN and COMMIT. fixed: in a pipeline, where a mend changes
	// nothing.
	alone, fixed bool
	// unclear says why it is not understood; empty if it is.
	unclear string
	// commit is before COMMIT was sent, end after its acknowledgement.
	commit, end time.Duration
}

// add keeps a step, and one beyond the bound as a sign that there were too many.
func (p *part) add(s step) {
	if len(p.steps) <= mostSteps {
		p.steps = append(p.steps, s)
	}
}

// close ends the open transaction, which committed.
func (c *call) close() {
	if len(c.steps) > 0 || c.unclear != "" {
		c.part.end = time.Since(c.watch.began)
		c.past = append(c.past, c.part)
	}
	c.part = part{}
}

// watch notes what transactions send, for the analysis. It is safe for concurrent use.
type watch struct {
	program *program
	seed    uint64
	// pause is the longest pause before a statement, 0 for none.
	pause time.Duration
	began time.Time

	mu sync.Mutex
	// known are the distinct sequences by signature.
	known map[string]*sequence
	// noted counts, by transaction, the committed attempts in known.
	noted []int64
	// overflown is true if there were too many sequences.
	overflown bool
	meetings  meetings
	// log has the last committed transactions; cases the transactions that broke rules.
	log        []*overlapping
	logged     int
	unexpected []operation
	// seen is the level of reads, for a search in log.
	seen  robustness.Level
	cases []brokenBy
}

type sequence struct {
	template template
	count    int64
}

const (
	maxSequences = 200
	mostSteps    = 200
)

func newWatch(p *program, seed uint64, pause time.Duration) *watch {
	return &watch{program: p, seed: seed, pause: pause, began: time.Now(), known: map[string]*sequence{}, noted: make([]int64, len(p.transactions))}
}

// watched notes a transaction's statements, and sends them after a pause if there is one.
type watched struct {
	Transaction
	call  *call
	pause func(context.Context) error
}

func (c *call) watching(tx Transaction) Transaction {
	if c.watch == nil {
		return tx
	}
	w := &watched{Transaction: tx, call: c}
	if c.watch.pause > 0 {
		random := workload.NewRandom(c.watch.seed+1, uint64(c.client)<<42^c.seq)
		w.pause = func(ctx context.Context) error {
			if len(c.steps) == 0 {
				return nil
			}
			return wait.Pause(ctx, time.Duration(random.Below(uint64(c.watch.pause))))
		}
	}
	return w
}

// around sends a statement and notes it.
func (w *watched) around(ctx context.Context, s Statement, send func(of *step) error) error {
	c := w.call
	of := step{statement: s, line: c.at}
	if w.pause != nil {
		if err := w.pause(ctx); err != nil {
			return err
		}
	}
	of.start = time.Since(c.watch.began)
	if len(c.steps) == 0 {
		if err := c.begin(ctx, w.Transaction); err != nil {
			return err
		}
	}
	if err := send(&of); err != nil {
		return err
	}
	of.end = time.Since(c.watch.began)
	c.add(of)
	return nil
}

func (w *watched) Query(ctx context.Context, s Statement, row func([]any) error) error {
	return w.around(ctx, s, func(of *step) error {
		if row == nil { // nobody wants the rows, and to decode them costs
			of.rows = -1
			return w.Transaction.Query(ctx, s, nil)
		}
		return w.Transaction.Query(ctx, s, func(values []any) error {
			if of.rows++; of.rows == 1 && len(values) == 1 {
				of.first = values[0]
			}
			if len(of.answer) < shownRows || w.pause != nil && len(of.answer) < mostRows {
				of.answer = append(of.answer, values)
			}
			return row(values)
		})
	})
}

// shownRows bounds the rows shown; mostRows those searched for keys in runs with pauses.
const (
	shownRows = 4
	mostRows  = 100
)

func (s *step) shown() string {
	text := ""
	for _, values := range s.answer[:min(len(s.answer), shownRows)] {
		text += " " + showRow(values)
	}
	if s.rows > shownRows {
		text += fmt.Sprintf(" and %d more", s.rows-shownRows)
	}
	return strings.TrimSpace(text)
}

// values are the answer's values as texts; for documents their _id.
func (s *step) values() (all []string) {
	for _, row := range s.answer {
		for _, v := range row {
			if d, is := v.(store.Document); is {
				v = nil
				for _, f := range d {
					if f.Name == "_id" {
						v = f.Value
					}
				}
			}
			all = append(all, fmt.Sprint(v))
		}
	}
	return all
}

func (w *watched) Execute(ctx context.Context, s Statement) (changed int64, err error) {
	err = w.around(ctx, s, func(of *step) error {
		changed, err = w.Transaction.Execute(ctx, s)
		of.rows = changed
		return err
	})
	return changed, err
}

// done takes an attempt that committed or may have; start is before its last COMMIT.
func (w *watch) done(c *call, transaction int, outcome history.Outcome, start time.Duration) {
	if w == nil {
		return
	}
	all := c.past
	last := outcome == history.Committed || outcome == history.Unknown
	if last && (len(all) == 0 || len(c.steps) > 0 || c.unclear != "") {
		c.part.end = time.Since(w.began)
		if c.transaction.texts == nil {
			c.part.commit = start
		}
		all = append(all, c.part)
	}
	known := outcome == history.Committed
	for i := range all {
		committed := outcome == history.Committed || i < len(c.past)
		of := w.enter(&all[i], transaction)
		known = known && of != nil
		p := &all[i]
		if of == nil || !committed || p.unclear != "" {
			continue
		}
		x := &overlapping{begun: p.began(), end: p.end, commit: p.commit, name: of.template.name(), client: c.client, seq: c.seq, attempt: c.attempt, steps: p.steps}
		if i == 0 {
			x.begun = c.begun
		}
		if !p.alone && w.pause > 0 {
			w.meet(x, all[0].began())
		}
		w.keep(x)
	}
	if known {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.noted[transaction]++
	}
}

func (p *part) began() time.Duration {
	if len(p.steps) == 0 {
		return p.end
	}
	return p.steps[0].start
}

// meet compares a transaction with the transactions that it overlapped; see meetings.add.
func (w *watch) meet(x *overlapping, since time.Duration) {
	w.look(x)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meetings.add(x, since)
}

// enter takes a transaction; nil if there is no room.
func (w *watch) enter(p *part, transaction int) *sequence {
	if p.alone && len(p.steps) == 1 { // its rows are not counted: it found some, or none
		p.steps[0].rows = 1
		w.note(p, transaction)
		p.steps[0].rows = 0
	}
	return w.note(p, transaction)
}

// note enters a transaction into known; nil if there is no room.
func (w *watch) note(p *part, transaction int) *sequence {
	signature := w.signature(p, transaction)
	w.mu.Lock()
	defer w.mu.Unlock()
	of := w.known[signature]
	if of == nil {
		if len(w.known) == maxSequences || len(p.steps) > mostSteps {
			w.overflown = true
			return nil
		}
		of = &sequence{template: w.template(p, transaction)}
		w.known[signature] = of
	}
	of.count++
	return of
}

// signature is equal for transactions with equal templates.
func (w *watch) signature(p *part, transaction int) string {
	buffer := strconv.AppendInt(make([]byte, 0, 64), int64(transaction), 10)
	buffer = strconv.AppendInt(append(buffer, ' '), int64(p.line), 10)
	buffer = append(buffer, p.unclear...)
	var rows rowNames
	for i := range p.steps {
		s := &p.steps[i]
		buffer = append(buffer, '\n')
		buffer = append(buffer, s.statement.shape()...)
		buffer = append(buffer, found(s.rows))
		for _, a := range w.accesses(&s.statement) {
			buffer = strconv.AppendInt(append(buffer, ' '), int64(rows.number(&a, s.statement.Parameters)), 10)
		}
	}
	return string(buffer)
}

func found(rows int64) byte {
	switch {
	case rows < 0:
		return '?'
	case rows == 0:
		return '0'
	}
	return '+'
}

// rowNames numbers a transaction's rows in order of occurrence.
type rowNames struct{ keys []string }

// number is the number of the row that a key names; -1 for a condition.
func (r *rowNames) number(a *access.Access, parameters []any) int {
	if a.Key == nil {
		return -1
	}
	key := rowKey(a, parameters)
	for i, k := range r.keys {
		if k == key {
			return i
		}
	}
	r.keys = append(r.keys, key)
	return len(r.keys) - 1
}

// rowKey names a row alike in all transactions.
func rowKey(a *access.Access, parameters []any) string {
	key := make([]byte, 0, 32)
	key = append(key, a.Table...)
	for _, k := range a.Key {
		key = append(append(key, ' '), wordValue(k, parameters)...)
	}
	return string(key)
}

func wordValue(w access.Word, parameters []any) string {
	if n, err := strconv.Atoi(w.Text); w.Kind == access.Parameter && err == nil && n >= 1 && n <= len(parameters) {
		if v, is := parameters[n-1].(int64); is {
			return strconv.FormatInt(v, 10)
		}
		return fmt.Sprint(parameters[n-1])
	}
	return w.Text
}

func (w *watch) save(s *state) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, of := range w.known {
		t := of.template
		t.Count = of.count
		s.Templates = append(s.Templates, t)
	}
	slices.SortFunc(s.Templates, func(a, b template) int {
		return cmp.Or(cmp.Compare(a.Transaction, b.Transaction), cmp.Compare(a.Line, b.Line), cmp.Compare(b.Count, a.Count), slices.Compare(a.Statements, b.Statements))
	})
	s.Noted, s.Overflown, s.Meetings = slices.Clone(w.noted), w.overflown, w.meetings.found
}
