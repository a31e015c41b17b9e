package mem

import (
	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

// rowsBug is one way of breaking a promise in workload availability. Of its
// functions the one of the call that it is in is set.
type rowsBug struct {
	Bug
	// insert is done instead of an insert that would be acknowledged.
	insert func(d *Rows, row availability.Row) availability.Reply
	// get changes the answer to a read that found its row.
	get func(d *Rows, honest availability.Reply) availability.Reply
	// cut decides how many of n rows a Read gives.
	cut func(d *Rows, n int) int
}

// AvailabilityBugs returns all that can be switched on in workload
// availability.
func AvailabilityBugs() []Bug {
	var bugs []Bug
	for _, b := range rowsBugs() {
		bugs = append(bugs, b.Bug)
	}
	return bugs
}

const (
	checkAcknowledged = availability.CheckAcknowledged
	checkRows         = availability.CheckRows
	checkReads        = availability.CheckReads
)

func rowsBugs() []rowsBug {
	return []rowsBug{
		{Bug: Bug{Name: "lost-ack", Check: checkAcknowledged, Kinds: []string{"lost"},
			Doc: "an acknowledged row is there for up to eight more calls, and then lost"}, insert: loseRow},
		{Bug: Bug{Name: "reported-never-applied", Check: checkAcknowledged, Kinds: []string{"lost"},
			Doc: "an insert is acknowledged and nothing is written"}, insert: func(*Rows, availability.Row) availability.Reply {
			return availability.Reply{Reply: workload.Reply{Outcome: history.Committed}}
		}},
		{Bug: Bug{Name: "duplicate-apply", Check: checkRows, Kinds: []string{"doubled"},
			Doc: "a row is inserted twice under one key"}, insert: insertTwice},
		{Bug: Bug{Name: "altered-row", Check: checkRows, Kinds: []string{"altered"},
			Doc: "a row has another value than was inserted (found by reads as well, if it is read)"}, insert: insertAltered},
		{Bug: Bug{Name: "extra-row", Check: checkRows, Kinds: []string{"foreign"},
			Doc: "a row that nobody inserted is there beside"}, insert: insertExtra},
		{Bug: Bug{Name: "failed-but-applied", Check: checkRows, Kinds: []string{"failed"},
			Doc: "a row is inserted, and failed is answered"}, insert: insertFailed},
		{Bug: Bug{Name: "stale-read", Check: checkReads, Kinds: []string{"stale"},
			Doc: "a read does not find a row that is there and was acknowledged"}, get: missRow},
		{Bug: Bug{Name: "altered-read", Check: checkReads, Kinds: []string{"altered", "other row"},
			Doc: "a read returns another value, or another row, than the one asked for"}, get: mistakeRow},
		{Bug: Bug{Name: "truncated-read", Check: checkAcknowledged, Kinds: []string{"lost"},
			Doc: "a read of everything ends early and without an error"}, cut: func(d *Rows, n int) int { return d.chance.IntN(max(n, 1)) }},
		{Bug: Bug{Name: "late-apply",
			Doc: "unknown is answered and the row inserted up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"}, insert: insertLate},
	}
}

func loseRow(d *Rows, row availability.Row) availability.Reply {
	d.add(row)
	d.doomed = append(d.doomed, lateRow{row, d.calls + 1 + d.chance.Uint64N(maxLoss)})
	return availability.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

func insertTwice(d *Rows, row availability.Row) availability.Reply {
	d.add(row)
	d.add(row)
	return availability.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

func insertAltered(d *Rows, row availability.Row) availability.Reply {
	row.Value ^= 1 << d.chance.IntN(63)
	d.add(row)
	return availability.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

// insertExtra adds a row of a client that no run has.
func insertExtra(d *Rows, row availability.Row) availability.Reply {
	d.add(row)
	key, _ := availability.Key(availability.MaxClient, d.calls, 1)
	d.add(availability.Row{Key: key, Value: row.Value})
	return availability.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

func insertFailed(d *Rows, row availability.Row) availability.Reply {
	d.add(row)
	return availability.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassSerialization}}
}

func insertLate(d *Rows, row availability.Row) availability.Reply {
	d.late = append(d.late, lateRow{row, d.calls + 1 + d.chance.Uint64N(maxLate)})
	return availability.Reply{Reply: workload.Reply{Class: workload.ClassTimeout}}
}

func missRow(*Rows, availability.Reply) availability.Reply {
	return availability.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

// mistakeRow changes the value or, if there is another row, returns that.
func mistakeRow(d *Rows, honest availability.Reply) availability.Reply {
	other := d.rows[d.chance.IntN(len(d.rows))]
	if other.Key == honest.Row.Key {
		honest.Row.Value++
		return honest
	}
	honest.Row = other
	return honest
}
