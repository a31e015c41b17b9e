package exchange

import (
	"fmt"
	"io"

	"assay/history"
)

const maxOpen = 1 << 20

// source reads one event into the tree. next returns where it begins, or io.EOF.
type source interface {
	next() (at place, err error)
}

// Reader reads a history, keeping the operations in flight. It is not safe for concurrent use.
type Reader struct {
	format Format
	tree   *tree
	source source
	open   inFlight
	drains inFlight // those within which their process dequeues
	// labels are the words besides txn by which the history calls transactions.
	clients clients
	labels  map[string]struct{}
	// given is the last operation that Next returned; free are operations to reuse.
	given *Operation
	free  []*Operation
	ahead []*Operation // read by Decide
	// left are, at the end, the operations without a completion.
	left []*Operation
	kind Kind
	// begun is set by the first operation, on line since; txns means that it was a transaction.
	begun, txns bool
	since       int

	reading reading
	held    []heldEvent // read ahead

	now    event // the one that was read last
	events int64 // the moment of the next one
	count  int64 // of those that were read
	index  int64
	err    error
}

// NewReader finds the format of src, which may be compressed with gzip or zstd. It returns a
// *FormatError if src has no known format, and any error of src.
func NewReader(src io.Reader) (*Reader, error) {
	in, err := plainText(newInput(src))
	if err != nil {
		return nil, err
	}
	format, err := detect(in)
	if err != nil {
		return nil, err
	}
	r := &Reader{format: format, tree: &tree{}, index: NoIndex, open: inFlight{}, drains: inFlight{}, labels: map[string]struct{}{}}
	ahead := newReadAhead(r.tree)
	t := &ahead.tree
	switch format {
	case EDN:
		ahead.source = &forms{in: in, tree: t, syntax: &ednReader{in: in, tree: t}}
	case JSON:
		ahead.source = &forms{in: in, tree: t, syntax: &jsonReader{in: in, tree: t}, commas: true}
	default:
		ahead.source = newLogReader(in, t)
	}
	r.source = ahead
	return r, nil
}

// Format returns the format of the history.
func (r *Reader) Format() Format { return r.format }

// Kind returns the kind of the history, as far as it was read. If transactions both append and
// write, the first of these decides. Call Decide to know it before the first operation.
func (r *Reader) Kind() Kind { return r.kind }

const lookAhead = 1 << 14

// Decide reads ahead until the kind of the history is clear and returns the kind; NoKind only
// without operations. Next still returns the operations read. If they fit two kinds, the simpler
// one is taken: ListAppend for transactions that read nothing, Register for reads without
// answers.
func (r *Reader) Decide() (Kind, error) {
	for r.kind == NoKind && len(r.ahead) < lookAhead {
		op, err := r.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return r.kind, err
		}
		r.ahead = append(r.ahead, op.Clone())
	}
	switch {
	case r.kind != NoKind || !r.begun:
		return r.kind, nil
	case r.tree.only != NoKind:
		return r.tree.only, nil
	case r.txns:
		return ListAppend, nil
	default:
		return Register, nil
	}
}

// Next returns the operations in the order of their completions, and at the end those without
// one. An operation is valid until the next call. Next returns io.EOF at the end, a *FormatError
// if the history is malformed, and any error of the source; later calls repeat the error.
func (r *Reader) Next() (*Operation, error) {
	if len(r.ahead) == 0 {
		return r.next()
	}
	op := r.ahead[0]
	r.ahead[0] = nil
	r.ahead = r.ahead[1:]
	return op, nil
}

func (r *Reader) next() (*Operation, error) {
	if r.given != nil {
		r.free = append(r.free, r.given)
		r.given = nil
	}
	for r.err == nil {
		op, err := r.step()
		if err != nil {
			r.err = err
			break
		}
		if op != nil {
			r.given = op
			r.tree.nodes, r.tree.text = nil, nil // which may be as large as the file
			if r.err = r.noteKind(op); r.err != nil {
				break
			}
			return op, nil
		}
	}
	if r.err != io.EOF {
		return nil, r.err
	}
	return r.leftOver()
}

func (r *Reader) leftOver() (*Operation, error) {
	if len(r.open)+len(r.drains) > 0 {
		r.left = append(r.open.empty(), r.drains.empty()...) // the first is taken last
	}
	if len(r.left) == 0 {
		r.release()
		return nil, io.EOF
	}
	last := len(r.left) - 1
	op := r.left[last]
	r.left = r.left[:last]
	if err := r.noteKind(op); err != nil {
		r.err = err
		return nil, err
	}
	r.given = op
	return op, nil
}

// release frees the memory of reading, since callers may keep the Reader.
func (r *Reader) release() {
	r.source, r.given, r.free, r.left, r.now = nil, nil, nil, nil, event{}
	*r.tree = tree{only: r.tree.only}
}

func (r *Reader) event(e *event) error {
	at, err := r.nextEvent()
	if err != nil {
		return err
	}
	*e, err = r.tree.event(at)
	return err
}

// step reads one event. It returns the operation that the event completes, or nil.
func (r *Reader) step() (*Operation, error) {
	e := &r.now
	if err := r.event(e); err != nil {
		return nil, err
	}
	r.count++
	r.nameTransaction(e)
	switch {
	case r.reading == asWritten && e.client && e.function == 0:
		return nil, e.errWithoutFunction()
	case r.reading == asWritten && e.function != Other:
		e.word, e.function = e.function.String(), Other
	case r.reading != asWritten && e.function == Other:
		return nil, e.bad("operations of the function :%s cannot be judged in a history of transactions, registers or a bank; "+
			"known are txn, transfer, read, write and cas, and any function whose value is a list such as [[:r 1 nil] [:w 2 3]]", e.word)
	}
	at := r.events
	r.events++
	if !e.client {
		return nil, nil
	}
	if e.index != NoIndex {
		if e.index <= r.index {
			return nil, e.bad("index %d comes after index %d; a history is in the order of its indices", e.index, r.index)
		}
		r.index = e.index
	}
	if err := r.clients.note(e); err != nil {
		return nil, err
	}
	if e.kind == invoked {
		return nil, r.invoke(e, at)
	}
	return r.complete(e, at)
}

// nameTransaction makes an event one of a transaction, whatever its function is called, if its
// value is a list of steps such as [:r 1 nil], or if an earlier event with this function had
// such a value.
func (r *Reader) nameTransaction(e *event) {
	if r.reading != ofKnownForm || !e.client || e.function == 0 || e.function == Transaction || r.tree.only == Register || r.tree.only == Bank {
		return
	}
	label := e.word
	if label == "" {
		label = e.function.String()
	}
	if _, ok := r.tree.microOps(e.value); ok || r.tree.only != NoKind {
		r.labels[label] = struct{}{}
	}
	if _, known := r.labels[label]; known {
		e.function, e.word = Transaction, label
	}
}

func (r *Reader) invoke(e *event, at int64) error {
	if op := r.open[e.process]; op != nil && op.Word == "drain" && e.word == "dequeue" && r.drains[e.process] == nil {
		r.drains[e.process] = op // which is written as the dequeues that it does
	} else if op != nil {
		return e.bad("process %d invokes an operation while the one that it invoked on line %d is not completed",
			e.process, op.Line)
	}
	if len(r.open) >= maxOpen {
		return e.bad("more than %d operations are in flight at once", maxOpen)
	}
	if e.function == 0 {
		return e.errWithoutFunction()
	}
	process, err := r.clients.invoke(e)
	if err != nil {
		return err
	}
	op := r.unused()
	op.Line, op.Column, op.Index, op.Process = e.at.line, e.at.column, e.index, process
	op.Invoke, op.InvokeTime = at, e.time
	op.Complete, op.CompleteTime = Never, NoTime
	if err := r.tree.request(e, op); err != nil {
		return err
	}
	r.open[op.Process] = op
	if op.Unnamed = e.process == unnamed; op.Unnamed {
		r.clients.ask(op)
	}
	return nil
}

func (r *Reader) unused() *Operation {
	n := len(r.free)
	if n == 0 {
		return &Operation{}
	}
	op := r.free[n-1]
	r.free = r.free[:n-1]
	op.reset()
	return op
}

func (r *Reader) complete(e *event, at int64) (*Operation, error) {
	op, err := r.completed(e)
	if err != nil {
		return nil, err
	}
	if op == nil {
		return r.uninvoked(e, at)
	}
	if e.function == 0 {
		if op.Function != Transaction {
			return nil, e.errWithoutFunction()
		}
		e.function, e.word = Transaction, op.Word
	}
	if op.Function != e.function || op.Word != e.word {
		return nil, e.bad("process %d completes %s, but what it invoked on line %d is %s",
			e.process, withArticle(e.function, e.word), op.Line, op.name())
	}
	if err := r.end(e, op, at); err != nil {
		return nil, err
	}
	delete(r.open, op.Process)
	if drain := r.drains[op.Process]; drain != nil {
		r.open[op.Process] = drain
		delete(r.drains, op.Process)
	}
	return op, nil
}

func (r *Reader) end(e *event, op *Operation, at int64) error {
	op.EndLine, op.Complete, op.CompleteTime = e.at.line, at, e.time
	if err := r.tree.sameKeyBeside(e, op); err != nil {
		return err
	}
	switch e.kind {
	case acknowledged:
		op.Outcome = history.Committed
		if err := r.tree.answer(e, op); err != nil {
			return err
		}
	case failed:
		op.Outcome = history.Failed
	}
	if op.Outcome != history.Committed && op.Function == Other {
		op.Told = r.tree.value(e.value, op)
	}
	return nil
}

func (r *Reader) known() string {
	switch {
	case r.kind != NoKind:
		return r.kind.String()
	case r.txns:
		return "transactions"
	default:
		return "single operations"
	}
}

// noteKind refuses a mixture of transactions, banks and registers.
func (r *Reader) noteKind(op *Operation) error {
	if r.txns && r.kind != NoKind && op.Function == Transaction {
		return nil
	}
	kind := op.kind()
	if !r.begun {
		r.begun, r.txns, r.since = true, op.Function == Transaction, op.Line
	}
	switch {
	case r.tree.only != NoKind && kind != NoKind && kind != r.tree.only:
		line, column := op.Line, op.Column
		if op.EndLine > 0 { // the last event completed it
			line, column = op.EndLine, r.now.at.column
		}
		return &FormatError{Line: line, Column: column, Reason: fmt.Sprintf("%s as a history of kind %s has it, which cannot be read as one of kind %s",
			op.name(), kind, r.tree.only)}
	case r.txns != (op.Function == Transaction), kind != NoKind && r.kind != NoKind && kind != r.kind && !r.txns:
		reason := fmt.Sprintf("%s in a history of another kind, %s, as which it began on line %d", op.name(), r.known(), r.since)
		if op.Listed && r.kind == Register {
			reason += "; if its reads list all that was written, say so with --test comments"
		}
		return &FormatError{Line: op.Line, Column: op.Column, Reason: reason}
	case r.kind == NoKind:
		r.kind = kind
	}
	return nil
}
