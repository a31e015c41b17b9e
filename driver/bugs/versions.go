package bugs

import (
	"iter"
	"slices"
)

type change struct {
	place
	before, after image
	// adds are the columns that the transaction incremented.
	adds []string
	// middle is the row between two changes.
	middle image
	// blind is true if the row was put without being read, so that before is not known to anybody.
	blind bool
}

// seenRow is a row as transaction at left it; 0 if that is not remembered.
type seenRow struct {
	place
	at int64
}

type ended struct {
	// at is its number, or the last writer's if it only read.
	at      int64
	changes []change
	reads   []seenRow
	// known is the event in which its client came back, and so had its answer; 0 until then.
	known *uint64
}

func (e *ended) wrote(p place) *change {
	for i := range e.changes {
		if e.changes[i].place == p {
			return &e.changes[i]
		}
	}
	return nil
}

// saw is the version in which it read a row.
func (e *ended) saw(p place) (at int64, ok bool) {
	i := slices.IndexFunc(e.reads, func(r seenRow) bool { return r.place == p })
	if i < 0 {
		return 0, false
	}
	return e.reads[i].at, true
}

// versions has at least the last maxLog transactions.
type versions struct {
	// clock numbers the transactions that wrote something.
	clock   int64
	entries []ended
}

func (l *versions) add(e ended) {
	if len(l.entries) >= 2*maxLog {
		l.entries = slices.Clone(l.entries[maxLog:])
	}
	l.entries = append(l.entries, e)
}

// back yields the last transactions, the latest first.
func (l *versions) back() iter.Seq[*ended] {
	return func(yield func(*ended) bool) {
		for i := range slices.Backward(l.entries) {
			if !yield(&l.entries[i]) {
				return
			}
		}
	}
}

// last is the last transaction up to a number that changed a row, nil if none is remembered.
func (l *versions) last(p place, until int64) *ended {
	for e := range l.back() {
		if e.at <= until && e.wrote(p) != nil {
			return e
		}
	}
	return nil
}

// middle is the row within its last transaction, nil if that changed it once.
func (l *versions) middle(p place) image {
	if e := l.last(p, l.clock); e != nil {
		return e.wrote(p).middle
	}
	return nil
}

// traced reports whether no change of a row in that interval is blind.
func (l *versions) traced(p place, after, until int64) bool {
	for e := range l.back() {
		if c := e.wrote(p); c != nil && c.blind && e.at > after && e.at <= until {
			return false
		}
	}
	return true
}

// latest is the number of the last transaction that changed a row, or 0.
func (l *versions) latest(p place, until int64) int64 {
	if e := l.last(p, until); e != nil {
		return e.at
	}
	return 0
}

// since yields the later changes of a table's rows, the latest first.
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

// asOf is a row as transaction at left it, given its state now.
func (l *versions) asOf(p place, at int64, now image) image {
	for c := range l.since(at, p.table) {
		if c.place == p {
			now = c.before
		}
	}
	return now
}
