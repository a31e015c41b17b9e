package exchange

import (
	"bytes"
	"io"
)

// generalDecoder reads values of any form into the tree of a chunk, as the reader of the
// format reads them.
type generalDecoder struct {
	in     input
	tree   *tree
	syntax syntax
}

func newGeneralDecoder(c *chunk, edn bool) *generalDecoder {
	g := &generalDecoder{in: input{buf: c.text, err: io.EOF}, tree: &c.tree}
	if edn {
		g.syntax = &ednReader{in: &g.in, tree: g.tree}
	} else {
		g.syntax = &jsonReader{in: &g.in, tree: g.tree}
	}
	return g
}

// value reads the value at a place in the chunk's text, and returns where it ends; ok is
// false if that is malformed, or does not end in its line.
func (g *generalDecoder) value(at int) (end int, ok bool) {
	g.in.pos, g.in.end = at, len(g.in.buf)
	if line := bytes.IndexByte(g.in.buf[at:], '\n'); line >= 0 {
		g.in.end = at + line
	}
	err := g.syntax.value(1)
	return g.in.pos, err == nil
}

// anyValue reads the value of an event: a transaction over whole numbers, if it can be one,
// or else one of any form.
func (d *plainDecoder) anyValue(e *plainEvent) bool {
	at := d.at
	if e.function == 0 || e.function == Transaction {
		if d.transaction() {
			return true
		}
		d.at = at
		d.undoValue(e)
	}
	if d.general == nil {
		return false
	}
	end, ok := d.general.value(at)
	d.at = end
	e.nodes = int32(len(d.chunk.tree.nodes)) - e.node
	return ok
}

// function reads what was done.
func (d *plainDecoder) function(e *plainEvent) bool {
	if !d.is(d.opening) {
		return false
	}
	start := d.at
	for d.at < len(d.text) && ('a' <= d.text[d.at] && d.text[d.at] <= 'z' || d.text[d.at] == '-' && d.at > start) {
		d.at++
	}
	word := d.text[start:d.at]
	if len(word) == 0 || d.edn && !d.ends() || !d.edn && !d.is('"') {
		return false
	}
	if e.function = functionOf(string(word)); e.function == 0 {
		e.function, e.word = Other, d.chunk.word(word)
	}
	return true
}

// word returns the text of a function's name, of which a history has few.
func (c *chunk) word(text []byte) string {
	const most = 16
	for _, known := range c.words {
		if string(text) == known {
			return known
		}
	}
	word := string(text)
	if len(c.words) < most {
		c.words = append(c.words, word)
	}
	return word
}

// decoded takes the next event if it was decoded ahead.
func (r *Reader) decoded(e *event) bool {
	if r.forms == nil || r.reading == undecided || len(r.held) > 0 {
		return false
	}
	p, line := r.forms.plain(r.reading == ofKnownForm)
	if p == nil {
		return false
	}
	*e = event{
		line: line, client: true, kind: p.kind, process: p.process, function: p.function, word: p.word, index: p.index, time: p.time,
		value: none, position: none, link: none, key: none,
	}
	if c := r.forms.in.chunk; p.nodes == 0 {
		e.plain, e.chunk = p, c
	} else {
		r.tree.lend(c.tree.nodes[p.node:p.node+p.nodes], c.tree.text)
		e.value = 0
	}
	return true
}
