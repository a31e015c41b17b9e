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

// step is a statement of an attempt, as it was sent.
type step struct {
	statement Statement
	// rows is how many rows it gave or changed; -1 if nobody counted.
	rows int64
	// first is the only column of the first row; nil if it has others.
	first any
	// answer are the first of its rows.
	answer [][]any
	// start and end are when it was sent and answered.
	start, end time.Duration
	// line is the line of the script which sent it; 0 where that is not known.
	line int
}

// part is a transaction of an attempt: all that a function in Starlark sends, or what a script
// in pgbench's language sends from BEGIN to COMMIT, or a statement outside of these.
type part struct {
	steps []step
	// line is where it begins, in a script of several; 0 in one that is one transaction.
	line int
	// alone is true of a statement outside of BEGIN and COMMIT, and fixed if what is sent
	// cannot be changed, since it goes as it is in a pipeline.
	alone, fixed bool
	// unclear is why it cannot be told what it is; empty if it can.
	unclear string
	// commit is a moment before COMMIT was sent, and end one after it was acknowledged.
	commit, end time.Duration
}

// add keeps a step, and one more than may be, which says that there were too many.
func (p *part) add(s step) {
	if len(p.steps) <= mostSteps {
		p.steps = append(p.steps, s)
	}
}

// close ends the transaction that is open, which has committed.
func (c *call) close() {
	if len(c.steps) > 0 || c.unclear != "" {
		c.part.end = time.Since(c.watch.began)
		c.past = append(c.past, c.part)
	}
	c.part = part{}
}

// watch notes what transactions send, for the look at what an isolation level makes of
// them. It is safe for concurrent use.
type watch struct {
	program *program
	seed    uint64
	// pause is the longest pause before a statement, 0 for none.
	pause time.Duration
	began time.Time

	mu sync.Mutex
	// known are the different sequences of statements, by their signatures.
	known map[string]*sequence
	// noted counts the committed attempts of each transaction that are in known.
	noted []int64
	// overflown is true if there were too many different sequences.
	overflown bool
	meetings  meetings
	// log are the last transactions that committed, and cases those of them that broke what
	// must hold.
	log        []*overlapping
	logged     int
	unexpected []operation
	// seen is what reads see, for a search among these.
	seen  robustness.Level
	cases []brokenBy
}

// sequence is a series of statements that transactions have sent.
type sequence struct {
	template template
	count    int64
}

// maxSequences bounds the different sequences that are kept, and mostSteps the statements
// of one.
const (
	maxSequences = 200
	mostSteps    = 200
)

func newWatch(p *program, seed uint64, pause time.Duration) *watch {
	return &watch{program: p, seed: seed, pause: pause, began: time.Now(), known: map[string]*sequence{}, noted: make([]int64, len(p.transactions))}
}

// watched is a transaction whose statements are noted, and sent after a pause if there is
// to be one.
type watched struct {
	Transaction
	call  *call
	pause func(context.Context) error
}

// watching is the transaction as the script gets it.
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

// shownRows is how many rows of an answer are shown, and mostRows how many are looked at for
// keys where transactions are made to meet.
const (
	shownRows = 4
	mostRows  = 100
)

// shown is the answer in short.
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

// values are the values of its answer, as text; of documents, of their _id.
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

// done takes what an attempt has sent whose transactions committed or may have; start is a
// moment before the last COMMIT.
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

// began is when the first statement was sent.
func (p *part) began() time.Duration {
	if len(p.steps) == 0 {
		return p.end
	}
	return p.steps[0].start
}

// meet compares a transaction with those that it overlapped. since is when the attempt began:
// others of it may be compared yet.
func (w *watch) meet(x *overlapping, since time.Duration) {
	w.look(x)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meetings.add(x, since)
}

// enter takes a transaction; nil if there is no room for what it has sent.
func (w *watch) enter(p *part, transaction int) *sequence {
	if p.alone && len(p.steps) == 1 { // its rows are not counted: it found some, or none
		p.steps[0].rows = 1
		w.note(p, transaction)
		p.steps[0].rows = 0
	}
	return w.note(p, transaction)
}

// note enters what a transaction has sent among the known sequences; nil if there is no room.
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

// signature is the same for transactions that have the same template: where they begin, the
// statements, which of them are on the same rows, and which found one.
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

// rowNames gives the rows of a transaction numbers, in the order in which they come.
type rowNames struct{ keys []string }

// number is the number of the row that a key names; -1 of rows that a condition selects.
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

// rowKey is the row that a key names, the same in all transactions.
func rowKey(a *access.Access, parameters []any) string {
	key := make([]byte, 0, 32)
	key = append(key, a.Table...)
	for _, k := range a.Key {
		key = append(append(key, ' '), wordValue(k, parameters)...)
	}
	return string(key)
}

// wordValue is a value in a statement as text.
func wordValue(w access.Word, parameters []any) string {
	if n, err := strconv.Atoi(w.Text); w.Kind == access.Parameter && err == nil && n >= 1 && n <= len(parameters) {
		if v, is := parameters[n-1].(int64); is {
			return strconv.FormatInt(v, 10)
		}
		return fmt.Sprint(parameters[n-1])
	}
	return w.Text
}

// save enters what was noted.
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
