package exchange

import (
	"bytes"
	"io"
	"slices"
)

const (
	// chunkSize is how much of a file is decoded by one goroutine. The first chunk
	// is smaller, each further one twice as large, so that short histories take
	// little memory.
	chunkSize      = 256 << 10
	firstChunkSize = 16 << 10
	// chunksAhead is how many are read and decoded while another is used: one
	// for each of a few processors, and no more, since they are the memory that
	// reading takes.
	chunksAhead = 3
)

// maxEventSize is up to which size a chunk grows until an event ends in it. Such a
// chunk is given longEventSize, and then all of it: what of that is not written to
// takes no memory.
const (
	longEventSize = 2 << 20
	maxEventSize  = 32 << 20
)

// chunk is a piece of a file, and the events of it that were decoded ahead. It
// begins where the one before ended, which is behind a line or else a map if one
// ends in it.
type chunk struct {
	text []byte
	err  error // why nothing follows, io.EOF included

	events  []plainEvent // in their order
	ops     []plainOp    // of the events
	numbers []int64      // of the lists that the operations read
	tree    tree         // of the other values, one behind the other
	words   []string     // functions
	passed  int          // events that the reader has passed

	read, decoded chan struct{}
}

// chunks reads a file ahead and decodes it on several processors. Each goroutine ends
// by itself once it has one chunk, so that nothing has to be closed: after an
// error of the file, or if nobody asks for more, at most chunksAhead are read.
type chunks struct {
	src    io.Reader
	edn    bool
	ahead  []*chunk // in the order of the file
	spare  []*chunk
	used   *chunk        // what next returned
	turn   chan struct{} // closed when the chunk read last is in
	behind []byte        // what was read behind the last line's end
	size   int           // of the next chunk
	err    error
}

// newChunks begins to read.
func newChunks(src io.Reader, edn bool) *chunks {
	begun := make(chan struct{})
	close(begun)
	c := &chunks{src: src, edn: edn, turn: begun, size: firstChunkSize}
	c.begin()
	return c
}

// begin reads one more chunk, when the one before it is read.
func (c *chunks) begin() {
	next := &chunk{}
	if n := len(c.spare); n > 0 {
		next, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	before := c.turn
	next.read, next.decoded = make(chan struct{}), make(chan struct{})
	c.turn = next.read
	c.ahead = append(c.ahead, next)
	go func() {
		defer close(next.decoded)
		<-before
		c.fill(next)
		close(next.read)
		next.decode(c.edn)
	}()
}

// next returns the next chunk, which is valid until the next call. It is not
// called after a chunk with an error.
func (c *chunks) next() *chunk {
	if c.used != nil && cap(c.used.text) < longEventSize {
		c.spare = append(c.spare, c.used)
	}
	c.used = c.ahead[0]
	c.ahead = append(c.ahead[:0], c.ahead[1:]...)
	<-c.used.decoded
	for c.used.err == nil && len(c.ahead) < chunksAhead {
		c.begin()
	}
	return c.used
}

// fill reads a chunk up to the end of its last event, or to its end if none ends
// in it.
func (c *chunks) fill(into *chunk) {
	size := c.size
	c.size = min(2*size, chunkSize)
	into.tree.reset()
	into.passed, into.events, into.ops, into.numbers = 0, into.events[:0], into.ops[:0], into.numbers[:0]
	text := append(into.text[:0], c.behind...)
	c.behind = c.behind[:0]
	for end := 0; c.err == nil && end == 0; size = len(text) + chunkSize {
		size = max(size, len(text)+1)
		if size <= chunkSize {
			text = slices.Grow(text, size-len(text))
		} else if cap(text) < size {
			room := longEventSize
			if size > room {
				room = max(size, maxEventSize)
			}
			text = append(make([]byte, 0, room), text...)
		}
		begin := len(text)
		text, c.err = readUpTo(c.src, text, size)
		if end = lastEvent(text[begin:]); end == 0 && size < maxEventSize {
			continue
		}
		if end > 0 && c.err == nil {
			c.behind = append(c.behind, text[begin+end:]...)
			text = text[:begin+end]
		}
		break
	}
	into.text, into.err = text, c.err
}

// readUpTo reads behind text until it is so long.
func readUpTo(src io.Reader, text []byte, size int) ([]byte, error) {
	for idle := 0; len(text) < size; {
		n, err := src.Read(text[len(text):size])
		text = text[:len(text)+n]
		if err != nil {
			return text, err
		}
		if idle++; n > 0 {
			idle = 0
		} else if idle == maxIdleReads {
			return text, io.ErrNoProgress
		}
	}
	return text, nil
}

// lastEvent is where a text ends that holds whole events, 0 if it seems to hold
// none: behind its last line, or else its last map.
func lastEvent(text []byte) int {
	if end := bytes.LastIndexByte(text, '\n') + 1; end > 0 {
		return end
	}
	return bytes.LastIndexByte(text, '}') + 1
}
