package robustness

import "slices"

// Event is an operation that was done. Its Key is the row's own, the same in all
// transactions.
type Event struct {
	Operation
	// Start and End are when its statement was sent and answered, in nanoseconds of the
	// run's clock.
	Start, End int64
	// Rows are the keys of rows that a condition has selected, as far as its answer has
	// them.
	Rows []string
	// Condition are the columns by which rows are selected, and Fixed those that have one
	// value in each row that is meant.
	Condition []string
	Fixed     map[string]string
	// Text is the statement without its values, and Answer what a read gave.
	Text, Answer string
}

// Execution is a transaction that committed.
type Execution struct {
	Events []Event
	// CommitStart is a moment before COMMIT was sent, and CommitEnd one after it was
	// acknowledged.
	CommitStart, CommitEnd int64
}

// Witness names an anomaly that two transactions have shown, by the times at which they did
// things: no order of the two explains it. It is empty if the times prove none. stale and
// over are the read and the write of the first by which they cannot be in order.
//
// A read that was answered before the other's COMMIT was sent has not seen what that wrote.
// A statement that was sent when the other's COMMIT was acknowledged comes behind it, but
// for a plain read of an older snapshot.
func Witness(first, second *Execution, level Level) (anomaly string, read, returned int) {
	for r := range first.Events {
		stale := &first.Events[r]
		if !stale.plain() || !unseen(first, stale, second, level) {
			continue
		}
		for to := range first.Events {
			back := &first.Events[to]
			if anti, is := behind(second, first, back, level); is && (to != r) {
				sameRow := back.Relation == stale.Relation && back.Key == stale.Key
				return nameOf(sameRow, stale.Key != "", &back.Operation, anti), r, to
			}
		}
	}
	return "", 0, 0
}

// sameRow reports whether two events are certainly on one row.
func sameRow(a, b *Event) bool {
	switch {
	case a.Key == "":
		return b.Key != "" && slices.Contains(a.Rows, b.Key)
	case b.Key == "":
		return slices.Contains(b.Rows, a.Key)
	}
	return a.Key == b.Key
}

// unseen reports whether a read of one transaction is of something that the other wrote
// and had not committed then.
func unseen(of *Execution, read *Event, other *Execution, level Level) bool {
	if seenBy(of, read, level) >= other.CommitStart {
		return false
	}
	for i := range other.Events {
		w := &other.Events[i]
		if w.Relation == read.Relation && sameRow(w, read) && meet(read.Reads, w.Writes) {
			return true
		}
	}
	return false
}

// seenBy is a moment at which what a plain read sees was certainly fixed.
func seenBy(of *Execution, read *Event, level Level) int64 {
	if level == FixedReads || level == Snapshot {
		for i := range of.Events {
			if of.Events[i].plain() {
				return of.Events[i].End
			}
		}
	}
	return read.End
}

// behind reports whether an event of a transaction depends on the other; anti is whether
// that had read what the event then wrote.
func behind(other, of *Execution, event *Event, level Level) (anti, is bool) {
	for i := range other.Events {
		o := &other.Events[i]
		if o.Relation != event.Relation || !sameRow(o, event) {
			continue
		}
		if o.plain() && meet(o.Reads, event.Writes) && seenBy(other, o, level) < of.CommitStart {
			return true, true
		}
		later := event.Start > other.CommitEnd
		seen := meet(o.Writes, event.Reads) && (event.Locks || level == ReadCommitted)
		if later && (meet(o.Writes, event.Writes) || seen) {
			return false, true
		}
	}
	return false, false
}
