package recorded

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
)

// Operation says who did an operation and when.
type Operation struct {
	// ID identifies the operation to the reader of a report.
	ID, Process int64
	// Invoke and Complete order the operations: one precedes another if it completed before the
	// other was invoked. Complete is never unless the operation was acknowledged, because an
	// unknown one may still take effect.
	Invoke, Complete int64
	// InvokeTime and CompleteTime are nanoseconds since the history began, or exchange.NoTime.
	// They are shown, not judged.
	InvokeTime, CompleteTime int64
	Outcome                  history.Outcome
}

// never is the completion of an operation that was not acknowledged.
const never = math.MaxInt64

func operationOf(o *exchange.Operation) Operation {
	kept := Operation{
		ID: o.ID(), Process: o.Process, Invoke: o.Invoke, Complete: o.Complete,
		InvokeTime: o.InvokeTime, CompleteTime: o.CompleteTime, Outcome: o.Outcome,
	}
	if !kept.Acknowledged() {
		kept.Complete, kept.CompleteTime = never, exchange.NoTime
	}
	return kept
}

// Acknowledged reports whether the operation certainly took effect.
func (o *Operation) Acknowledged() bool { return o.Outcome == history.Committed }

// Possible reports whether the operation may have taken effect.
func (o *Operation) Possible() bool { return o.Acknowledged() || o.Outcome == history.Unknown }

// Before reports whether o ended before other began.
func (o *Operation) Before(other *Operation) bool { return o.Complete < other.Invoke }

// String identifies the operation.
func (o *Operation) String() string {
	when := ""
	switch {
	case o.InvokeTime != exchange.NoTime && o.CompleteTime != exchange.NoTime:
		when = fmt.Sprintf(", %.6f s to %.6f s", float64(o.InvokeTime)/1e9, float64(o.CompleteTime)/1e9)
	case o.InvokeTime != exchange.NoTime:
		when = fmt.Sprintf(", from %.6f s on", float64(o.InvokeTime)/1e9)
	}
	return fmt.Sprintf("process %d (operation %d%s)", o.Process, o.ID, when)
}

// field is a value in the text of evidence. If it is a whole number of 64 bits, it is also data
// under its name.
type field struct {
	name  string
	value any
}

func (f field) String() string { return fmt.Sprint(f.value) }

// evidence describes what was wrong with the operation. The text follows its name. The first
// *Operation among args is another operation that the evidence rests on.
func (o *Operation) evidence(kind, format string, args ...any) check.Evidence {
	e := check.Evidence{Kind: kind, Fields: map[string]int64{"operation": o.ID, "process": o.Process},
		Text: o.String() + " " + fmt.Sprintf(format, args...)}
	if o.InvokeTime != exchange.NoTime {
		e.Fields["invoke_ns"] = o.InvokeTime
	}
	if o.CompleteTime != exchange.NoTime {
		e.Fields["complete_ns"] = o.CompleteTime
	}
	for _, arg := range args {
		switch arg := arg.(type) {
		case *Operation:
			if _, known := e.Fields["other_operation"]; !known {
				e.Fields["other_operation"] = arg.ID
			}
		case field:
			if v, err := strconv.ParseInt(arg.String(), 10, 64); err == nil {
				e.Fields[arg.name] = v
			}
		}
	}
	return e
}

type moment struct {
	at    int64
	op    int32
	ended bool
}

// moments returns the moments of n operations by time; at equal times an invocation comes first.
// times returns when an operation began and when it was acknowledged, or never.
func moments(n int, times func(op int) (invoke, complete int64)) []moment {
	all := make([]moment, 0, 2*n)
	for op := range n {
		invoke, complete := times(op)
		all = append(all, moment{at: invoke, op: int32(op)})
		if complete != never {
			all = append(all, moment{at: complete, op: int32(op), ended: true})
		}
	}
	slices.SortFunc(all, func(a, b moment) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.ended == b.ended:
			return cmp.Compare(a.op, b.op)
		case a.ended:
			return 1
		}
		return -1
	})
	return all
}

func byInvoke(a, b *Operation) int   { return cmp.Compare(a.Invoke, b.Invoke) }
func byComplete(a, b *Operation) int { return cmp.Compare(a.Complete, b.Complete) }
