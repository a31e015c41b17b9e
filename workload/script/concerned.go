package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/check"
	"assay/check/robustness"
	"assay/history"
)

// brokenBy is a cycle of transactions, without a serial order, that broke a rule.
type brokenBy struct {
	Check string `json:"check"`
	// Index is the number of the transaction or invariant.
	Index   int           `json:"index"`
	Excerpt check.Excerpt `json:"excerpt"`
	Cycle   check.Cycle   `json:"cycle"`
	// dated is true once times are the history's; shown once it is evidence.
	dated, shown bool
}

type operation struct {
	client int
	seq    uint64
}

const (
	mostLogged     = 1 << 14 // that are kept
	mostNear       = 96      // that are looked at together
	mostUnexpected = 20
	searchTime     = 3 * time.Second
)

func (w *watch) keep(x *overlapping) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.log) < mostLogged {
		w.log = append(w.log, x)
	} else {
		w.log[w.logged%mostLogged] = x
	}
	w.logged++
}

func (w *watch) surprised(o operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.unexpected) < mostUnexpected {
		w.unexpected = append(w.unexpected, o)
	}
}

// concerned searches, once per invariant, for transactions that broke it by this answer.
func (w *watch) concerned(index int, of answer) {
	if w == nil || slices.ContainsFunc(w.cases, func(b brokenBy) bool { return b.Check == CheckInvariants && b.Index == index }) {
		return
	}
	n := &w.program.invariants[index]
	w.search(CheckInvariants, index, w.suspects(n, of))
}

// concernedBy searches for transactions that caused a failed expectation.
func (w *watch) concernedBy() {
	all := w.inOrder()
	for _, o := range w.unexpected {
		at := slices.IndexFunc(all, func(x *overlapping) bool { return x.client == o.client && x.seq == o.seq })
		if at < 0 {
			continue
		}
		if kind, known := w.program.kind(all[at].name); known && !slices.ContainsFunc(w.cases, func(b brokenBy) bool { return b.Check == CheckExpected && b.Index == kind }) {
			w.search(CheckExpected, kind, all[at:at+1])
		}
	}
}

// inOrder are the logged transactions by their ends.
func (w *watch) inOrder() []*overlapping {
	w.mu.Lock()
	all := slices.Clone(w.log)
	w.mu.Unlock()
	for _, x := range all {
		w.look(x)
	}
	slices.SortStableFunc(all, func(a, b *overlapping) int { return cmp.Compare(a.end, b.end) })
	return all
}

// suspects wrote to tables of the query, those that wrote a row of the answer first.
func (w *watch) suspects(n *invariant, of answer) (named []*overlapping) {
	var values []string
	for _, row := range of.Rows {
		for _, v := range row {
			values = append(values, fmt.Sprint(v))
		}
	}
	tables := n.query.tables()
	var others []*overlapping
	for _, x := range w.inOrder() {
		wrote, names := false, false
		for i := range x.Events {
			e := &x.Events[i]
			if len(e.Writes) == 0 || !slices.Contains(tables, e.Relation) {
				continue
			}
			wrote = true
			key, is := strings.CutPrefix(e.Key, e.Relation+" ")
			names = names || n.empty && is && slices.Contains(values, key)
		}
		if names {
			named = append(named, x)
		} else if wrote {
			others = append(others, x)
		}
	}
	return append(named, others...)
}

// search keeps the first cycle with a suspect, preferring a proven one.
func (w *watch) search(name string, index int, suspects []*overlapping) {
	all, until := w.inOrder(), time.Now().Add(searchTime)
	var found *brokenBy
	for _, x := range suspects {
		if time.Now().After(until) {
			break
		}
		near := nearby(all, x)
		executions := make([]*robustness.Execution, len(near))
		for i := range near {
			executions[i] = &near[i].Execution
		}
		cycle := robustness.Cycle(executions, slices.Index(near, x), w.seen)
		if cycle == nil {
			continue
		}
		sure := !slices.ContainsFunc(cycle, func(c robustness.Conflict) bool { return !c.Sure })
		if found == nil || sure {
			found = &brokenBy{Check: name, Index: index}
			found.describe(near, cycle, sure)
		}
		if sure {
			break
		}
	}
	if found != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.cases = append(w.cases, *found)
	}
}

// nearby are the transactions that overlapped x, and those that overlapped them.
func nearby(all []*overlapping, x *overlapping) []*overlapping {
	from, to := x.begun, x.end
	for _, o := range all {
		if o.end >= x.begun && o.begun <= x.end {
			from, to = min(from, o.begun), max(to, o.end)
		}
	}
	var near []*overlapping
	for _, o := range all {
		if o.end >= from && o.begun <= to {
			near = append(near, o)
		}
	}
	// The nearest come first: if a write were cut off, another would seem to explain a read.
	away := func(o *overlapping) time.Duration { return max(0, o.begun-x.end, x.begun-o.end) }
	slices.SortStableFunc(near, func(a, b *overlapping) int { return cmp.Compare(away(a), away(b)) })
	return near[:min(len(near), mostNear)]
}

// describe names transactions T1, T2 and so on by their begins.
func (b *brokenBy) describe(near []*overlapping, cycle []robustness.Conflict, sure bool) {
	order := make([]int, len(cycle))
	for i, c := range cycle {
		order[i] = c.From
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(near[x].begun, near[y].begun) })
	name := func(i int) string { return fmt.Sprintf("T%d", slices.Index(order, i)+1) }
	for _, i := range order {
		b.Excerpt.Operations = append(b.Excerpt.Operations, near[i].operation(name(i)))
	}
	b.Excerpt.Clock, b.Excerpt.Minimal = check.Nanoseconds, sure
	var why []string
	for _, c := range cycle {
		x := near[c.From]
		step := check.Step{Name: name(c.From), Text: fmt.Sprintf("%s, operation %d of client %d", x.name, x.seq, x.client), Kind: c.Kind, Why: reasonOf(near, c, name)}
		b.Cycle.Steps = append(b.Cycle.Steps, step)
		why = append(why, step.Why)
	}
	b.Excerpt.Why = strings.Join(why, ". ") + ". So each comes before the next, and the last before the first: one after the other they cannot have run."
	if !sure {
		b.Excerpt.Why += " The times and answers do not prove all of it: it is the likeliest way."
	}
}

func reasonOf(near []*overlapping, c robustness.Conflict, name func(int) string) string {
	text := func(of, event int) string {
		x := near[of]
		return x.steps[x.Events[event].Statement].statement.withValues()
	}
	first, second := name(c.From), name(c.To)
	before, after := text(c.From, c.Before), text(c.To, c.After)
	switch {
	case c.Kind == "rw" && c.Told == robustness.ByAnswers:
		return fmt.Sprintf("%s did not see what %s wrote (%s): its read (%s) gave something else than the same read did after that COMMIT was acknowledged", first, second, after, before)
	case c.Kind == "rw":
		return fmt.Sprintf("%s did not see what %s wrote (%s): what it read (%s) was fixed before that COMMIT was sent", first, second, after, before)
	case c.Kind == "ww":
		return fmt.Sprintf("%s wrote (%s) before %s did (%s)", first, before, second, after)
	case c.Told == robustness.ByAnswers:
		return fmt.Sprintf("%s saw what %s wrote (%s): its read (%s) gave something else than the same read before", second, first, before, after)
	}
	return fmt.Sprintf("%s was acknowledged (%s) before %s read (%s)", first, before, second, after)
}

// operation has everything that the transaction sent.
func (x *overlapping) operation(name string) check.Operation {
	o := check.Operation{Name: name, ID: int64(x.seq), Process: int64(x.client), Invoke: int64(x.begun), Complete: int64(x.end), Outcome: "committed",
		Steps: []string{}, Transaction: x.name, Attempt: x.attempt}
	if len(x.steps) > 1 || x.begun < x.commit {
		o.Statements = append(o.Statements, check.Statement{Text: "BEGIN", Sent: int64(x.begun), Answered: -1})
	}
	for i := range x.steps {
		s := &x.steps[i]
		o.Statements = append(o.Statements, check.Statement{Text: s.statement.withValues(), Answer: s.gave(), Sent: int64(s.start), Answered: int64(s.end)})
	}
	o.Statements = append(o.Statements, check.Statement{Text: "COMMIT", Sent: int64(x.commit), Answered: int64(x.end)})
	return o
}

// dated moves a case's times to the history's clock, by its first operation in the history.
func (j *judge) dated(op *history.Op) {
	for i := range j.state.Cases {
		b := &j.state.Cases[i]
		for _, o := range b.Excerpt.Operations {
			if b.dated || int(o.Process) != op.Client || uint64(o.ID) != op.Seq || o.Attempt != op.Attempt {
				continue
			}
			b.dated = true
			b.Excerpt.Move(op.Start - o.Invoke)
		}
	}
}

// proven adds the case to a piece of evidence, once.
func (j *judge) proven(e check.Evidence, name string, index int) check.Evidence {
	for i := range j.state.Cases {
		if b := &j.state.Cases[i]; b.Check == name && b.Index == index && !b.shown {
			b.shown, b.Excerpt.Of = true, j.counts.Committed
			e.Smallest, e.Cycle = &b.Excerpt, &b.Cycle
		}
	}
	return e
}
