package load

import (
	"context"
	"time"

	"assay/history"
)

// Client is one client's side of the work. It is used by one goroutine. It
// keeps its own session and replaces it when needed: Attempt connects if there
// is no session, and a failure to connect is an answer (Failed, Disconnected),
// never an end of the client.
type Client interface {
	// Attempt does operation seq for the attempt-th time, from 1. ctx ends at
	// the attempt's time limit, or, if there is none, some time after the run.
	Attempt(ctx context.Context, seq uint64, attempt int) Answer
	// Close releases the session.
	Close()
}

// Thinker is a Client that pauses before each of its operations, as a person does. In a
// closed loop the pause comes before the operation is due, and so is in no response
// time. With a rate of arrivals there is no pause.
type Thinker interface {
	// Think is the pause before operation seq.
	Think(seq uint64) time.Duration
}

// Answer is how one attempt ended.
type Answer struct {
	// Outcome is Unknown unless the client knows better.
	Outcome history.Outcome
	// Done is true if the attempt had no effect because an earlier attempt of
	// the same operation had: it is not repeated. It is committed if the database has
	// Confirmed that effect as it does what it acknowledges, and stays unknown if not.
	Done, Confirmed bool
	// Disconnected is true if the connection was lost or could not be made;
	// the engine then pauses before the next attempt.
	Disconnected bool
	// Kind and Values go into the history.
	Kind   uint8
	Values []int64
	// Class is the error's class; see history.Op.Error.
	Class string
	// Said is the error as it can be shown, without secrets. The first of each class goes into
	// the history.
	Said error
	// Rest is how long the client does nothing after the operation, which is in no figure
	// of it.
	Rest time.Duration
	// Err, unless it is nil, ends the run when the attempt is recorded: the client itself
	// cannot go on.
	Err error
}

// Recorder takes the record of the run. It is used from many goroutines.
type Recorder interface {
	// Reserve is on disk when it returns.
	Reserve(r history.Reservation) error
	// Record keeps one attempt. The op and its Values are not kept by
	// reference.
	Record(op *history.Op) error
	// Mark keeps an event.
	Mark(e history.Event) error
}
