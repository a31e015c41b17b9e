package mem

import (
	"assay/history"
	"assay/workload"
	"assay/workload/entity"
)

// entityBug is one way of breaking a promise in workload entity. Of its
// functions the one of the call that it is in is set.
type entityBug struct {
	Bug
	// put is done instead of a write that would be acknowledged.
	put func(d *Entities, e entity.Entity) entity.Reply
	// get changes the answer to a read that found its entity.
	get func(d *Entities, honest entity.Reply) entity.Reply
	// cut decides how many of n entities a Read gives.
	cut func(d *Entities, n int) int
}

// EntityBugs returns all that can be switched on in workload entity.
func EntityBugs() []Bug {
	var bugs []Bug
	for _, b := range entityBugs() {
		bugs = append(bugs, b.Bug)
	}
	return bugs
}

func entityBugs() []entityBug {
	return []entityBug{
		{Bug: Bug{Name: "lost-ack", Check: checkAcknowledged, Kinds: []string{"lost"},
			Doc: "an acknowledged entity is there for up to eight more calls, and then lost"}, put: losePut},
		{Bug: Bug{Name: "reported-never-applied", Check: checkAcknowledged, Kinds: []string{"lost"},
			Doc: "a write is acknowledged and nothing is written"}, put: func(*Entities, entity.Entity) entity.Reply {
			return entity.Reply{Reply: workload.Reply{Outcome: history.Committed}}
		}},
		{Bug: Bug{Name: "duplicate-apply", Check: checkRows, Kinds: []string{"doubled"},
			Doc: "an entity is written twice under one id"}, put: putTwice},
		{Bug: Bug{Name: "altered-field", Check: checkAcknowledged, Kinds: []string{"altered"},
			Doc: "one of the fields is written otherwise than was asked (found in all checks that see it)"}, put: putAltered},
		{Bug: Bug{Name: "extra-row", Check: checkRows, Kinds: []string{"foreign"},
			Doc: "an entity that nobody wrote is there beside"}, put: putExtra},
		{Bug: Bug{Name: "failed-but-applied", Check: checkRows, Kinds: []string{"failed"},
			Doc: "an entity is written, and failed is answered"}, put: putFailed},
		{Bug: Bug{Name: "stale-read", Check: checkReads, Kinds: []string{"stale"},
			Doc: "a read does not find an entity that is there and was acknowledged"}, get: func(*Entities, entity.Reply) entity.Reply {
			return entity.Reply{Reply: workload.Reply{Outcome: history.Committed}}
		}},
		{Bug: Bug{Name: "altered-read", Check: checkReads, Kinds: []string{"altered"},
			Doc: "a read returns a field otherwise than it was written"}, get: getAltered},
		{Bug: Bug{Name: "swapped-read", Check: checkReads, Kinds: []string{"altered"},
			Doc: "a read returns another entity than the one asked for"}, get: getOther},
		{Bug: Bug{Name: "truncated-read", Check: checkAcknowledged, Kinds: []string{"lost"},
			Doc: "a read of everything ends early and without an error"}, cut: func(d *Entities, n int) int { return d.chance.IntN(max(n, 1)) }},
		{Bug: Bug{Name: "late-apply",
			Doc: "unknown is answered and the entity written up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"}, put: putLate},
	}
}

func losePut(d *Entities, e entity.Entity) entity.Reply {
	d.add(e)
	d.late = append(d.late, lateEntity{e, d.calls + 1 + d.chance.Uint64N(maxLoss), true})
	return entity.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

func putTwice(d *Entities, e entity.Entity) entity.Reply {
	d.add(e)
	d.add(e)
	return entity.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

// alter changes one field, by chance which.
func alter(d *Entities, e entity.Entity) entity.Entity {
	switch d.chance.IntN(6) {
	case 0:
		e.Name += "s"
	case 1:
		e.Age++
	case 2:
		e.Description = e.Description[:len(e.Description)-1]
	case 3:
		e.Address = e.Phone
	case 4:
		e.Phone = ""
	default:
		e.Email = "x" + e.Email
	}
	return e
}

func putAltered(d *Entities, e entity.Entity) entity.Reply {
	d.add(alter(d, e))
	return entity.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

// putExtra adds an entity under an id that no run makes.
func putExtra(d *Entities, e entity.Entity) entity.Reply {
	d.add(e)
	e.ID[15]++
	d.add(e)
	return entity.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

func putFailed(d *Entities, e entity.Entity) entity.Reply {
	d.add(e)
	return entity.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassSerialization}}
}

func putLate(d *Entities, e entity.Entity) entity.Reply {
	d.late = append(d.late, lateEntity{e, d.calls + 1 + d.chance.Uint64N(maxLate), false})
	return entity.Reply{Reply: workload.Reply{Class: workload.ClassTimeout}}
}

func getAltered(d *Entities, honest entity.Reply) entity.Reply {
	honest.Entity = alter(d, honest.Entity)
	return honest
}

// getOther returns another entity, or, if there is no other, this one altered.
func getOther(d *Entities, honest entity.Reply) entity.Reply {
	other := d.rows[d.chance.IntN(len(d.rows))]
	if other.ID == honest.Entity.ID {
		return getAltered(d, honest)
	}
	honest.Entity = other
	return honest
}
