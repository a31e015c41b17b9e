package exchange

import (
	"fmt"
	"math"
)

type eventType uint8

const (
	invoked eventType = iota + 1
	acknowledged
	failed
	unsure // info: it may have happened, now or later
)

func (t eventType) String() string {
	switch t {
	case invoked:
		return "invoke"
	case acknowledged:
		return "ok"
	case failed:
		return "fail"
	default:
		return "info"
	}
}

// event is one event of a client, or of another process that is ignored.
type event struct {
	at          place
	client      bool
	kind        eventType
	process     int64
	function    Function // 0 if the event names none, and has no value that tells it
	word        string   // of a function that is not known, or of a transaction that is called otherwise
	value       int      // the node in the tree, or none
	index, time int64
	// position and link belong to a causal register; none for other events.
	position, link int
	key            int // of the field beside the value, or none
}

// none is a node that is absent, which means nil.
const none = -1

func (t *tree) event(at place) (event, error) {
	e := event{at: at, value: none, index: NoIndex, time: NoTime, position: none, link: none, key: none}
	var fields eventFields
	if err := t.fields(&e, &fields); err != nil {
		return e, err
	}
	bad := func(reason string) (event, error) { return e, e.bad("%s", reason) }
	process := fields[1]
	e.client, e.process = true, unnamed
	if process != 0 && !t.is(process, nilNode) {
		if word, ok := t.word(process); ok && word == "nemesis" {
			e.client = false
			return e, nil
		}
		if !t.is(process, intNode) || t.nodes[process].num < 0 {
			return bad("the process " + t.describe(process) + " is neither a whole number from 0 on nor nemesis")
		}
		e.process = t.nodes[process].num
	}
	if fields[0] == 0 {
		return bad("an operation without a type (invoke, ok, fail, info)")
	}
	if e.kind = t.eventType(fields[0]); e.kind == 0 {
		return bad("the type " + t.describe(fields[0]) + " is none of invoke, ok, fail, info")
	}
	if fields[2] == 0 || t.is(fields[2], nilNode) {
		if _, ok := t.microOps(fields[3]); ok {
			e.function = Transaction
		}
		return e, t.valueAndOrder(&e, &fields)
	}
	if e.function = t.function(fields[2]); e.function == 0 {
		word, _ := t.word(fields[2])
		if word == "" {
			return bad("the function " + t.describe(fields[2]) + " is no word")
		}
		e.function, e.word = Other, word
	}
	return e, t.valueAndOrder(&e, &fields)
}

// eventFields are the nodes of type, process, f, value, index, time, position, link and key.
type eventFields [9]int

func (t *tree) valueAndOrder(e *event, fields *eventFields) error {
	if fields[3] != 0 {
		e.value = fields[3]
	}
	if fields[6] != 0 {
		e.position = fields[6]
	}
	if fields[7] != 0 {
		e.link = fields[7]
	}
	if fields[8] != 0 && !t.is(fields[8], nilNode) {
		e.key = fields[8]
	}
	var ok bool
	if e.index, ok = t.counter(fields[4]); !ok {
		return e.bad("the index %s is not a whole number", t.describe(fields[4]))
	}
	if e.time, ok = t.counter(fields[5]); !ok {
		return e.bad("the time %s is not a whole number of nanoseconds", t.describe(fields[5]))
	}
	return nil
}

// errWithoutFunction is the error of an event without a function, outside a transaction.
func (e *event) errWithoutFunction() error {
	return e.bad("an operation without a function (f), whose value is not a list of operations such as [:r 1 nil]")
}

// fields finds the values of an event's fields; 0 for an absent field.
func (t *tree) fields(e *event, found *eventFields) error {
	if len(t.nodes) == 0 || !t.is(0, mapNode) {
		return e.bad("an operation that is not a map")
	}
	for key := 1; key < len(t.nodes); {
		value := t.after(key)
		place := -1
		if k := t.nodes[key].kind; k == keywordNode || k == stringNode {
			place = fieldPlace(t.bytes(key))
		}
		if place >= 0 {
			if found[place] != 0 {
				return e.bad("an operation that names %s twice", t.describe(key))
			}
			found[place] = value
		}
		key = t.after(value)
	}
	return nil
}

func fieldPlace(name []byte) int {
	switch string(name) {
	case "type":
		return 0
	case "process":
		return 1
	case "f":
		return 2
	case "value":
		return 3
	case "index":
		return 4
	case "time":
		return 5
	case "position":
		return 6
	case "link":
		return 7
	case "key":
		return 8
	}
	return -1
}

func (t *tree) eventType(at int) eventType {
	word, _ := t.word(at)
	return eventTypeOf(word)
}

func eventTypeOf(word string) eventType {
	switch word {
	case "invoke":
		return invoked
	case "ok":
		return acknowledged
	case "fail":
		return failed
	case "info":
		return unsure
	default:
		return 0
	}
}

func (t *tree) function(at int) Function {
	word, _ := t.word(at)
	return functionOf(word)
}

func functionOf(word string) Function {
	for f := Transaction; f <= Transfer; f++ {
		if word == f.String() {
			return f
		}
	}
	return 0
}

// counter returns an index or a time; -1 if the history does not give it.
func (t *tree) counter(at int) (int64, bool) {
	switch {
	case at == 0 || t.is(at, nilNode):
		return -1, true
	case !t.is(at, intNode):
		return 0, false
	}
	return min(max(t.nodes[at].num, -1), math.MaxInt64-1), true
}

func (e *event) bad(format string, args ...any) error {
	return &FormatError{Line: e.at.line, Column: e.at.column, Reason: fmt.Sprintf(format, args...)}
}
