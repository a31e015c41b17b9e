package exchange

// readAhead reads the events of a source on another processor. Each goroutine reads one batch
// and ends, so an abandoned reader needs no Close.
type readAhead struct {
	source source
	tree   tree  // into which the source reads
	into   *tree // which has an event's forms until the next one
	now    *batch
	coming *batch
	read   chan struct{} // closed when coming is read; nil before the first
}

type batch struct {
	nodes  []node
	text   []byte
	events []placed
	given  int
	err    error
}

// placed is where an event begins, in the nodes of a batch and in the file.
type placed struct {
	first int
	at    place
}

// A batch ends with the event that reaches batchNodes or batchText. A batch with more nodes than
// largeBatch, such as a read of everything, does not keep its memory.
const (
	batchNodes = 1 << 14
	batchText  = 256 << 10
	largeBatch = 1 << 17
)

func newReadAhead(into *tree) *readAhead {
	return &readAhead{into: into, now: &batch{}, coming: &batch{}}
}

func (a *readAhead) next() (at place, err error) {
	if a.read == nil {
		a.begin()
	}
	if a.now.given == len(a.now.events) {
		if a.now.err != nil {
			return place{}, a.now.err
		}
		<-a.read
		a.now, a.coming = a.coming, a.now
		if a.now.err == nil {
			a.begin()
		}
		return a.next()
	}
	b, end := a.now, len(a.now.nodes)
	e := b.events[b.given]
	if b.given++; b.given < len(b.events) {
		end = b.events[b.given].first
	}
	a.into.nodes, a.into.text = b.nodes[e.first:end:end], b.text[:len(b.text):len(b.text)]
	if cap(b.nodes) > largeBatch && b.given == len(b.events) {
		b.nodes = nil
	}
	return e.at, nil
}

func (a *readAhead) begin() {
	read, b := make(chan struct{}), a.coming
	a.read = read
	a.tree.nodes, a.tree.text = b.nodes[:0], b.text[:0]
	b.events, b.given = b.events[:0], 0
	go func() {
		defer close(read)
		for len(a.tree.nodes) < batchNodes && len(a.tree.text) < batchText {
			e := placed{first: len(a.tree.nodes)}
			if e.at, b.err = a.source.next(); b.err != nil {
				a.tree.nodes = a.tree.nodes[:e.first]
				break
			}
			b.events = append(b.events, e)
		}
		b.nodes, b.text = a.tree.nodes, a.tree.text
	}()
}
