package bulkupdate

import (
	"fmt"

	"assay/check"
)

// owners judges what was read back of each user's documents.
func (j *judge) owners() {
	for i := range j.books.owners {
		o, user := &j.books.owners[i], int64(i)+1
		if o.right+o.wrong < j.config.Documents && j.missing == "" {
			j.absent(o, user)
		}
		if o.wrong > 0 {
			j.wrong(o, user)
		}
		mixed := o.right > 0 && o.low != o.high
		if mixed && j.evidence.Promise == PromiseAtomic {
			j.state.Add(j.about("partial", user, o, fmt.Sprintf("are of generation %d in part and of %d in part: an update has taken effect on some of them only", o.low, o.high)))
		}
		if o.right > 0 && o.unknown.has(int64(o.high)) && int64(o.high) != o.committed.highest() {
			j.out.UnknownDone++
		}
	}
}

// absent says which documents of a user are not there.
func (j *judge) absent(o *owner, user int64) {
	first := (user-1)*j.config.Documents + 1
	id := first
	for j.books.marked(id) {
		id++
	}
	e := j.about("missing", user, o, fmt.Sprintf("are not there: %s of %s, document %d (number %d) for one",
		check.Count(j.config.Documents-o.right-o.wrong), check.Count(j.config.Documents), id, id-first+1))
	e.Fields["id"] = id
	j.state.Add(e)
}

// wrong names what is wrong with documents of a generation that they cannot
// have.
func (j *judge) wrong(o *owner, user int64) {
	g, acknowledged := o.wrongGeneration, o.committed.highest()
	kind, what := "foreign", fmt.Sprintf("are of generation %d, which nobody has written", g)
	switch {
	case g >= 0 && g < acknowledged && o.right == 0:
		kind, what = "lost", fmt.Sprintf("are of generation %d, although the update to %d was acknowledged", g, acknowledged)
	case g >= 0 && g < acknowledged:
		kind, what = "partial", fmt.Sprintf("are of generation %d in part, although the update of all to %d was acknowledged", g, acknowledged)
	case g >= 0 && g <= j.books.generations() && o.failed.has(g):
		kind, what = "failed", fmt.Sprintf("are of generation %d, the update to which had certainly failed", g)
	}
	e := j.about(kind, user, o, fmt.Sprintf("%s: %s of %s, document %d for one", what, check.Count(o.wrong), check.Count(j.config.Documents), o.wrongID))
	e.Fields["id"], e.Fields["generation"], e.Fields["documents"] = o.wrongID, g, o.wrong
	j.state.Add(e)
}

// about is evidence of a user's documents.
func (j *judge) about(kind string, user int64, o *owner, what string) check.Evidence {
	return check.Evidence{Kind: kind, Text: fmt.Sprintf("documents of user %d %s", user, what),
		Fields: map[string]int64{"user": user, "acknowledged": o.committed.highest()}}
}

// conclude gives each check that found nothing its verdict, and all their
// words.
func (j *judge) conclude() {
	j.state.Detail = fmt.Sprintf("%s of %s read back after %s", check.Counted(j.read, "document", "documents"),
		check.Counted(j.config.Users, "user was", "users were"), check.Counted(j.acknowledged, "acknowledged update", "acknowledged updates"))
	if j.state.Found > 0 {
		j.state.Detail += "; " + check.Counted(j.state.Found, "finding", "findings")
	} else if j.missing == "" {
		j.state.Detail += ", all as they should be"
	}
	j.state.Finish(j.missing, j.acknowledged == 0, "nothing was acknowledged")
	j.counts.Detail = check.Counted(j.acknowledged, "acknowledged update", "acknowledged updates") + " said how many documents had been changed, "
	if j.counts.Found > 0 {
		j.counts.Detail += check.Count(j.counts.Found) + " of them not all of their user's"
	} else {
		j.counts.Detail += "each all of its user's"
	}
	j.counts.Finish("", j.acknowledged == 0, "nothing was acknowledged")
}
