package bulkupdate

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"assay/check"
	"assay/history"
	"assay/report"
	"assay/workload"
	"assay/workload/definition"
)

// The checks; Definition says what each asserts.
const (
	CheckDocuments = "documents"
	CheckCounts    = "counts"
)

// Judge implements definition.Config. A missing or cut state gives an unknown verdict, malformed
// files a *history.FormatError.
func (c *Config) Judge(_ context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	config := *c
	j := &judge{
		config: config, documents: documents{config, seed}, evidence: e, books: newBooks(config),
		state: check.Result{Name: CheckDocuments}, counts: check.Result{Name: CheckCounts},
		out: definition.Judgement{Facts: map[string][]report.Setting{}},
	}
	for _, step := range []func() error{j.readHistory, j.readState, j.readWaits} {
		if err := step(); err != nil {
			return definition.Judgement{}, err
		}
	}
	if j.missing == "" || j.read > 0 {
		j.owners()
	}
	j.conclude()
	j.out.Results = []check.Result{j.state, j.counts}
	if j.unknownDone > 0 {
		j.out.Notes = append(j.out.Notes, fmt.Sprintf("the documents of %s are as an update has left them of which it was not known whether it was done",
			check.Counted(j.unknownDone, "user", "users")))
	}
	return j.out, nil
}

type judge struct {
	config    Config
	documents documents
	evidence  definition.Evidence
	books     *books
	// missing says why documents may be missing; empty if none are.
	missing            string
	read, acknowledged int64
	// unknownDone counts users whose documents are as an unknown update set them.
	unknownDone int64

	state, counts check.Result
	out           definition.Judgement
}

func (j *judge) readHistory() error {
	unsure := map[int]uint64{} // by client, the operation of which an attempt is unknown, from 1
	ending, err := history.Read(j.evidence.History, history.Visitor{
		Op: func(op *history.Op) error {
			if op.Kind != KindUpdate {
				return nil
			}
			if err := j.books.update(op); err != nil {
				return &history.FormatError{Path: j.evidence.History, Reason: err.Error()}
			}
			switch {
			case op.Outcome == history.Unknown:
				unsure[op.Client] = op.Seq + 1
			case op.Outcome == history.Committed:
				j.count(op, unsure[op.Client] == op.Seq+1)
			}
			if op.Last {
				j.out.Counts.Add(op.Final, 1)
			}
			return nil
		},
		Reservation: func(r history.Reservation) error {
			if generation := j.books.generationOf(r.Client); generation > 0 {
				j.books.begun |= mask(1) << uint(generation)
			}
			return nil
		},
	})
	j.books.whole = ending.Whole && j.evidence.InFlight == ""
	return err
}

// count judges the number of documents that an update claims. After an unknown attempt, some may
// have been changed before.
func (j *judge) count(op *history.Op, unsure bool) {
	j.acknowledged++
	changed := op.Values[2]
	if changed == j.config.Documents || unsure && changed >= 0 && changed < j.config.Documents {
		return
	}
	j.counts.Add(check.Evidence{Kind: "count",
		Text: fmt.Sprintf("at %.3f s the update of user %d in round %d was acknowledged with %s changed; the user has %s, and it changes all",
			float64(op.End)/1e9, op.Values[0], op.Values[1], check.Counted(changed, "document", "documents"), check.Count(j.config.Documents)),
		Fields: map[string]int64{"client": int64(op.Client), "seq": int64(op.Seq), "user": op.Values[0], "generation": op.Values[1],
			"changed": changed, "want": j.config.Documents}})
}

func (j *judge) readState() (err error) {
	j.missing, err = j.evidence.Missing(stateRows().Replay(j.evidence.State, func(_ int, v []int64) error {
		j.read++
		j.document(stored{id: v[0], user: v[1], number: v[2], flag: v[3] != 0, generation: v[4], sum: v[5]})
		return nil
	}))
	return err
}

// document judges a document except for its generation.
func (j *judge) document(d stored) {
	if d.id < 1 || d.id > j.documents.Len() {
		j.state.Add(evidenceOf("foreign", d, "is there, and was never loaded"))
		return
	}
	if j.books.seen.Add(d.id) {
		j.state.Add(evidenceOf("doubled", d, "is there more than once"))
		return
	}
	user, number := j.documents.place(d.id)
	switch {
	case d.user != user || d.number != number:
		j.state.Add(evidenceOf("altered", d, fmt.Sprintf("was loaded as document %d of user %d", number, user)))
	case d.sum != workload.Sum(j.documents.payload(d.id)):
		j.state.Add(evidenceOf("altered", d, "has another payload than was loaded"))
	case d.generation >= 0 && d.flag != j.documents.flag(d.id, d.generation):
		j.state.Add(evidenceOf("altered", d, fmt.Sprintf("has its boolean as %v, which no update has set beside this generation", d.flag)))
	}
	j.books.enter(user, d.id, d.generation)
}

func evidenceOf(kind string, d stored, what string) check.Evidence {
	return check.Evidence{Kind: kind,
		Text:   fmt.Sprintf("document %d (user %d, number %d, generation %d) %s", d.id, d.user, d.number, d.generation, what),
		Fields: map[string]int64{"id": d.id, "user": d.user, "number": d.number, "generation": d.generation}}
}

// readWaits takes the server's lock figures.
func (j *judge) readWaits() error {
	rounds, err := definition.ReadJSON[[]roundWaits](filepath.Join(filepath.Dir(j.evidence.State), FileWaits))
	if err != nil {
		return err
	}
	problem := ""
	for _, r := range rounds {
		problem = cmp.Or(r.Problem, problem)
		for _, f := range r.Waits {
			j.out.Facts[r.Round] = append(j.out.Facts[r.Round], report.Setting{Name: f.Name, Value: f.text(r.Workers, r.Seconds)})
		}
	}
	if problem != "" {
		j.out.Notes = append(j.out.Notes, "what the server says of its locks is not known of every round: "+problem)
	}
	return nil
}

// owners judges each user's documents.
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
			j.unknownDone++
		}
	}
}

func (j *judge) absent(o *owner, user int64) {
	first := (user-1)*j.config.Documents + 1
	id := first
	for j.books.seen.Has(id) {
		id++
	}
	e := j.about("missing", user, o, fmt.Sprintf("are not there: %s of %s, document %d (number %d) for one",
		check.Count(j.config.Documents-o.right-o.wrong), check.Count(j.config.Documents), id, id-first+1))
	e.Fields["id"] = id
	j.state.Add(e)
}

// wrong reports documents of an impossible generation.
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

func (j *judge) about(kind string, user int64, o *owner, what string) check.Evidence {
	return check.Evidence{Kind: kind, Text: fmt.Sprintf("documents of user %d %s", user, what),
		Fields: map[string]int64{"user": user, "acknowledged": o.committed.highest()}}
}

func (j *judge) conclude() {
	j.state.Conclude(fmt.Sprintf("%s of %s read back after %s", check.Counted(j.read, "document", "documents"),
		check.Counted(j.config.Users, "user was", "users were"), check.Counted(j.acknowledged, "acknowledged update", "acknowledged updates")),
		", all as they should be", j.missing, j.acknowledged == 0, "nothing was acknowledged")
	j.counts.Detail = check.Counted(j.acknowledged, "acknowledged update", "acknowledged updates") + " said how many documents had been changed, "
	if j.counts.Found > 0 {
		j.counts.Detail += check.Count(j.counts.Found) + " of them not all of their user's"
	} else {
		j.counts.Detail += "each all of its user's"
	}
	j.counts.Finish("", j.acknowledged == 0, "nothing was acknowledged")
}
