package history

import "encoding/json"

// Op is one attempt of one operation. The attempt with Last set ends the
// operation and carries its Final outcome.
//
// All times are nanoseconds since the start of the run on the run's monotonic
// clock.
type Op struct {
	// Client is the client's number, from 0.
	Client int
	// Seq is the operation's number within its client, from 0, without gaps.
	Seq uint64
	// Attempt counts the attempts of the operation, from 1.
	Attempt int
	// Last is true for the attempt that ends the operation.
	Last bool
	// Kind describes what was done, in the words of the workload.
	Kind uint8
	// Outcome is what this attempt ended as.
	Outcome Outcome
	// Final is what the operation ended as over all its attempts; it is
	// meaningful only with Last.
	Final Outcome
	// Error is the class of the error, a short stable word such as
	// "serialization failure", empty if there was none. It never holds data,
	// addresses or passwords, and few distinct values occur in a run.
	Error string
	// Due is when the operation was to start: in an open loop the arrival, in
	// a closed loop the moment at which the client was free for it.
	Due int64
	// First is when the operation's first attempt started.
	First int64
	// Start and End enclose this attempt.
	Start, End int64
	// Widened is by how much First and Start are earlier and End is later than was
	// measured, since the clock that took them may be off by that (Header.Clocks): one
	// operation then ended before another began only where that is certain. It is 0
	// where a history is read as measured.
	Widened int64
	// Values are what the database acknowledged, as the workload defines them;
	// at most MaxValues.
	Values []int64
}

// MaxValues bounds Op.Values.
const MaxValues = 16_384

// Latency is the response time in nanoseconds: from due to the end of the last
// attempt. It is what a user would have felt, and what avoids coordinated
// omission (G. Tene, "How NOT to Measure Latency").
func (o *Op) Latency() int64 { return o.End - o.Widened - o.Due }

// ServiceTime is the time in nanoseconds from the start of the first attempt
// to the end of the last, pauses between the attempts included.
func (o *Op) ServiceTime() int64 { return o.End - o.First - 2*o.Widened }

// ClassHung is the error class of an attempt without a time limit that had no
// answer when the run ended: it took at least as long as is recorded.
const ClassHung = "hung until the end of the run"

// Event marks a moment of the run: a phase that begins, a fault injected or
// healed.
type Event struct {
	// At is nanoseconds since the start of the run.
	At int64 `json:"at"`
	// Name is one of the Event constants, or a fault's.
	Name string `json:"name"`
	// Detail is free text for people.
	Detail string `json:"detail,omitempty"`
}

// The events that every run writes.
const (
	// EventMeasureStart ends the warm-up.
	EventMeasureStart = "measure-start"
	// EventMeasureEnd ends the measured part; no operation starts after it.
	EventMeasureEnd = "measure-end"
	// EventQuiesced means that nothing of the run is in flight any more.
	EventQuiesced = "quiesced"
	// EventCut means that the run was ended before its time, and by what.
	EventCut = "cut"
	// EventFirstError has a FirstError.
	EventFirstError = "first-error"
)

// FirstError is what the first error of a class says, without secrets.
type FirstError struct {
	Class string `json:"class"`
	Text  string `json:"text"`
}

// Event is the event that keeps it.
func (f FirstError) Event(at int64) Event {
	text, _ := json.Marshal(f) // two texts
	return Event{At: at, Name: EventFirstError, Detail: string(text)}
}

// FirstErrors are those that events keep, by their classes.
func FirstErrors(events []Event) map[string]string {
	all := map[string]string{}
	for _, e := range events {
		var f FirstError
		if e.Name == EventFirstError && json.Unmarshal([]byte(e.Detail), &f) == nil && all[f.Class] == "" {
			all[f.Class] = f.Text
		}
	}
	return all
}

// Reservation means that Client may have started any operation with a number
// below UpTo. It is on disk before the first of them starts, so that after a
// crash an operation without a record is known to be possible (unknown), and
// one without a reservation is known to be foreign.
type Reservation struct {
	Client int
	UpTo   uint64
}
