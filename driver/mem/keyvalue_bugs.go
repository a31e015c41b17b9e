package mem

import (
	"slices"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/keyvalue"
)

// keyValueBug is one way of breaking a promise. Of its actions the one of the
// call that it is in is set.
type keyValueBug struct {
	Bug
	// insert is done instead of an insert that would be acknowledged.
	insert func(d *Records, record keyvalue.Record) workload.Reply
	// get changes the record that a read found.
	get func(d *Records, record keyvalue.Record) (other keyvalue.Record, found bool)
	// truncate has a Read end early.
	truncate bool
}

// KeyValueBugs returns all that can be switched on in the workload of a table.
func KeyValueBugs(table keyvalue.Table) []Bug {
	var bugs []Bug
	for _, b := range keyValueBugs(table) {
		bugs = append(bugs, b.Bug)
	}
	return bugs
}

func keyValueBugs(table keyvalue.Table) []keyValueBug {
	const acknowledged, rows, reads = keyvalue.CheckAcknowledged, keyvalue.CheckRows, keyvalue.CheckReads
	altered := []keyValueBug{
		{Bug: Bug{Name: "altered-field", Check: acknowledged, Kinds: []string{"altered"},
			Doc: "one of the fields is written otherwise than was asked (found in all checks that see it)"}, insert: insertAltered},
		{Bug: Bug{Name: "altered-read", Check: reads, Kinds: []string{"altered"},
			Doc: "a read returns a field otherwise than it was written"}, get: getAltered},
		{Bug: Bug{Name: "swapped-read", Check: reads, Kinds: []string{"altered"},
			Doc: "a read returns another record than the one asked for"}, get: getOther},
	}
	if table.Workload == availability.Table().Workload {
		altered = []keyValueBug{
			{Bug: Bug{Name: "altered-row", Check: rows, Kinds: []string{"altered"},
				Doc: "a row has another value than was inserted (found by reads as well, if it is read)"}, insert: insertAltered},
			{Bug: Bug{Name: "altered-read", Check: reads, Kinds: []string{"altered", "other row"},
				Doc: "a read returns another value, or another row, than the one asked for"}, get: getOther},
		}
	}
	return append([]keyValueBug{
		{Bug: Bug{Name: "lost-ack", Check: acknowledged, Kinds: []string{"lost"},
			Doc: "an acknowledged record is there for up to eight more calls, and then lost"}, insert: insertLost},
		{Bug: Bug{Name: "reported-never-applied", Check: acknowledged, Kinds: []string{"lost"},
			Doc: "an insert is acknowledged and nothing is written"}, insert: func(*Records, keyvalue.Record) workload.Reply {
			return workload.Reply{Outcome: history.Committed}
		}},
		{Bug: Bug{Name: "duplicate-apply", Check: rows, Kinds: []string{"doubled"},
			Doc: "a record is inserted twice under one key"}, insert: insertTwice},
		{Bug: Bug{Name: "extra-row", Check: rows, Kinds: []string{"foreign"},
			Doc: "a record that nobody inserted is there beside"}, insert: insertExtra},
		{Bug: Bug{Name: "failed-but-applied", Check: rows, Kinds: []string{"failed"},
			Doc: "a record is inserted, and failed is answered"}, insert: insertFailed},
		{Bug: Bug{Name: "stale-read", Check: reads, Kinds: []string{"stale"},
			Doc: "a read does not find a record that is there and was acknowledged"}, get: func(*Records, keyvalue.Record) (keyvalue.Record, bool) {
			return keyvalue.Record{}, false
		}},
		{Bug: Bug{Name: "truncated-read", Check: acknowledged, Kinds: []string{"lost"},
			Doc: "a read of everything ends early and without an error"}, truncate: true},
		{Bug: Bug{Name: "late-apply",
			Doc: "unknown is answered and the record inserted up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"}, insert: insertLate},
	}, altered...)
}

func insertLost(d *Records, record keyvalue.Record) workload.Reply {
	d.add(record)
	d.late = append(d.late, lateRecord{record, d.calls + 1 + d.chance.Uint64N(maxLoss), true})
	return workload.Reply{Outcome: history.Committed}
}

func insertTwice(d *Records, record keyvalue.Record) workload.Reply {
	d.add(record)
	d.add(record)
	return workload.Reply{Outcome: history.Committed}
}

// alter changes one value, by chance which.
func alter(d *Records, record keyvalue.Record) keyvalue.Record {
	record.Values = slices.Clone(record.Values)
	i := d.chance.IntN(len(record.Values))
	switch v := record.Values[i].(type) {
	case int64:
		record.Values[i] = v + 1
	case string:
		record.Values[i] = map[int]string{0: v + "s", 1: "x" + v, 2: v[:max(len(v)-1, 0)]}[d.chance.IntN(3)]
	}
	return record
}

func insertAltered(d *Records, record keyvalue.Record) workload.Reply {
	d.add(alter(d, record))
	return workload.Reply{Outcome: history.Committed}
}

// insertExtra adds a record of a key that no client of a run makes.
func insertExtra(d *Records, record keyvalue.Record) workload.Reply {
	d.add(record)
	switch key := record.Key.(type) {
	case int64:
		record.Key = key ^ 1<<62
	case uuid.UUID:
		key[15]++
		record.Key = key
	}
	d.add(record)
	return workload.Reply{Outcome: history.Committed}
}

func insertFailed(d *Records, record keyvalue.Record) workload.Reply {
	d.add(record)
	return workload.Reply{Outcome: history.Failed, Class: workload.ClassSerialization}
}

func insertLate(d *Records, record keyvalue.Record) workload.Reply {
	d.late = append(d.late, lateRecord{record, d.calls + 1 + d.chance.Uint64N(maxLate), false})
	return workload.Reply{Class: workload.ClassTimeout}
}

func getAltered(d *Records, record keyvalue.Record) (keyvalue.Record, bool) {
	return alter(d, record), true
}

// getOther returns another record, or, if there is no other, this one altered.
func getOther(d *Records, record keyvalue.Record) (keyvalue.Record, bool) {
	other := d.rows[d.chance.IntN(len(d.rows))]
	if other.Key == record.Key {
		return alter(d, record), true
	}
	return other, true
}
