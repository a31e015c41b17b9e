package exchange

import (
	"bufio"
	"container/heap"
	"fmt"
	"io"
	"math"

	"assay/history"
)

// Output describes how a Writer writes.
type Output struct {
	// Format is EDN or JSON; both have one event on each line.
	Format Format
	// Processes is the number of processes: above every Operation.Process. After an operation
	// of unknown outcome a process does nothing more, as in Jepsen: its client continues under
	// the next number with the same remainder.
	Processes int64
	// Window bounds the disorder of the added operations: none begins more than Window before
	// the latest end of those added before. A Span finds it. The writer keeps the operations that
	// ended within a window.
	Window int64
}

// Span finds the Window of operations that are added in some order.
type Span struct {
	ended  bool
	latest int64
	widest int64
}

// See notes the next operation; complete is Never if it has no end.
func (s *Span) See(invoke, complete int64) {
	if s.ended {
		s.widest = max(s.widest, minus(s.latest, invoke))
	}
	if complete != Never {
		s.latest = max(s.latest, complete)
		if !s.ended {
			s.latest = complete
		}
		s.ended = true
	}
}

// Window returns the smallest window that fits all operations seen.
func (s *Span) Window() int64 { return s.widest }

// minus is max(a-b, 0), bounded by the largest number.
func minus(a, b int64) int64 {
	if b >= a {
		return 0
	}
	if d := a - b; d > 0 {
		return d
	}
	return math.MaxInt64
}

// Writer writes operations as the events of a history, in the order of their times. It is not
// safe for concurrent use.
//
// At equal times an invocation is written before a completion, so the history orders no more
// than the times do. The exception is a process that begins an operation at the very time at
// which it ended the one before.
type Writer struct {
	out     *bufio.Writer
	o       Output
	text    eventText
	events  pendingEvents
	seq     int64
	written int64 // events so far, the next index
	latest  int64 // the latest end
	any     bool
	front   int64 // events before it are written
	current map[int64]*written
}

type written struct {
	op     *Operation
	closed bool
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer, o Output) (*Writer, error) {
	if o.Format != EDN && o.Format != JSON {
		return nil, fmt.Errorf("exchange: histories are not written as %s; choose EDN or JSON", o.Format)
	}
	if o.Processes < 1 || o.Window < 0 {
		return nil, fmt.Errorf("exchange: %d processes and a window of %d make no history", o.Processes, o.Window)
	}
	return &Writer{
		out: bufio.NewWriterSize(w, 1<<16), o: o, text: eventText{edn: o.Format == EDN},
		front: math.MinInt64, current: map[int64]*written{},
	}, nil
}

// Add writes one operation, possibly later. It keeps a copy of op.
func (w *Writer) Add(op *Operation) error {
	if err := w.validate(op); err != nil {
		return err
	}
	kept := &written{op: op.Clone()}
	w.push(pendingEvent{at: op.Invoke, of: kept})
	if op.Complete == Never {
		return nil
	}
	w.push(pendingEvent{at: op.Complete, completes: true, of: kept})
	if !w.any || op.Complete > w.latest {
		w.any, w.latest = true, op.Complete
	}
	front := w.latest - w.o.Window
	if front > w.latest { // below the smallest number
		return nil
	}
	w.front = max(w.front, front)
	for len(w.events) > 0 && w.events[0].at < w.front {
		if err := w.emit(heap.Pop(&w.events).(pendingEvent)); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) validate(op *Operation) error {
	switch {
	case op.Function < Transaction || op.Function > Other:
		return fmt.Errorf("exchange: operation %d has no function", op.ID())
	case op.Process < 0 || op.Process >= w.o.Processes:
		return fmt.Errorf("exchange: operation %d is of process %d, but there are %d processes", op.ID(), op.Process, w.o.Processes)
	case op.Complete < op.Invoke:
		return fmt.Errorf("exchange: operation %d ends before it begins", op.ID())
	case op.Complete == Never && op.Outcome != history.Unknown:
		return fmt.Errorf("exchange: operation %d is %s but never ended", op.ID(), op.Outcome)
	case op.Invoke < w.front:
		return fmt.Errorf("exchange: operation %d begins at %d, but what happened up to %d is written already; "+
			"a larger window is needed", op.ID(), op.Invoke, w.front)
	}
	return nil
}

func (w *Writer) push(e pendingEvent) {
	e.seq = w.seq
	w.seq++
	heap.Push(&w.events, e)
}

// Close writes the remaining events. It does not close the underlying writer.
func (w *Writer) Close() error {
	for len(w.events) > 0 {
		if err := w.emit(heap.Pop(&w.events).(pendingEvent)); err != nil {
			return err
		}
	}
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("exchange: write a history: %w", err)
	}
	return nil
}

func (w *Writer) emit(e pendingEvent) error {
	op := e.of.op
	if e.completes {
		if e.of.closed {
			return nil
		}
		return w.complete(e.of)
	}
	client := op.Process
	if before := w.current[client]; before != nil {
		if !before.closed && before.op.Complete == e.at {
			if err := w.complete(before); err != nil {
				return err
			}
		}
		if !before.closed {
			return fmt.Errorf("exchange: process %d begins operation %d while it does %d", client, op.ID(), before.op.ID())
		}
		op.Process = before.op.Process
		if before.op.Outcome == history.Unknown {
			op.Process += w.o.Processes
		}
	}
	w.current[client] = e.of
	return w.line(op, invoked, op.InvokeTime)
}

func (w *Writer) complete(of *written) error {
	of.closed = true
	kind := unsure
	switch of.op.Outcome {
	case history.Committed:
		kind = acknowledged
	case history.Failed, history.Rejected:
		kind = failed
	}
	return w.line(of.op, kind, of.op.CompleteTime)
}

func (w *Writer) line(op *Operation, kind eventType, time int64) error {
	t := &w.text
	t.buf = t.buf[:0]
	t.event(op, kind, w.written, time)
	w.written++
	if _, err := w.out.Write(t.buf); err != nil {
		return fmt.Errorf("exchange: write a history: %w", err)
	}
	return nil
}

// pendingEvent waits for events that may come before it.
type pendingEvent struct {
	at, seq   int64
	completes bool
	of        *written
}

type pendingEvents []pendingEvent

func (p pendingEvents) Len() int      { return len(p) }
func (p pendingEvents) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p pendingEvents) Less(i, j int) bool {
	a, b := &p[i], &p[j]
	if a.at != b.at {
		return a.at < b.at
	}
	if a.completes != b.completes {
		return b.completes
	}
	return a.seq < b.seq
}
func (p *pendingEvents) Push(e any) { *p = append(*p, e.(pendingEvent)) }
func (p *pendingEvents) Pop() any {
	last := len(*p) - 1
	e := (*p)[last]
	(*p)[last] = pendingEvent{}
	*p = (*p)[:last]
	return e
}
