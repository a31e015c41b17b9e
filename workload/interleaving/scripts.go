package interleaving

import (
	"fmt"
	"slices"
	"strings"

	"assay/check/cycle"
)

// Scripts returns Hermitage's tests in its order. The weakest models that forbid each are Adya's
// (PhD thesis, MIT 1999) and, for OTV, of Bailis et al., "Highly Available Transactions", VLDB
// 2014. Repeatable read (PL-2.99) concerns items alone and forbids nothing by predicates.
func Scripts() []Script {
	return slices.Concat(dirty(), preceders(), skews(), antiDependencies())
}

// dirty are anomalies of uncommitted transactions.
func dirty() []Script {
	committed := []cycle.Model{cycle.ReadCommitted}
	return []Script{
		{Anomaly: "G0", Title: "dirty write", forbid: []cycle.Model{cycle.ReadUncommitted},
			steps: []step{write(t1, 1, 11), write(t2, 1, 12), write(t1, 2, 21), commit(t1), write(t2, 2, 22), commit(t2)},
			shown: func(o *observation) bool {
				return o.have(t1, t2) && (o.left(1) == 11 && o.left(2) == 22 || o.left(1) == 12 && o.left(2) == 21)
			}},
		{Anomaly: "G1a", Title: "aborted read", forbid: committed,
			steps: []step{write(t1, 1, 101), readAll(t2), abort(t1), readAll(t2), commit(t2)},
			shown: func(o *observation) bool {
				return o.have(t2) && (o.saw(t2, 0, 1) == 101 || o.saw(t2, 1, 1) == 101)
			}},
		{Anomaly: "G1b", Title: "intermediate read", forbid: committed,
			steps: []step{write(t1, 1, 101), readAll(t2), write(t1, 1, 11), commit(t1), readAll(t2), commit(t2)},
			shown: func(o *observation) bool {
				return o.have(t1, t2) && (o.saw(t2, 0, 1) == 101 || o.saw(t2, 1, 1) == 101)
			}},
		{Anomaly: "G1c", Title: "circular information flow", forbid: committed,
			steps: []step{write(t1, 1, 11), write(t2, 2, 22), read(t1, 2), read(t2, 1), commit(t1), commit(t2)},
			shown: func(o *observation) bool { return o.have(t1, t2) && o.saw(t1, 0, 2) == 22 && o.saw(t2, 0, 1) == 11 }},
		{Anomaly: "OTV", Title: "observed transaction vanishes", forbid: []cycle.Model{cycle.MonotonicAtomicView, cycle.MonotonicView},
			steps: []step{write(t1, 1, 11), write(t1, 2, 19), write(t2, 1, 12), commit(t1), read(t3, 1), read(t3, 2),
				write(t2, 2, 18), read(t3, 2), commit(t2), read(t3, 2), read(t3, 1), commit(t3)},
			shown: func(o *observation) bool {
				seen := false // T2, of which a later read shows what was before
				for i, id := range []int64{1, 2, 2, 2, 1} {
					switch o.saw(t3, i, id) {
					case 12, 18:
						seen = true
					case 11, 19:
						if seen {
							return o.have(t1, t2, t3)
						}
					}
				}
				return false
			}},
	}
}

// preceders are anomalies of a predicate evaluated on several states.
func preceders() []Script {
	view := []cycle.Model{cycle.ConsistentView}
	return []Script{
		{Anomaly: "PMP", Title: "predicate-many-preceders, by a read", forbid: view,
			steps: []step{readEqual(t1, 30), insert(t2, 3, 30), commit(t2), readMultiple(t1, 3), commit(t1)},
			shown: func(o *observation) bool {
				return o.have(t1, t2) && !has(o.found(t1, 0), 30) && has(o.found(t1, 1), 30)
			}},
		{Anomaly: "PMP-write", Title: "predicate-many-preceders, by a write", forbid: view,
			steps: []step{addAll(t1, 10), readEqual(t2, 20), deleteEqual(t2, 20), commit(t1), readEqual(t2, 20), commit(t2)},
			// T2 deletes what it read: row 2 before T1, row 1 after T1.
			shown: func(o *observation) bool {
				before := o.saw(t2, 0, 2) == 20 && o.left(1) == 20 && o.left(2) == 0
				after := o.saw(t2, 0, 1) == 20 && o.left(1) == 0 && o.left(2) == 30
				return o.have(t1, t2) && !before && !after
			}},
	}
}

// skews are lost updates and reads of two states.
func skews() []Script {
	view := []cycle.Model{cycle.ConsistentView}
	return []Script{
		{Anomaly: "P4", Title: "lost update", forbid: []cycle.Model{cycle.CursorStability, cycle.UpdateAtomic},
			steps: []step{read(t1, 1), read(t2, 1), write(t1, 1, 11), write(t2, 1, 12), commit(t1), commit(t2)},
			shown: func(o *observation) bool { return o.have(t1, t2) && o.saw(t1, 0, 1) == 10 && o.saw(t2, 0, 1) == 10 }},
		{Anomaly: "G-single", Title: "read skew", forbid: []cycle.Model{cycle.ConsistentView, cycle.RepeatableRead},
			steps: []step{read(t1, 1), read(t2, 1), read(t2, 2), write(t2, 1, 12), write(t2, 2, 18), commit(t2), read(t1, 2), commit(t1)},
			shown: func(o *observation) bool { return o.have(t1, t2) && o.saw(t1, 0, 1) == 10 && o.saw(t1, 1, 2) == 18 }},
		{Anomaly: "G-single-predicate", Title: "read skew, by predicates", forbid: view,
			steps: []step{readMultiple(t1, 5), write(t2, 1, 12), commit(t2), readMultiple(t1, 3), commit(t1)},
			shown: func(o *observation) bool { return o.have(t1, t2) && o.saw(t1, 0, 1) == 10 && o.saw(t1, 1, 1) == 12 }},
		{Anomaly: "G-single-write", Title: "read skew, by the predicate of a write", forbid: view,
			steps: []step{read(t1, 1), readAll(t2), write(t2, 1, 12), write(t2, 2, 18), commit(t2), deleteEqual(t1, 20), read(t1, 2), commit(t1)},
			// T1 read before T2 wrote, so its delete would have found a row.
			shown: func(o *observation) bool { return o.have(t1, t2) && o.saw(t1, 0, 1) == 10 && o.left(2) == 18 }},
	}
}

// antiDependencies are cycles of two or more anti-dependencies.
func antiDependencies() []Script {
	return []Script{
		{Anomaly: "G2-item", Title: "write skew", forbid: []cycle.Model{cycle.RepeatableRead, cycle.UpdateSerializable},
			steps: []step{readAll(t1), readAll(t2), write(t1, 1, 11), write(t2, 2, 21), commit(t1), commit(t2)},
			shown: func(o *observation) bool { return o.have(t1, t2) && o.saw(t1, 0, 2) == 20 && o.saw(t2, 0, 1) == 10 }},
		{Anomaly: "G2", Title: "write skew, by predicates", forbid: []cycle.Model{cycle.UpdateSerializable, cycle.Serializable},
			steps: []step{readMultiple(t1, 3), readMultiple(t2, 3), insert(t1, 3, 30), insert(t2, 4, 42), commit(t1), commit(t2)},
			shown: func(o *observation) bool {
				return o.have(t1, t2) && !has(o.found(t1, 0), 42) && !has(o.found(t2, 0), 30)
			}},
		{Anomaly: "G2-two-edges", Title: "write skew that a third transaction sees", forbid: []cycle.Model{cycle.Serializable},
			steps: []step{readAll(t1), write(t2, 2, 25), commit(t2), readAll(t3), commit(t3), write(t1, 1, 0), commit(t1)},
			shown: func(o *observation) bool {
				return o.have(t1, t2, t3) && o.saw(t1, 0, 2) == 20 && o.saw(t3, 0, 1) == 10 && o.saw(t3, 0, 2) == 25
			}},
	}
}

// ending is how a step ends its transaction; 0 for an operation.
type ending uint8

const (
	commits ending = iota + 1
	aborts
)

const (
	t1 = iota
	t2
	t3
	sessions
)

type step struct {
	session int
	Operation
	end ending
}

func (s step) String() string {
	text := fmt.Sprintf("T%d ", s.session+1)
	switch {
	case s.end == commits:
		return text + "commits"
	case s.end == aborts:
		return text + "aborts"
	case s.Operation == Operation{}: // none is given yet
		return text + "begins"
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

func operation(s int, action Action, id, value int64) step {
	return step{session: s, Operation: Operation{action, id, value}}
}

func read(s int, id int64) step            { return operation(s, Read, id, 0) }
func readAll(s int) step                   { return operation(s, ReadAll, 0, 0) }
func readEqual(s int, value int64) step    { return operation(s, ReadEqual, 0, value) }
func readMultiple(s int, value int64) step { return operation(s, ReadMultiple, 0, value) }
func write(s int, id, value int64) step    { return operation(s, Set, id, value) }
func addAll(s int, value int64) step       { return operation(s, AddAll, 0, value) }
func insert(s int, id, value int64) step   { return operation(s, Insert, id, value) }
func deleteEqual(s int, value int64) step  { return operation(s, DeleteEqual, 0, value) }
func commit(s int) step                    { return step{session: s, end: commits} }
func abort(s int) step                     { return step{session: s, end: aborts} }

// Script is one of Hermitage's tests. It begins with the rows (1, 10) and (2, 20).
type Script struct {
	Anomaly, Title string
	steps          []step
	// shown reports whether the anomaly occurred.
	shown func(o *observation) bool
	// forbid are the weakest models that forbid it.
	forbid []cycle.Model
}

// Forbidden reports whether a model forbids the anomaly.
func (s *Script) Forbidden(model cycle.Model) bool {
	return slices.ContainsFunc(s.forbid, model.Includes)
}

type observation struct {
	// reads are by session and read.
	reads     [sessions][][]Row
	committed [sessions]bool
	final     []Row
}

func (o *observation) have(committed ...int) bool {
	return !slices.ContainsFunc(committed, func(s int) bool { return !o.committed[s] })
}

// found are the rows of a session's read, from 0; none if the read did not happen.
func (o *observation) found(session, read int) []Row {
	if read < len(o.reads[session]) {
		return o.reads[session][read]
	}
	return nil
}

// saw is a row's value in a session's read, 0 for none.
func (o *observation) saw(session, read int, id int64) int64 {
	return valueOf(o.found(session, read), id)
}

// left is a row's value at the end, 0 for none.
func (o *observation) left(id int64) int64 { return valueOf(o.final, id) }

func valueOf(rows []Row, id int64) int64 {
	for _, r := range rows {
		if r.ID == id {
			return r.Value
		}
	}
	return 0
}

func has(rows []Row, value int64) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.Value == value })
}

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
