package mem

import (
	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

// shelfBug is one way of breaking a promise in workload bulkupdate. Of its
// functions the one of the call that it is in is set.
type shelfBug struct {
	Bug
	// update is done instead of an update that would be acknowledged.
	update func(d *Shelves, u change) bulkupdate.Reply
	// cut decides how many of n documents a Read gives.
	cut func(d *Shelves, n int) int
}

// BulkUpdateBugs returns all that can be switched on in workload bulkupdate.
func BulkUpdateBugs() []Bug {
	var bugs []Bug
	for _, b := range shelfBugs() {
		bugs = append(bugs, b.Bug)
	}
	return bugs
}

// An update that a later one of the same user has replaced is seen no more; so
// what a bug does in the rounds before the last is passing.
func shelfBugs() []shelfBug {
	const documents, counts = bulkupdate.CheckDocuments, bulkupdate.CheckCounts
	return []shelfBug{
		{Bug: Bug{Name: "partial-update", Check: documents, Kinds: []string{"partial"}, Passing: true,
			Doc: "an update is acknowledged as whole and has changed some of the documents only"}, update: updateSome},
		{Bug: Bug{Name: "torn-update", Check: documents, Kinds: []string{"partial"}, Passing: true,
			Doc: "unknown is answered, and the update has changed some of the documents only"}, update: func(d *Shelves, u change) bulkupdate.Reply {
			updateSome(d, u)
			return bulkupdate.Reply{Reply: workload.Reply{Class: workload.ClassTimeout}}
		}},
		{Bug: Bug{Name: "lost-ack", Check: documents, Kinds: []string{"lost"}, Passing: true,
			Doc: "an update is acknowledged and nothing is changed"}, update: func(d *Shelves, u change) bulkupdate.Reply {
			return bulkupdate.Reply{Reply: workload.Reply{Outcome: history.Committed}, Changed: int64(len(d.of[u.user]))}
		}},
		{Bug: Bug{Name: "failed-but-applied", Check: documents, Kinds: []string{"failed"}, Passing: true,
			Doc: "an update is done, and failed is answered"}, update: func(d *Shelves, u change) bulkupdate.Reply {
			d.apply(u)
			return bulkupdate.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassSerialization}}
		}},
		{Bug: Bug{Name: "wrong-count", Check: counts, Kinds: []string{"count"},
			Doc: "an update is said to have changed one document less than it has"}, update: func(d *Shelves, u change) bulkupdate.Reply {
			reply := d.apply(u)
			reply.Changed--
			return reply
		}},
		{Bug: Bug{Name: "altered-row", Check: documents, Kinds: []string{"altered"},
			Doc: "an update changes the payload of one document as well"}, update: updateAltering},
		{Bug: Bug{Name: "flag-left", Check: documents, Kinds: []string{"altered"}, Passing: true,
			Doc: "an update leaves the boolean of one document as it was"}, update: updateLeaving},
		{Bug: Bug{Name: "extra-row", Check: documents, Kinds: []string{"foreign"},
			Doc: "a document that nobody loaded is there beside"}, update: updateAdding},
		{Bug: Bug{Name: "duplicate-row", Check: documents, Kinds: []string{"doubled"},
			Doc: "a document is there twice after an update"}, update: updateDoubling},
		{Bug: Bug{Name: "truncated-read", Check: documents, Kinds: []string{"missing"},
			Doc: "a read of everything ends early and without an error"}, cut: func(d *Shelves, n int) int { return d.chance.IntN(max(n, 1)) }},
		{Bug: Bug{Name: "late-apply",
			Doc: "unknown is answered and the update done up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"}, update: updateLate},
	}
}

// updateSome changes at least one document and, if there are two, not all.
func updateSome(d *Shelves, u change) bulkupdate.Reply {
	places := d.of[u.user]
	if len(places) < 2 {
		return d.apply(u)
	}
	d.applyTo(u, places[:1+d.chance.IntN(len(places)-1)])
	return bulkupdate.Reply{Reply: workload.Reply{Outcome: history.Committed}, Changed: int64(len(places))}
}

func updateAltering(d *Shelves, u change) bulkupdate.Reply {
	reply := d.apply(u)
	if places := d.of[u.user]; len(places) > 0 {
		d.documents[places[d.chance.IntN(len(places))]].Payload = "altered"
	}
	return reply
}

func updateLeaving(d *Shelves, u change) bulkupdate.Reply {
	reply := d.apply(u)
	if places := d.of[u.user]; len(places) > 0 {
		d.documents[places[d.chance.IntN(len(places))]].Flag = !u.flag
	}
	return reply
}

// updateAdding adds a document of an id that no run has. It belongs to nobody,
// so that it is in no count.
func updateAdding(d *Shelves, u change) bulkupdate.Reply {
	reply := d.apply(u)
	d.documents = append(d.documents, bulkupdate.Document{ID: 1<<40 + int64(d.calls), User: u.user, Generation: u.generation, Flag: u.flag})
	return reply
}

// updateDoubling adds a copy that later updates do not find.
func updateDoubling(d *Shelves, u change) bulkupdate.Reply {
	reply := d.apply(u)
	if places := d.of[u.user]; len(places) > 0 {
		d.documents = append(d.documents, d.documents[places[d.chance.IntN(len(places))]])
	}
	return reply
}

func updateLate(d *Shelves, u change) bulkupdate.Reply {
	d.late = append(d.late, lateUpdate{u, d.calls + 1 + d.chance.Uint64N(maxLate)})
	return bulkupdate.Reply{Reply: workload.Reply{Class: workload.ClassTimeout}}
}
