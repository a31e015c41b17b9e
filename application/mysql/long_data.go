package mysql

import (
	"encoding/binary"
	"hash"
	"strconv"

	"assay/application/wire"
)

// long is a parameter that was sent before the statement's execution, in pieces (MySQL 8.4 source
// documentation, "COM_STMT_SEND_LONG_DATA").
type long struct {
	head []byte
	all  hash.Hash64
	size int
	// partial is true if a piece was larger than what assay keeps of one.
	partial bool
}

// longHead is how much of a long parameter is kept.
const longHead = 1 << 10

// add is a piece, of which size bytes come.
func (l *long) add(piece []byte, size int) {
	l.partial = l.partial || len(piece) < size
	l.head = append(l.head, piece[:min(len(piece), longHead-len(l.head))]...)
	l.size += size
	_, _ = l.all.Write(piece)
}

// String is the value as others are kept.
func (l *long) String() string {
	if l.size == len(l.head) {
		return wire.Text(l.head)
	}
	return wire.Beginning(string(l.head), strconv.Itoa(l.size), l.all.Sum64())
}

// keepLong keeps a piece, of which size bytes come, for the statement's next execution.
func (t *talk) keepLong(b []byte, size int) {
	if len(b) < longStart {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	of, at := t.known(binary.LittleEndian.Uint32(b[1:])), binary.LittleEndian.Uint16(b[5:])
	if of == nil {
		return
	}
	if at >= wire.MaxValues {
		of.unseen = true
		return
	}
	if of.long == nil {
		of.long = map[uint16]*long{}
	}
	if of.long[at] == nil {
		of.long[at] = &long{all: wire.NewSum()}
	}
	of.long[at].add(b[longStart:], size-longStart)
}

// longStart is where a piece begins, behind the numbers of the statement and the parameter.
const longStart = 7

// known is a statement by its number; nil of one that is not. t.mu is held.
func (t *talk) known(id uint32) *prepared {
	if id == lastPrepared {
		return t.last
	}
	return t.prepared[id]
}

// forgets takes back what was sent for a statement before its execution.
func (t *talk) forgets(b []byte) {
	if len(b) < 5 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.known(binary.LittleEndian.Uint32(b[1:])); of != nil {
		of.long, of.unseen = nil, false
	}
}
