package register

import (
	"fmt"
	"math"

	"assay/history"
)

// Kind is the kind of an operation.
type Kind uint8

const (
	// Read read the register and saw Value.
	Read Kind = iota + 1
	// Write set the register to Value.
	Write
	// CompareAndSet set the register to Value if it held From, and is Failed if it did not.
	CompareAndSet
)

// Nil is the value of a register before its first write, unless Options says otherwise.
const Nil = "nil"

// NoTime is an unknown time.
const NoTime = -1

// Op is one operation, as its client saw it.
type Op struct {
	// ID identifies the operation to the reader of a report.
	ID      int64
	Process int64
	Kind    Kind
	// Key names the register. The empty name is valid.
	Key string
	// Value and From are values as shown. Two values are equal exactly if their texts are. Value
	// of a read counts only if the read is committed.
	Value, From string
	// Invoke and Complete are moments of one clock, in any unit. One operation precedes another
	// if it completed strictly before the other was invoked. Complete counts only for a committed
	// operation.
	Invoke, Complete int64
	// InvokeTime and CompleteTime are nanoseconds since the beginning, or NoTime; only shown.
	InvokeTime, CompleteTime int64
	// Outcome says whether the operation took effect. If unknown, it may take effect at any time
	// after its invocation, or never.
	Outcome history.Outcome
}

// InputError says why an operation cannot be judged.
type InputError struct {
	ID     int64
	Reason string
}

func (e *InputError) Error() string { return fmt.Sprintf("register: operation %d: %s", e.ID, e.Reason) }

// never is the completion of an operation that may still take effect.
const never = math.MaxInt64

type op struct {
	id, process              int64
	invoke, complete         int64
	invokeTime, completeTime int64
	value, from              int32 // numbers of values
	kind                     Kind
	outcome                  history.Outcome
	// seen is true for an unknown outcome whose effect others saw before complete.
	seen bool
	// pending is true if the operation is judged as before its completion.
	pending bool
}

// certain reports whether the operation certainly took effect.
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

type keyed struct {
	name string
	ops  []op
}

// History is a history of registers. It takes 72 bytes an operation, and the names of keys and
// values. The zero value is ready. It is not safe for concurrent use.
type History struct {
	keys   []keyed
	byName map[string]int
	values []string
	number map[string]int32
	counts counts
}

type counts struct {
	ops, reads, writes, sets, unknown, failed int
	// observed counts the committed reads and compare-and-sets: without one, no effect of any
	// write is known.
	observed int
}

// Add appends one operation. If o is not well-formed it returns an *InputError and adds nothing.
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
