package interleaving

import (
	"fmt"
	"slices"
	"strings"

	"assay/check/cycle"
)

// ending is how a step ends its transaction.
type ending uint8

const (
	goesOn ending = iota
	commits
	aborts
)

// The sessions of a script.
const (
	t1 = iota
	t2
	t3
	sessions
)

// step is one step of a script: an operation, or the end of a transaction.
type step struct {
	session int
	Operation
	end ending
}

func (s step) String() string {
	text := fmt.Sprintf("T%d ", s.session+1)
	switch s.end {
	case commits:
		return text + "commits"
	case aborts:
		return text + "aborts"
	}
	switch s.Action {
	case Read:
		return text + fmt.Sprintf("reads row %d", s.ID)
	case ReadAll:
		return text + "reads all rows"
	case ReadEqual:
		return text + fmt.Sprintf("reads where value = %d", s.Value)
	case ReadMultiple:
		return text + fmt.Sprintf("reads where value %% %d = 0", s.Value)
	case Set:
		return text + fmt.Sprintf("sets row %d to %d", s.ID, s.Value)
	case AddAll:
		return text + fmt.Sprintf("adds %d to all rows", s.Value)
	case Insert:
		return text + fmt.Sprintf("inserts row %d with %d", s.ID, s.Value)
	case DeleteEqual:
		return text + fmt.Sprintf("deletes where value = %d", s.Value)
	default:
		return text + "deletes all rows"
	}
}

func read(s int, id int64) step { return step{session: s, Operation: Operation{Read, id, 0}} }
func readAll(s int) step        { return step{session: s, Operation: Operation{ReadAll, 0, 0}} }
func readEqual(s int, value int64) step {
	return step{session: s, Operation: Operation{ReadEqual, 0, value}}
}
func readMultiple(s int, value int64) step {
	return step{session: s, Operation: Operation{ReadMultiple, 0, value}}
}
func write(s int, id, value int64) step {
	return step{session: s, Operation: Operation{Set, id, value}}
}
func addAll(s int, value int64) step { return step{session: s, Operation: Operation{AddAll, 0, value}} }
func insert(s int, id, value int64) step {
	return step{session: s, Operation: Operation{Insert, id, value}}
}
func deleteEqual(s int, value int64) step {
	return step{session: s, Operation: Operation{DeleteEqual, 0, value}}
}
func commit(s int) step { return step{session: s, end: commits} }
func abort(s int) step  { return step{session: s, end: aborts} }

// Script is one of Hermitage's tests. It begins with the rows (1, 10) and (2, 20).
type Script struct {
	// Anomaly is its name, and Title says what it is.
	Anomaly, Title string
	steps          []step
	// shown is whether the anomaly came about.
	shown func(o *observation) bool
	// forbid are the weakest models that do not allow it.
	forbid []cycle.Model
}

// Forbidden reports whether a model does not allow the anomaly.
func (s *Script) Forbidden(model cycle.Model) bool {
	return slices.ContainsFunc(s.forbid, model.Includes)
}

// observation is what came of a script.
type observation struct {
	// reads are the rows of each session's reads, in their order.
	reads [sessions][][]Row
	// committed and aborted are the sessions that did, as the script has it or not.
	committed [sessions]bool
	final     []Row
}

// have reports whether all of these sessions have committed.
func (o *observation) have(committed ...int) bool {
	return !slices.ContainsFunc(committed, func(s int) bool { return !o.committed[s] })
}

// found are the rows of a session's read, counted from 0; none if it did not come
// to that.
func (o *observation) found(session, read int) []Row {
	if read < len(o.reads[session]) {
		return o.reads[session][read]
	}
	return nil
}

// saw is the value of a row in a session's read, 0 for none.
func (o *observation) saw(session, read int, id int64) int64 {
	return valueOf(o.found(session, read), id)
}

// left is the value of a row at the end, 0 for none.
func (o *observation) left(id int64) int64 { return valueOf(o.final, id) }

func valueOf(rows []Row, id int64) int64 {
	for _, r := range rows {
		if r.ID == id {
			return r.Value
		}
	}
	return 0
}

// has reports whether a row with this value is among these.
func has(rows []Row, value int64) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.Value == value })
}

// format writes rows as id=value.
func format(rows []Row) string {
	if len(rows) == 0 {
		return "nothing"
	}
	words := make([]string, len(rows))
	for i, r := range rows {
		words[i] = fmt.Sprintf("%d=%d", r.ID, r.Value)
	}
	return strings.Join(words, " ")
}
