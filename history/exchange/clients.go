package exchange

import (
	"maps"
	"slices"
)

// unnamed is the process of an event without one.
const unnamed = -1

// inFlight holds the operations invoked and not completed, by process.
type inFlight map[int64]*Operation

// empty removes all operations and returns them from the last to the first.
func (f inFlight) empty() []*Operation {
	all := slices.SortedFunc(maps.Values(f), func(a, b *Operation) int { return int(b.Invoke - a.Invoke) })
	clear(f)
	return all
}

// clients assigns the events of a history to processes. Usually each event names its process,
// which invokes an operation and completes it. Two other forms are read too:
//
//   - No event names a process. Each operation then gets a process of its own, and a completion
//     belongs to an invocation that asked for the same.
//   - A process only completes operations. Each of them then began at any time after the one
//     before, or after the beginning of the history.
//
// A mixture is refused: a history without its beginning looks like that, and would show values
// that no operation wrote.
type clients struct {
	any, named bool
	line       int // of the first event
	// next is the next process for operations without one; asked are those in flight, by signature.
	next  int64
	asked map[string][]*Operation
	// invoked holds the processes that invoked anything, ended those that only completed.
	invoked map[int64]struct{}
	ended   map[int64]ending
}

type ending struct {
	line   int
	moment int64
}

// note refuses a history in which some events name a process and others do not.
func (c *clients) note(e *event) error {
	named := e.process != unnamed
	if !c.any {
		c.any, c.named, c.line = true, named, e.at.line
	}
	switch {
	case c.named == named:
		return nil
	case named:
		return e.bad("an operation with a process, in a history whose first operation, on line %d, has none; name the process of each, or of none", c.line)
	default:
		return e.bad("an operation without a process, in a history whose first operation, on line %d, has one; name the process of each, or of none", c.line)
	}
}

func (c *clients) invoke(e *event) (int64, error) {
	if before, ended := c.ended[e.process]; ended {
		return 0, e.bad("an invocation by a process that completed, on line %d, what it had not invoked; "+
			"is the beginning of the history cut off? Judge it whole", before.line)
	}
	if _, known := c.invoked[e.process]; !known {
		if c.invoked == nil {
			c.invoked = map[int64]struct{}{}
		}
		c.invoked[e.process] = struct{}{}
	}
	if e.process != unnamed {
		return e.process, nil
	}
	c.next++
	return c.next - 1, nil
}

func signature(op *Operation) string {
	t := eventText{edn: true}
	t.raw(op.name())
	t.value(op, false)
	return string(t.buf)
}

// ask notes an operation in flight without a process.
func (c *clients) ask(op *Operation) {
	if c.asked == nil {
		c.asked = map[string][]*Operation{}
	}
	s := signature(op)
	c.asked[s] = append(c.asked[s], op)
}

// take returns an operation in flight with the same request; nil if there is none. If there are
// several, the completed one is not known: it gets the earliest invocation of them.
func (c *clients) take(asked *Operation) *Operation {
	s := signature(asked)
	same := c.asked[s]
	if len(same) == 0 {
		return nil
	}
	last := len(same) - 1
	op := same[last]
	op.Invoke = same[0].Invoke
	if c.asked[s] = same[:last]; last == 0 {
		delete(c.asked, s)
	}
	return op
}

// completed returns the operation that an event completes; nil if its process invokes nothing.
func (r *Reader) completed(e *event) (*Operation, error) {
	op := r.open[e.process]
	if e.process == unnamed {
		op = r.completedUnnamed(e)
	}
	_, invokes := r.clients.invoked[e.process]
	switch {
	case op != nil || !invokes:
		return op, nil
	case e.process == unnamed:
		return nil, e.bad("a completion (%s) without a process: nobody can tell which operation it completes: "+
			"it does not repeat what was invoked; name the process of each operation", e.kind)
	}
	return nil, e.bad("process %d completes (%s) what it has not invoked", e.process, e.kind)
}

// completedUnnamed returns the operation in flight with the request that the event repeats. If
// there is none it returns the only operation in flight with its function, and nil if several
// have it.
func (r *Reader) completedUnnamed(e *event) *Operation {
	asked := Operation{Function: e.function, Word: e.word}
	if e.value != none && r.tree.request(e, &asked) == nil {
		if op := r.clients.take(&asked); op != nil {
			return op
		}
	}
	if op := r.clients.take(&Operation{Function: e.function, Word: e.word}); op != nil {
		return op
	}
	var only *Operation
	for _, op := range r.open {
		if e.function != 0 && (op.Function != e.function || op.Word != e.word) {
			continue
		}
		if only != nil {
			return nil
		}
		only = op
	}
	if only == nil {
		return nil
	}
	return r.clients.take(only)
}

// uninvoked returns an operation of which the history has only the completion.
func (r *Reader) uninvoked(e *event, at int64) (*Operation, error) {
	if e.function == 0 {
		return nil, e.errWithoutFunction()
	}
	c := &r.clients
	if c.ended == nil {
		c.ended = map[int64]ending{}
	}
	op := r.unused()
	op.Uninvoked, op.Unnamed = true, e.process == unnamed
	op.Line, op.Column, op.Process, op.InvokeTime = e.at.line, e.at.column, e.process, NoTime
	if op.Index = e.index; op.Index == NoIndex {
		op.Index = r.count - 1
	}
	// The process's next operation may begin at the moment after this completion.
	at = max(at, 1)
	r.events = at + 2
	op.Invoke = c.ended[e.process].moment
	if op.Unnamed {
		op.Invoke, op.Process = 0, c.next
		c.next++
	}
	c.ended[e.process] = ending{e.at.line, at + 1}
	if e.function == Read {
		op.Function = Read
		if err := r.tree.keyBeside(e, op); err != nil {
			return nil, err
		}
	} else if err := r.tree.request(e, op); err != nil {
		return nil, err
	}
	if e.kind != acknowledged {
		op.forgetReads()
	}
	return op, r.end(e, op, at)
}

// forgetReads drops what an unacknowledged transaction saw.
func (o *Operation) forgetReads() {
	for i := range o.Txn {
		if m := &o.Txn[i]; !m.Kind.writes() {
			m.Kind, m.Value, m.List = GetNothing, Atom{}, m.List[:0]
		}
	}
}

// Unnamed reports whether the events read so far name no process.
func (r *Reader) Unnamed() bool { return r.clients.any && !r.clients.named }

// Uninvoked reports whether processes completed operations that they did not invoke, so far.
func (r *Reader) Uninvoked() bool { return len(r.clients.ended) > 0 }
