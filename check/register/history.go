package register

import (
	"fmt"
	"math"

	"assay/history"
)

// Kind is what an operation did.
type Kind uint8

const (
	// Read read the register and saw Value.
	Read Kind = iota + 1
	// Write set the register to Value.
	Write
	// CompareAndSet set the register to Value if it held From. One that found
	// another value is a Failed one.
	CompareAndSet
)

// Nil is the value of a register that was never written, unless Options says
// otherwise.
const Nil = "nil"

// NoTime is a time that is not known.
const NoTime = -1

// Op is one operation, as its client saw it.
type Op struct {
	// ID is how the reader of a report finds the operation again.
	ID      int64
	Process int64
	Kind    Kind
	// Key names the register. Empty is a name like any other.
	Key string
	// Value and From are values as they are to be shown; two values are the
	// same exactly if their texts are. Value of a read counts only if it is
	// committed.
	Value, From string
	// Invoke and Complete are moments of one clock, in any unit: one operation
	// precedes another in real time if it completed strictly before the other
	// was invoked. Complete counts only for a committed operation.
	Invoke, Complete int64
	// InvokeTime and CompleteTime are nanoseconds since the history began, or
	// NoTime; they are shown and not judged.
	InvokeTime, CompleteTime int64
	// Outcome reports whether it took effect. One of unknown outcome may take
	// effect at any time after its invocation, or never.
	Outcome history.Outcome
}

// InputError describes why an operation cannot be judged.
type InputError struct {
	ID     int64
	Reason string
}

func (e *InputError) Error() string { return fmt.Sprintf("register: operation %d: %s", e.ID, e.Reason) }

// never is the completion of what may still take effect.
const never = math.MaxInt64

// op is an operation as it is kept.
type op struct {
	id, process              int64
	invoke, complete         int64
	invokeTime, completeTime int64
	value, from              int32 // numbers of values
	kind                     Kind
	outcome                  history.Outcome
	// seen means that the outcome was unknown, but that others saw the effect
	// before complete.
	seen bool
	// pending is true for an operation looked at as it was before it completed.
	pending bool
}

// certain reports whether the operation took effect for sure.
func (o *op) certain() bool { return !o.pending && (o.outcome == history.Committed || o.seen) }

// observes returns the value that the operation found, if that is certain.
func (o *op) observes() (int32, bool) {
	switch {
	case !o.certain() || o.kind == Write:
		return 0, false
	case o.kind == Read:
		return o.value, true
	default:
		return o.from, true
	}
}

// keyed is the history of one key.
type keyed struct {
	name string
	ops  []op
}

// History is a history of registers: 72 bytes an operation, beside the names of
// keys and values. The zero value is ready. It is not safe for concurrent use.
type History struct {
	keys   []keyed
	byName map[string]int
	values []string
	number map[string]int32
	counts counts
}

// counts describes what is in a history.
type counts struct {
	ops, reads, writes, sets, unknown, failed int
	// observed counts the committed reads and compare-and-sets: without one,
	// nothing is known of what any write did.
	observed int
}

// Add appends one operation. It returns an *InputError, and adds nothing, if
// that is not well-formed.
func (h *History) Add(o Op) error {
	switch {
	case o.Kind < Read || o.Kind > CompareAndSet:
		return &InputError{o.ID, fmt.Sprintf("%d is no kind of operation", o.Kind)}
	case !o.Outcome.Valid():
		return &InputError{o.ID, fmt.Sprintf("%d is no outcome", o.Outcome)}
	case o.Outcome == history.Committed && o.Complete < o.Invoke:
		return &InputError{o.ID, fmt.Sprintf("it completed at %d, before it was invoked at %d", o.Complete, o.Invoke)}
	case len(h.values) > math.MaxInt32-4:
		return &InputError{o.ID, "there are too many values; judge a shorter history"}
	}
	if o.Outcome != history.Committed {
		o.Complete = never
	}
	h.count(&o)
	key, known := h.byName[o.Key]
	if !known {
		if h.byName == nil {
			h.byName = map[string]int{}
		}
		key = len(h.keys)
		h.byName[o.Key] = key
		h.keys = append(h.keys, keyed{name: o.Key})
	}
	k := &h.keys[key]
	k.ops = append(k.ops, op{
		id: o.ID, process: o.Process, invoke: o.Invoke, complete: o.Complete,
		invokeTime: o.InvokeTime, completeTime: o.CompleteTime,
		value: h.numberOf(o.Value), from: h.numberOf(o.From), kind: o.Kind, outcome: o.Outcome,
	})
	return nil
}

func (h *History) count(o *Op) {
	c := &h.counts
	c.ops++
	switch o.Kind {
	case Read:
		c.reads++
	case Write:
		c.writes++
	default:
		c.sets++
	}
	switch o.Outcome {
	case history.Committed:
		if o.Kind != Write {
			c.observed++
		}
	case history.Unknown:
		c.unknown++
	default:
		c.failed++
	}
}

// numberOf returns the number of a value, giving it one at its first use.
func (h *History) numberOf(value string) int32 {
	if n, known := h.number[value]; known {
		return n
	}
	if h.number == nil {
		h.number = map[string]int32{}
	}
	n := int32(len(h.values))
	h.number[value] = n
	h.values = append(h.values, value)
	return n
}
