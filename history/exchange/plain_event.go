package exchange

import (
	"bytes"
	"slices"
)

// Most events of long histories are those of transactions over whole numbers, one on a
// line. These are decoded without a tree, on all processors, before the reader
// comes to them. The form is narrow on purpose: whatever is not of it is left to
// the reader of the format, which alone describes what is malformed. Whether an
// event stands where the decoder found it (and not inside a string, a comment
// or another form) only the reader knows, which passes over those that do not.

// plainEvent is an event of a transaction, each of whose keys and values is a
// whole number of at most 18 digits.
type plainEvent struct {
	start, end           int32 // in the chunk's text
	first, count         int32 // of the chunk's operations
	process, index, time int64
	kind                 eventType
}

// plainOp is one operation of a transaction.
type plainOp struct {
	key, value int64
	list, size int32 // of the chunk's numbers, of a GetList
	kind       MicroKind
}

// The fields of an event, each of which it has at most once.
const (
	typeField = 1 << iota
	processField
	functionField
	valueField
	indexField
	timeField
	// neededFields are those that every event has.
	neededFields = typeField | processField | functionField | valueField
)

// decode finds the plain events of a chunk.
func (c *chunk) decode(edn bool) {
	d := plainDecoder{text: c.text, edn: edn, chunk: c}
	for d.at < len(d.text) {
		switch b := d.text[d.at]; {
		case b == '\n', b == '\r', b == '[', b == '(', d.blank(b):
			d.at++
			continue
		case b == '{':
			start := d.at
			ops, numbers := len(c.ops), len(c.numbers)
			var e plainEvent
			if d.event(&e) {
				e.start, e.end, e.first, e.count = int32(start), int32(d.at), int32(ops), int32(len(c.ops)-ops)
				c.events = append(c.events, e)
				continue
			}
			c.ops, c.numbers = c.ops[:ops], c.numbers[:numbers]
		}
		d.nextLine()
	}
}

// plainDecoder reads plain events. Its methods return false at anything else.
type plainDecoder struct {
	text  []byte
	at    int
	edn   bool
	chunk *chunk
}

func (d *plainDecoder) nextLine() {
	if n := bytes.IndexByte(d.text[d.at:], '\n'); n >= 0 {
		d.at += n
	} else {
		d.at = len(d.text)
	}
}

func (d *plainDecoder) blank(b byte) bool { return b == ' ' || b == '\t' || b == ',' && d.edn }

func (d *plainDecoder) skipBlank() {
	for d.at < len(d.text) && d.blank(d.text[d.at]) {
		d.at++
	}
}

// is consumes b, if it is next.
func (d *plainDecoder) is(b byte) bool {
	if d.at < len(d.text) && d.text[d.at] == b {
		d.at++
		return true
	}
	return false
}

// more goes to the next element of a sequence. ok is false if there is neither one
// nor the end.
func (d *plainDecoder) more(closing byte, first bool) (more, ok bool) {
	d.skipBlank()
	if d.is(closing) {
		return false, true
	}
	if !d.edn && !first {
		if !d.is(',') {
			return false, false
		}
		d.skipBlank()
	}
	return true, d.at < len(d.text)
}

// separate goes to the next of several elements that must be there.
func (d *plainDecoder) separate() bool {
	more, ok := d.more(0, false)
	return more && ok
}

// word reads a keyword, of JSON a string, of small letters.
func (d *plainDecoder) word() ([]byte, bool) {
	opening := byte('"')
	if d.edn {
		opening = ':'
	}
	if !d.is(opening) {
		return nil, false
	}
	start := d.at
	for d.at < len(d.text) && 'a' <= d.text[d.at] && d.text[d.at] <= 'z' {
		d.at++
	}
	word := d.text[start:d.at]
	if d.edn {
		return word, d.ends()
	}
	return word, d.is('"')
}

// ends reports whether a word or a number ends here.
func (d *plainDecoder) ends() bool {
	if d.at == len(d.text) {
		return false
	}
	switch d.text[d.at] {
	case ' ', ',', ']', '}':
		return true
	}
	return false
}

// nothing reads nil, of JSON null.
func (d *plainDecoder) nothing() bool {
	word := "null"
	if d.edn {
		word = "nil"
	}
	if len(d.text)-d.at < len(word) || string(d.text[d.at:d.at+len(word)]) != word {
		return false
	}
	d.at += len(word)
	return d.ends()
}

// event reads one event, from its opening brace on.
func (d *plainDecoder) event(e *plainEvent) bool {
	d.at++
	e.index, e.time = NoIndex, NoTime
	fields := 0
	for first := true; ; first = false {
		more, ok := d.more('}', first)
		if !ok {
			return false
		}
		if !more {
			break
		}
		name, ok := d.word()
		if d.skipBlank(); !ok || !d.edn && !d.is(':') {
			return false
		}
		d.skipBlank()
		field := d.field(name, e)
		if field == 0 || fields&field != 0 {
			return false
		}
		fields |= field
	}
	if fields&neededFields != neededFields || e.process < 0 {
		return false
	}
	// An invocation is kept longer than its chunk, and so are lists in it.
	return e.kind != invoked || !slices.ContainsFunc(d.chunk.ops[e.first:], func(op plainOp) bool { return op.kind == GetList })
}

// field reads the value of one field and returns which it was, 0 for what is
// not plain.
func (d *plainDecoder) field(name []byte, e *plainEvent) int {
	switch string(name) {
	case "type":
		word, ok := d.word()
		if !ok {
			return 0
		}
		for e.kind = invoked; e.kind <= unsure; e.kind++ {
			if string(word) == e.kind.String() {
				return typeField
			}
		}
	case "process":
		if d.number(&e.process) {
			return processField
		}
	case "f":
		if word, ok := d.word(); ok && string(word) == "txn" {
			return functionField
		}
	case "value":
		e.first = int32(len(d.chunk.ops))
		if d.transaction() {
			return valueField
		}
	case "index":
		if d.number(&e.index) {
			e.index = max(e.index, NoIndex)
			return indexField
		}
	case "time":
		if d.number(&e.time) {
			e.time = max(e.time, NoTime)
			return timeField
		}
	}
	return 0
}

// transaction reads a list of operations.
func (d *plainDecoder) transaction() bool {
	if !d.is('[') {
		return false
	}
	for first := true; ; first = false {
		more, ok := d.more(']', first)
		if !ok || !more {
			return ok
		}
		d.chunk.ops = append(d.chunk.ops, plainOp{})
		if !d.operation(&d.chunk.ops[len(d.chunk.ops)-1]) {
			return false
		}
	}
}

// operation reads one operation of a transaction, such as [:r 8 [1 2]].
func (d *plainDecoder) operation(op *plainOp) bool {
	if !d.is('[') {
		return false
	}
	d.skipBlank()
	word, ok := d.word()
	if !ok || !d.separate() || !d.number(&op.key) || !d.separate() {
		return false
	}
	switch string(word) {
	case "append":
		op.kind = Append
		ok = d.number(&op.value)
	case "w":
		op.kind = Put
		ok = d.number(&op.value)
	case "r":
		ok = d.result(op)
	default:
		return false
	}
	d.skipBlank()
	return ok && d.is(']')
}

// result reads what a read saw.
func (d *plainDecoder) result(op *plainOp) bool {
	switch d.text[d.at] {
	case '[':
		op.kind = GetList
		return d.list(op)
	case 'n':
		op.kind = GetNothing
		return d.nothing()
	default:
		op.kind = GetValue
		return d.number(&op.value)
	}
}

func (d *plainDecoder) list(op *plainOp) bool {
	d.at++
	numbers := d.chunk.numbers
	begin := len(numbers)
	for first := true; ; first = false {
		more, ok := d.more(']', first)
		if !ok || !more {
			op.list, op.size = int32(begin), int32(len(numbers)-begin)
			d.chunk.numbers = numbers
			return ok
		}
		var v int64
		if !d.number(&v) {
			return false
		}
		numbers = append(numbers, v)
	}
}

// plain returns the event that begins at the reader's place, if it was decoded
// ahead, and steps over it. line is where it begins.
func (f *forms) plain() (e *plainEvent, line int) {
	in := f.in
	if in.chunks == nil || !f.begun || f.closing != 0 && f.commas {
		return nil, 0
	}
	for {
		for in.pos < in.end {
			c := in.buf[in.pos]
			if c != ' ' && c != '\t' && c != '\n' && c != '\r' && (c != ',' || f.commas) {
				break
			}
			in.skip()
		}
		if in.pos < in.end {
			break
		}
		if !in.fill() {
			return nil, 0
		}
	}
	c := in.chunk
	if c == nil {
		return nil, 0
	}
	for c.passed < len(c.events) && int(c.events[c.passed].start) < in.pos {
		c.passed++
	}
	if c.passed == len(c.events) || int(c.events[c.passed].start) != in.pos {
		return nil, 0
	}
	e = &c.events[c.passed]
	c.passed++
	in.pos = int(e.end)
	f.count++
	return e, in.line
}

// plainTransaction puts the operations of a plain event into op.
func (t *tree) plainTransaction(e *event, op *Operation) {
	op.Txn = slices.Grow(op.Txn, int(e.plain.count))
	for _, p := range e.chunk.ops[e.plain.first : e.plain.first+e.plain.count] {
		m := op.grow()
		m.Kind, m.Key = p.kind, Int64(p.key)
		switch p.kind {
		case Append, Put, GetValue:
			m.Value = Int64(p.value)
		case GetList:
			numbers := e.chunk.numbers[p.list : p.list+p.size : p.list+p.size]
			if t.compact {
				m.Numbers = numbers
				continue
			}
			for _, v := range numbers {
				m.List = append(m.List, Int64(v))
			}
		}
	}
}
