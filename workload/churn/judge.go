package churn

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"assay/check"
	"assay/history"
	"assay/report"
	"assay/workload"
	"assay/workload/definition"
)

// stateRows has each row's id and hash of its payload.
func stateRows() definition.RowFile {
	return definition.RowFile{Magic: "ASSAYC02", First: 1, Columns: []int{2}, End: 2}
}

// save saves the rows that each gives; see definition.RowFile.Save.
func save(path string, read func(rows int64), each func(func(Row) error) error) error {
	return stateRows().Save(path, read, func(w *definition.RowWriter) error {
		return each(func(r Row) error { return w.Put(0, r.ID, workload.Sum(r.Payload)) })
	})
}

// CheckRows is this workload's check.
const CheckRows = "rows"

// Judge implements definition.Config. A missing or cut state gives an unknown verdict, malformed
// files a *history.FormatError.
func (c *Config) Judge(_ context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	j := &judge{
		rows: rows{*c, seed}, evidence: e, seen: definition.NewSet((c.Cycles+1)*c.Rows + 1),
		ends:   map[stage]history.Outcome{},
		result: check.Result{Name: CheckRows},
		out:    definition.Judgement{Facts: map[string][]report.Setting{}, Sizes: map[string]report.RoundSize{}},
	}
	for _, step := range []func() error{j.readHistory, j.readState, j.readSizes} {
		if err := step(); err != nil {
			return definition.Judgement{}, err
		}
	}
	j.conclude()
	j.out.Results = []check.Result{j.result}
	return j.out, nil
}

type stage struct {
	kind        uint8
	cycle, task int64
}

type judge struct {
	rows     rows
	evidence definition.Evidence
	// ends are the outcomes of tasks with a record.
	ends map[stage]history.Outcome
	// whole is true if every begun task has a record.
	whole bool
	// missing says why rows may be missing; empty if none are.
	missing string
	seen    definition.Set
	read    int64
	result  check.Result
	out     definition.Judgement
}

func (j *judge) readHistory() error {
	ending, err := history.Read(j.evidence.History, history.Visitor{Op: func(op *history.Op) error {
		if op.Kind == KindInsert || op.Kind == KindDelete {
			c := j.rows.config
			if len(op.Values) != 2 || op.Values[0] < 0 || op.Values[0] > c.Cycles || op.Values[1] < 0 || op.Values[1] >= c.tasks() {
				return j.evidence.Malformed(op)
			}
			s := stage{op.Kind, op.Values[0], op.Values[1]}
			before, again := j.ends[s]
			if again != (op.Attempt > 1) {
				return &history.FormatError{Path: j.evidence.History, Reason: "a task that was done twice"}
			}
			if j.ends[s] = op.Outcome; again {
				j.ends[s] = before.Then(op.Outcome)
			}
		}
		if op.Last {
			j.out.Counts.Add(op.Final, 1)
		}
		return nil
	}})
	j.whole = ending.Whole && j.evidence.InFlight == ""
	return err
}

// end is a task's outcome. Without a record, the task was not begun, or is unknown if the run
// was killed.
func (j *judge) end(kind uint8, cycle, place int64) history.Outcome {
	outcome, known := j.ends[stage{kind, cycle, j.rows.taskOf(place)}]
	if !known && j.whole {
		return history.Failed
	}
	return outcome // Unknown without a record
}

// due says whether a row must, and whether it may, be there.
func (j *judge) due(cycle, place int64) (must, may bool) {
	insert := j.end(KindInsert, cycle, place)
	gone := history.Failed
	for next := cycle + 1; next <= j.rows.config.Cycles; next++ {
		if j.rows.goes(next, place) {
			gone = j.end(KindDelete, next, place)
			break
		}
	}
	must = insert == history.Committed && gone == history.Failed
	// An insert without an answer may have come after the deletion.
	may = insert == history.Unknown || insert == history.Committed && gone != history.Committed
	return must, may
}

func (j *judge) readState() (err error) {
	j.missing, err = j.evidence.Missing(stateRows().Replay(j.evidence.State, func(_ int, v []int64) error {
		j.read++
		j.row(v[0], v[1])
		return nil
	}))
	return err
}

func (j *judge) row(id, hash int64) {
	cycle, place, ok := j.rows.split(id)
	if !ok {
		j.find("foreign", id, "is there, and nobody has inserted it")
		return
	}
	if j.seen.Add(id) {
		j.find("doubled", id, "is there more than once")
		return
	}
	if hash != workload.Sum(j.rows.row(id).Payload) {
		j.find("altered", id, "has another payload than was inserted")
	}
	if _, may := j.due(cycle, place); may {
		return
	}
	if j.end(KindInsert, cycle, place) == history.Failed {
		j.find("failed", id, "is there, although its insert had certainly failed or was never begun")
		return
	}
	j.find("undeleted", id, "is there, although its deletion was acknowledged")
}

func (j *judge) find(kind string, id int64, what string) {
	j.result.Add(check.Evidence{Kind: kind, Text: fmt.Sprintf("row %d %s", id, what), Fields: map[string]int64{"id": id}})
}

// conclude finds missing rows and gives the verdict.
func (j *judge) conclude() {
	r, compared := &j.result, false // with an acknowledged row
	if j.missing == "" {
		for id := int64(1); id <= (j.rows.config.Cycles+1)*j.rows.config.Rows; id++ {
			cycle, place, ok := j.rows.split(id)
			compared = compared || ok && j.end(KindInsert, cycle, place) == history.Committed
			if !ok || j.seen.Has(id) {
				continue
			}
			if must, _ := j.due(cycle, place); must {
				j.find("lost", id, "was acknowledged, nobody was to delete it, and it is not there")
			}
		}
	}
	r.Detail = fmt.Sprintf("%s read back after %s; ", check.Counted(j.read, "row was", "rows were"),
		check.Counted(j.out.Counts.Committed, "acknowledged operation", "acknowledged operations"))
	if r.Found > 0 {
		r.Detail += check.Count(r.Found) + " of them or of those that should be there are wrong"
	} else {
		r.Detail += "none is wrong"
		if j.missing == "" {
			r.Detail += " and none is missing"
		}
	}
	r.Finish(j.missing, !compared, "no row was acknowledged")
}

// readSizes takes the sizes on disk.
func (j *judge) readSizes() error {
	sizes, err := definition.ReadJSON[[]roundSize](filepath.Join(filepath.Dir(j.evidence.State), FileSizes))
	if err != nil {
		return err
	}
	problem := ""
	for _, s := range sizes {
		if s.Problem != "" {
			problem = s.Problem
			continue
		}
		facts := []report.Setting{{Name: "bytes on disk", Value: strconv.FormatInt(s.Bytes, 10)}, {Name: "rows there", Value: strconv.FormatInt(s.Rows, 10)}}
		if s.Rows > 0 {
			facts = append(facts, report.Setting{Name: "bytes a row", Value: strconv.FormatFloat(float64(s.Bytes)/float64(s.Rows), 'f', 1, 64)})
		}
		j.out.Facts[s.Round] = facts
		j.out.Sizes[s.Round] = report.RoundSize{Bytes: s.Bytes, Rows: s.Rows, Payload: s.Rows * int64(j.rows.config.RowBytes)}
	}
	if problem != "" {
		j.out.Notes = append(j.out.Notes, "the size on disk is not known after every round: "+problem)
	}
	return nil
}
