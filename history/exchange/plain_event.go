package exchange

import (
	"bytes"
	"slices"
)

// Events of long histories mostly have the same few fields, one event on a line. These
// are decoded on all processors, before the reader comes to them: a transaction over
// whole numbers of at most 18 digits without a tree, any other value into one. The form
// is narrow on purpose: whatever is not of it is left to
// the reader of the format, which alone describes what is malformed. Whether an
// event stands where the decoder found it (and not inside a string, a comment
// or another form) only the reader knows, which passes over those that do not.

// plainEvent is an event that was decoded ahead.
type plainEvent struct {
	start, end           int32 // in the chunk's text
	first, count         int32 // of the chunk's operations
	node, nodes          int32 // of the chunk's tree: the value; none of a transaction over whole numbers
	numbers              int   // of the chunk before it
	process, index, time int64
	word                 string // of a function that is not known
	kind                 eventType
	function             Function
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
	d := newPlainDecoder(c, edn)
	if len(c.text) > chunkSize { // the longest event there is is a read of everything
		c.numbers = make([]int64, 0, bytes.Count(c.text, []byte{d.separator}))
		c.ops = make([]plainOp, 0, bytes.Count(c.text, d.read)+bytes.Count(c.text, d.append))
	}
	for d.at < len(d.text) {
		switch b := d.text[d.at]; {
		case b == '\n', b == '\r', b == '[', b == '(', d.blank(b):
			d.at++
			continue
		case b == '{':
			var e plainEvent
			if d.event(&e) {
				c.events = append(c.events, e)
				continue
			}
			d.undo(&e)
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
	// general reads the values that are no transactions over whole numbers; nil in a chunk
	// that is longer than others.
	general *generalDecoder
	// separator is what mostly stands between two elements, opening what a word
	// begins with, read and append what operations mostly begin with, and null what
	// stands for nothing.
	separator, opening byte
	read, append, null []byte
	// shape is how the event before was written, which most others are as well, and
	// next has room for another.
	shape, next []shapePart
}

// shapePart is a field of an event, and all that is written between the value of the
// field before and its own.
type shapePart struct {
	before []byte
	field  int
}

func newPlainDecoder(c *chunk, edn bool) *plainDecoder {
	d := &plainDecoder{text: c.text, edn: edn, chunk: c}
	if len(c.text) <= chunkSize {
		d.general = newGeneralDecoder(c, edn)
	}
	if edn {
		d.separator, d.opening = ' ', ':'
		d.read, d.append, d.null = []byte("[:r "), []byte("[:append "), []byte("nil")
	} else {
		d.separator, d.opening = ',', '"'
		d.read, d.append, d.null = []byte(`["r",`), []byte(`["append",`), []byte("null")
	}
	return d
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

// literal consumes this text, if it is next.
func (d *plainDecoder) literal(text []byte) bool {
	if !bytes.HasPrefix(d.text[d.at:], text) {
		return false
	}
	d.at += len(text)
	return true
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
	if !d.is(d.opening) {
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
func (d *plainDecoder) nothing() bool { return d.literal(d.null) && d.ends() }

// event reads one event, from its opening brace on.
func (d *plainDecoder) event(e *plainEvent) bool {
	*e = plainEvent{start: int32(d.at), first: int32(len(d.chunk.ops)), node: int32(len(d.chunk.tree.nodes)), numbers: len(d.chunk.numbers), index: NoIndex, time: NoTime}
	if !d.ofShape(e) {
		d.undo(e)
		if !d.ofAnyShape(e) {
			return false
		}
	}
	e.end, e.count = int32(d.at), int32(len(d.chunk.ops))-e.first
	if e.process < 0 || e.nodes == 0 && (e.function != Transaction || e.word != "") {
		return false
	}
	// An invocation is kept longer than its chunk, and so are lists in it.
	return e.kind != invoked || !slices.ContainsFunc(d.chunk.ops[e.first:], func(op plainOp) bool { return op.kind == GetList })
}

// undo goes back to where an event begins.
func (d *plainDecoder) undo(e *plainEvent) {
	d.at = int(e.start)
	d.undoValue(e)
	*e = plainEvent{start: e.start, first: e.first, node: e.node, numbers: e.numbers, index: NoIndex, time: NoTime}
}

// undoValue forgets what was read of an event's value.
func (d *plainDecoder) undoValue(e *plainEvent) {
	d.chunk.ops, d.chunk.numbers = d.chunk.ops[:e.first], d.chunk.numbers[:e.numbers]
	d.chunk.tree.nodes = d.chunk.tree.nodes[:e.node]
}

// ofShape reads an event that is written as the one before.
func (d *plainDecoder) ofShape(e *plainEvent) bool {
	for i := range d.shape {
		if part := &d.shape[i]; !d.literal(part.before) || !d.value(part.field, e) {
			return false
		}
	}
	d.skipBlank()
	return len(d.shape) > 0 && d.is('}')
}

// ofAnyShape reads an event however it is written, and keeps how it is.
func (d *plainDecoder) ofAnyShape(e *plainEvent) bool {
	before, fields := d.at, 0
	d.next = d.next[:0]
	d.at++
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
		field := fieldOf(name)
		d.next = append(d.next, shapePart{d.text[before:d.at], field})
		if field == 0 || fields&field != 0 || !d.value(field, e) {
			return false
		}
		fields |= field
		before = d.at
	}
	if fields&neededFields != neededFields {
		return false
	}
	d.shape, d.next = d.next, d.shape
	return true
}

// fieldOf is the field of this name, 0 for what is not plain.
func fieldOf(name []byte) int {
	switch string(name) {
	case "type":
		return typeField
	case "process":
		return processField
	case "f":
		return functionField
	case "value":
		return valueField
	case "index":
		return indexField
	case "time":
		return timeField
	default:
		return 0
	}
}

// value reads the value of one field.
func (d *plainDecoder) value(field int, e *plainEvent) bool {
	switch field {
	case typeField:
		word, ok := d.word()
		e.kind = eventTypeOf(string(word))
		return ok && e.kind != 0
	case functionField:
		return d.function(e)
	case valueField:
		return d.anyValue(e)
	case processField:
		return d.number(&e.process)
	case indexField:
		ok := d.number(&e.index)
		e.index = max(e.index, NoIndex)
		return ok
	default:
		ok := d.number(&e.time)
		e.time = max(e.time, NoTime)
		return ok
	}
}

// plain returns the event that begins at the reader's place, if it was decoded
// ahead, and steps over it. line is where it begins. Without transactions, it is only one
// whose value is in the chunk's tree.
func (f *forms) plain(transactions bool) (e *plainEvent, line int) {
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
	if c.passed == len(c.events) || int(c.events[c.passed].start) != in.pos || !transactions && c.events[c.passed].nodes == 0 {
		return nil, 0
	}
	e = &c.events[c.passed]
	c.passed++
	in.pos = int(e.end)
	if e.end-e.start > chunkSize {
		in.forgetLong()
	}
	f.count++
	return e, in.line
}

// forgetLong gives up the text up to the reader's place, which is as long as what was
// decoded of it.
func (in *input) forgetLong() {
	c := in.chunk
	for i := c.passed; i < len(c.events); i++ {
		c.events[i].start -= int32(in.pos)
		c.events[i].end -= int32(in.pos)
	}
	in.base += int64(in.pos)
	in.buf = bytes.Clone(in.buf[in.pos:in.end])
	in.pos, in.end = 0, len(in.buf)
	c.text, in.chunks.used = in.buf, nil
}
