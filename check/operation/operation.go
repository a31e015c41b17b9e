// Package operation has what the checks of other tools' histories share that
// take operations one by one: who did an operation and when, as reports name
// it, and a bounded list of what was found.
package operation

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
)

// Operation says who did an operation and when. It is what is kept of one.
type Operation struct {
	// ID is how the reader of a report finds it again.
	ID, Process int64
	// Invoke and Complete order the operations: one precedes another if it
	// completed before the other was invoked. Complete is Never unless the
	// operation was acknowledged, for what is unknown may still take effect.
	Invoke, Complete int64
	// InvokeTime and CompleteTime are nanoseconds since the history began, or
	// exchange.NoTime. They are shown and not judged.
	InvokeTime, CompleteTime int64
	Outcome                  history.Outcome
}

// Never is the completion of what was not acknowledged.
const Never = math.MaxInt64

// Of returns what is kept of an operation.
func Of(o *exchange.Operation) Operation {
	kept := Operation{
		ID: o.ID(), Process: o.Process, Invoke: o.Invoke, Complete: o.Complete,
		InvokeTime: o.InvokeTime, CompleteTime: o.CompleteTime, Outcome: o.Outcome,
	}
	if !kept.Acknowledged() {
		kept.Complete, kept.CompleteTime = Never, exchange.NoTime
	}
	return kept
}

// Acknowledged reports whether the operation certainly took effect.
func (o *Operation) Acknowledged() bool { return o.Outcome == history.Committed }

// Possible reports whether the operation took effect or may have done so.
func (o *Operation) Possible() bool {
	return o.Outcome == history.Committed || o.Outcome == history.Unknown
}

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

// Evidence returns what was wrong with the operation. The text follows its name. The
// first *Operation among args is another one that the evidence rests on.
func (o *Operation) Evidence(kind, format string, args ...any) check.Evidence {
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
		case Field:
			if v, err := strconv.ParseInt(arg.String(), 10, 64); err == nil {
				e.Fields[arg.Name] = v
			}
		}
	}
	return e
}

// Field is a value that evidence has in its text and, if it is a whole number of 64
// bits, as data under its name.
type Field struct {
	Name  string
	Value any
}

func (f Field) String() string { return fmt.Sprint(f.Value) }

// Findings gathers what is wrong: of each kind a few in words, all counted. The
// kinds are listed in the order of New, each once before any has its second.
type Findings struct {
	order []string
	list  map[string][]check.Evidence
	count map[string]int64
}

// perKind bounds what is listed of one kind.
const perKind = 10

// NewFindings returns an empty list of findings of these kinds.
func NewFindings(kinds ...string) *Findings {
	return &Findings{order: kinds, list: map[string][]check.Evidence{}, count: map[string]int64{}}
}

// Add counts one finding of what is wrong with an operation, and describes it as
// Operation.Evidence does if there is room.
func (f *Findings) Add(kind string, by *Operation, format string, args ...any) {
	f.AddEvidence(kind, func() check.Evidence { return by.Evidence(kind, format, args...) })
}

// AddEvidence counts one finding, and describes it if there is room.
func (f *Findings) AddEvidence(kind string, describe func() check.Evidence) {
	f.count[kind]++
	if len(f.list[kind]) < perKind {
		f.list[kind] = append(f.list[kind], describe())
	}
}

// Count returns how many of the kind there are.
func (f *Findings) Count(kind string) int64 { return f.count[kind] }

// Result is the answer of a check by what was found. detail tells what was examined, and
// what was found is added to it.
func (f *Findings) Result(name, detail string) check.Result {
	r := check.Result{Name: name, Detail: detail + f.Summary()}
	f.Into(&r)
	return r
}

// Into adds all to a result.
func (f *Findings) Into(r *check.Result) {
	listed := map[string]int64{}
	for depth := range perKind {
		for _, kind := range f.order {
			if depth < len(f.list[kind]) {
				r.Add(f.list[kind][depth])
				listed[kind]++
			}
		}
	}
	for _, kind := range f.order {
		r.AddUnlisted(kind, f.count[kind]-listed[kind])
	}
}

// Summary counts the findings in words that follow others, such as "; 2 lost, 1
// duplicated"; it is empty if there are none.
func (f *Findings) Summary() string {
	text := ""
	for _, kind := range f.order {
		if n := f.count[kind]; n > 0 {
			separator := "; "
			if text != "" {
				separator = ", "
			}
			text += separator + check.Count(n) + " " + kind
		}
	}
	return text
}

// Plural puts a number before a word in the form that belongs to it.
func Plural[T ~int | ~int64](n T, what string) string { return check.Counted(n, what, what+"s") }

// Without returns the findings without one kind.
func (f *Findings) Without(kind string) *Findings {
	kept := *f
	kept.order = slices.DeleteFunc(slices.Clone(f.order), func(k string) bool { return k == kind })
	return &kept
}
