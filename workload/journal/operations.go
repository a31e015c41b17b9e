package journal

import (
	"cmp"
	"fmt"
	"slices"

	"assay/check"
	"assay/history"
	"assay/workload"
	"assay/workload/definition"
)

// CheckOperations is the check that Operations makes.
const CheckOperations = "operations"

// The kinds of evidence of CheckOperations.
const (
	KindLost    = "lost"    // committed, and without a row
	KindDoubled = "doubled" // with more than one row
	KindFailed  = "failed"  // failed or rejected, and with a row
	KindForeign = "foreign" // a row of nobody's
	KindAltered = "altered" // a row that is not as it was asked for
)

// Operations holds operations against the journal's rows. It takes the whole history, then the
// rows, and keeps some 40 bytes per operation.
type Operations struct {
	// Writes reports whether a kind of operation leaves a row; nil if all do.
	Writes func(kind uint8) bool
	// Describe says what the operation of an id was to do.
	Describe func(id int64) string

	// Counts.Unknown includes operations that were reserved and have a row but no record.
	Counts history.Counts
	// Unknown counts unknown operations that would leave a row, Applied those with a row.
	Unknown, Applied int64

	states   map[int64]operation
	reserved map[int]uint64
	found    check.Result
	rows     int64
	written  int64 // committed operations that leave a row
}

type operation struct {
	outcome history.Outcome
	ended   bool
	rows    uint8
}

func (o *Operations) record(op *history.Op) {
	if op.Last {
		o.Counts.Add(op.Final, 1)
	}
	if o.Writes != nil && !o.Writes(op.Kind) {
		return
	}
	if o.states == nil {
		o.states = map[int64]operation{}
	}
	state := operation{}
	if op.Last {
		state = operation{outcome: op.Final, ended: true}
		switch op.Final {
		case history.Committed:
			o.written++
		case history.Unknown:
			o.Unknown++
		}
	}
	o.states[workload.OperationID(op.Client, op.Seq)] = state
}

// Read gives each attempt in the history to attempt, then each row of the state to row. missing
// says why rows may be missing; empty if none are.
func (o *Operations) Read(e definition.Evidence, s State, attempt func(*history.Op) error, row func(Row) error) (missing string, err error) {
	_, err = history.Read(e.History, history.Visitor{
		Op: func(op *history.Op) error {
			if err := attempt(op); err != nil {
				return err
			}
			o.record(op)
			return nil
		},
		Reservation: func(r history.Reservation) error { o.reserve(r); return nil },
	})
	if err != nil {
		return "", err
	}
	return e.Missing(s.Replay(e.State, row))
}

func (o *Operations) reserve(r history.Reservation) {
	if o.reserved == nil {
		o.reserved = map[int]uint64{}
	}
	o.reserved[r.Client] = max(o.reserved[r.Client], r.UpTo)
}

// Outcome is how an operation that leaves a row ended; ok is false if no client can have begun
// it.
func (o *Operations) Outcome(id int64) (outcome history.Outcome, ok bool) {
	if state, recorded := o.states[id]; recorded {
		return state.outcome, true
	}
	client, seq, ok := workload.SplitOperationID(id)
	return history.Unknown, ok && seq < o.reserved[client]
}

// Row takes a row of the journal. wrong says how it differs from the expected row; empty if it
// does not. first is true for the first row of an operation that may have written it.
func (o *Operations) Row(id int64, wrong string) (first bool) {
	o.rows++
	state := o.states[id]
	outcome, ok := o.Outcome(id)
	if !ok {
		o.find(KindForeign, id, "has a row, and nobody asked for it")
		return false
	}
	if state.rows++; state.rows == 2 {
		o.find(KindDoubled, id, "has more than one row")
	}
	if o.states == nil {
		o.states = map[int64]operation{}
	}
	unrecorded := !state.ended && state.rows == 1
	o.states[id] = state
	if state.rows > 1 {
		return false
	}
	switch outcome {
	case history.Failed, history.Rejected:
		o.find(KindFailed, id, fmt.Sprintf("ended as %s, and has a row", outcome))
	case history.Unknown:
		o.Applied++
		if unrecorded {
			o.Unknown++
			o.Counts.Unknown++
		}
	}
	if wrong != "" {
		o.find(KindAltered, id, wrong)
	}
	return true
}

// Name describes an operation with its client and number.
func (o *Operations) Name(id int64) string {
	client, seq, ok := workload.SplitOperationID(id)
	if !ok {
		return fmt.Sprintf("operation %d, of no client", id)
	}
	return fmt.Sprintf("operation %d of client %d (id %d: %s)", seq, client, id, o.Describe(id))
}

func (o *Operations) find(kind string, id int64, what string) {
	client, seq, _ := workload.SplitOperationID(id)
	o.found.Add(check.Evidence{Kind: kind, Text: o.Name(id) + " " + what,
		Fields: map[string]int64{"id": id, "client": int64(client), "seq": int64(seq)}})
}

// Result judges. missing says why rows may be missing; empty if none are.
func (o *Operations) Result(missing string) check.Result {
	if missing == "" {
		var lost []int64
		for id, state := range o.states {
			if state.outcome == history.Committed && state.rows == 0 {
				lost = append(lost, id)
			}
		}
		slices.SortFunc(lost, cmp.Compare[int64])
		for _, id := range lost {
			o.find(KindLost, id, "was acknowledged, and has no row")
		}
	}
	r := o.found
	r.Name = CheckOperations
	return r.Conclude(fmt.Sprintf("%s that write, %s", check.Counted(o.written, "committed operation", "committed operations"),
		check.Counted(o.rows, "journal row", "journal rows")),
		": one row for each, as it was asked for, and none of an operation that failed",
		missing, o.written == 0, "nothing was acknowledged")
}
