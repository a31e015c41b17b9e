package load

import (
	"context"
	"time"

	"assay/history"
)

// Client is one client, used by one goroutine. It keeps its session and replaces it if necessary:
// Attempt connects if there is no session. A failure to connect is an answer (Failed, Disconnected)
// and never the end of the client.
type Client interface {
	// Attempt does operation seq for the attempt-th time, from 1. ctx ends at the attempt's time
	// limit or, without one, some time after the run.
	Attempt(ctx context.Context, seq uint64, attempt int) Answer
	Close()
}

// Thinker is a Client that pauses before each operation. In a closed loop the pause comes before
// the due time, so it is in no response time. With a rate of arrivals there is no pause.
type Thinker interface {
	Think(seq uint64) time.Duration
}

// Answer is how one attempt ended.
type Answer struct {
	// Outcome is Unknown unless the client knows better.
	Outcome history.Outcome
	// Done means that the attempt did nothing because an earlier attempt had taken effect. It is
	// not repeated. It is committed if the database has Confirmed that effect as firmly as an
	// acknowledgement; otherwise it stays unknown.
	Done, Confirmed bool
	// Disconnected means that the connection was lost or not made. The engine then pauses before
	// the next attempt.
	Disconnected bool
	// Unmade means that nothing was attempted, since the tester is not sure that it may. The engine
	// records nothing, and tries again until the run ends. It ends a run without a limit of time
	// after two minutes of that. Outcome and Class are for an operation
	// of which an earlier attempt was made.
	Unmade bool
	Kind   uint8
	Values []int64
	// Class is the error's class; see history.Op.Error.
	Class string
	// Said is the error without secrets. The first of each class goes into the history.
	Said error
	// Rest is a pause of the client after the operation, outside of its figures.
	Rest time.Duration
	// Err, if not nil, ends the run after the attempt is recorded: the client cannot go on.
	Err error
}

// Recorder records the run. Many goroutines use it.
type Recorder interface {
	// Reserve returns when the reservation is on disk.
	Reserve(r history.Reservation) error
	// Record keeps no reference to the op and its Values.
	Record(op *history.Op) error
	Mark(e history.Event) error
}
