package history

import "encoding/json"

// Op is one attempt of one operation. The attempt with Last set ends the operation and carries
// its Final outcome.
//
// All times are nanoseconds since the start of the run on the run's monotonic clock.
type Op struct {
	// Client counts from 0.
	Client int
	// Seq numbers the client's operations from 0, without gaps.
	Seq uint64
	// Attempt numbers the operation's attempts from 1.
	Attempt int
	Last    bool
	// Kind is defined by the workload.
	Kind uint8
	// Outcome is the outcome of this attempt.
	Outcome Outcome
	// Final is the outcome over all attempts; it counts only with Last.
	Final Outcome
	// Error is the class of the error, a short stable word such as "serialization failure", or
	// empty. It never holds data, addresses or passwords. A run has few distinct classes.
	Error string
	// Due is when the operation should have started: its arrival in an open loop, the moment at
	// which the client was free in a closed loop.
	Due int64
	// First is the start of the operation's first attempt.
	First int64
	// Start and End enclose this attempt.
	Start, End int64
	// Widened is the possible error of the clock that took the times (Header.Clocks). First and
	// Start were made earlier and End later by it. So an operation ends before another begins
	// only if that is certain. It is 0 if the history is read as measured.
	Widened int64
	// Values are what the database acknowledged, defined by the workload; at most MaxValues.
	Values []int64
}

// MaxValues bounds Op.Values.
const MaxValues = 16_384

// Latency is the response time in nanoseconds, from Due to the end of the last attempt, as a
// user feels it. Measuring from Due avoids coordinated omission (G. Tene, "How NOT to Measure
// Latency").
func (o *Op) Latency() int64 { return o.End - o.Widened - o.Due }

// ServiceTime is the time in nanoseconds from the start of the first attempt to the end of the
// last, with the pauses between attempts.
func (o *Op) ServiceTime() int64 { return o.End - o.First - 2*o.Widened }

// ClassHung is the error class of an attempt without a time limit and without an answer at the
// end of the run. It took at least the recorded time.
const ClassHung = "hung until the end of the run"

// Event marks a moment of the run, such as the beginning of a phase or the injection of a fault.
type Event struct {
	// At is nanoseconds since the start of the run.
	At int64 `json:"at"`
	// Name is one of the Event constants, or a fault's.
	Name string `json:"name"`
	// Detail is text for people, or JSON that its event defines.
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
	// EventCut means that the run ended early. Detail says why.
	EventCut = "cut"
	// EventFirstError has a FirstError as its Detail.
	EventFirstError = "first-error"
)

// FirstError is the text of the first error of a class, without secrets.
type FirstError struct {
	Class string `json:"class"`
	Text  string `json:"text"`
}

// Event returns the event that keeps the error.
func (f FirstError) Event(at int64) Event {
	text, _ := json.Marshal(f) // two texts
	return Event{At: at, Name: EventFirstError, Detail: string(text)}
}

// FirstErrors returns the texts of the first errors in events by their classes.
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

// Reservation means that Client may have started any operation with a number below UpTo. It is
// on disk before the first of them starts. After a crash, an operation without a record but
// with a reservation is therefore unknown; an operation without a reservation is foreign.
type Reservation struct {
	Client int
	UpTo   uint64
}
