package bugs

import (
	"iter"
	"slices"
)

// change is what one transaction has done to one row.
type change struct {
	place
	// before and after are the row; nil if there was none.
	before, after image
	// adds are the columns that it added to.
	adds []string
	// middle is the row as it was in between, if it was changed twice.
	middle image
	// blind is true if nobody can tell what was there before: the row was put and not read.
	blind bool
}

// seenRow is a row as it was read: as the transaction of this number left it; 0 if that is
// not remembered.
type seenRow struct {
	place
	at int64
}

// ended is what one transaction read and wrote.
type ended struct {
	// at is its number, or that of the last one before it if it only read.
	at      int64
	changes []change
	reads   []seenRow
	// known is the event with which its client came back, and so had its answer; 0
	// until then.
	known *uint64
}

// wrote is what the transaction did to a row, nil if nothing.
func (e *ended) wrote(p place) *change {
	for i := range e.changes {
		if e.changes[i].place == p {
			return &e.changes[i]
		}
	}
	return nil
}

// saw is what it read of a row.
func (e *ended) saw(p place) (at int64, ok bool) {
	i := slices.IndexFunc(e.reads, func(r seenRow) bool { return r.place == p })
	if i < 0 {
		return 0, false
	}
	return e.reads[i].at, true
}

// versions are the last transactions, at least maxLog of them if there were as many.
type versions struct {
	// clock numbers those that wrote something.
	clock   int64
	entries []ended
}

func (l *versions) add(e ended) {
	if len(l.entries) >= 2*maxLog {
		l.entries = slices.Clone(l.entries[maxLog:])
	}
	l.entries = append(l.entries, e)
}

// back gives the last transactions, the latest first.
func (l *versions) back() iter.Seq[*ended] {
	return func(yield func(*ended) bool) {
		for i := range slices.Backward(l.entries) {
			if !yield(&l.entries[i]) {
				return
			}
		}
	}
}

// last is the last transaction, of those up to a number, that changed a row; nil if there is
// none that is remembered.
func (l *versions) last(p place, until int64) *ended {
	for e := range l.back() {
		if e.at <= until && e.wrote(p) != nil {
			return e
		}
	}
	return nil
}

// middle is a row in the middle of the last transaction that changed it; nil if that changed it
// once.
func (l *versions) middle(p place) image {
	if e := l.last(p, l.clock); e != nil {
		return e.wrote(p).middle
	}
	return nil
}

// traced says that of each change of a row after one transaction and up to another it shows
// what was there before.
func (l *versions) traced(p place, after, until int64) bool {
	for e := range l.back() {
		if c := e.wrote(p); c != nil && c.blind && e.at > after && e.at <= until {
			return false
		}
	}
	return true
}

// latest is the number of the last transaction that changed a row; 0 of none.
func (l *versions) latest(p place, until int64) int64 {
	if e := l.last(p, until); e != nil {
		return e.at
	}
	return 0
}

// since gives what the transactions after one did to rows of a table, the latest first.
func (l *versions) since(at int64, table string) iter.Seq[*change] {
	return func(yield func(*change) bool) {
		for e := range l.back() {
			if e.at <= at {
				return
			}
			for i := range e.changes {
				if e.changes[i].table == table && !yield(&e.changes[i]) {
					return
				}
			}
		}
	}
}

// asOf is a row as it was after a transaction, if it is now so.
func (l *versions) asOf(p place, at int64, now image) image {
	for c := range l.since(at, p.table) {
		if c.place == p {
			now = c.before
		}
	}
	return now
}
