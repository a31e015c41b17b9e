package robustness

import "slices"

// Event is an executed operation. Its Key identifies the row in all transactions.
type Event struct {
	Operation
	// Start and End are when the statement was sent and answered, in nanoseconds of the run's
	// clock.
	Start, End int64
	// Rows are the keys of the rows that a condition selected, as far as the answer shows them.
	Rows []string
	// Condition are the columns that select rows, Fixed those with one value in all selected rows.
	Condition []string
	Fixed     map[string]string
	// Text is the statement without its values, and Answer the result of a read.
	Text, Answer string
}

// Execution is a committed transaction.
type Execution struct {
	Events []Event
	// CommitStart is a moment before COMMIT was sent, CommitEnd one after it was acknowledged.
	CommitStart, CommitEnd int64
}

// Witness names an anomaly that the times of two transactions prove: no order of the two
// explains them. It is empty if the times prove none. read and returned are the two events of
// first that cannot be in order with second.
//
// A read answered before the other's COMMIT was sent has not seen the other's writes. A
// statement sent after the other's COMMIT was acknowledged follows it, unless it is a plain read
// of an older snapshot.
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

func sameRow(a, b *Event) bool {
	switch {
	case a.Key == "":
		return b.Key != "" && slices.Contains(a.Rows, b.Key)
	case b.Key == "":
		return slices.Contains(b.Rows, a.Key)
	}
	return a.Key == b.Key
}

// unseen reports whether other wrote what a read reads, and the read certainly missed it.
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

// seenBy is a moment by which the data that a plain read sees was certainly fixed.
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

// behind reports whether an event of a transaction depends on the other transaction. anti is
// true if the other had read what the event then wrote.
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
