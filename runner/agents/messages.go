// Package agents lets several processes, on one machine or on many, do the work of
// one run. A coordinator hands out shares of the run's clients, says when to start,
// and gathers what the agents have recorded; an agent works its share, keeps its own
// history on its own disk, and delivers it while it works. They talk through NATS:
// requests that agents make of the coordinator, and an object store for the
// histories. All subjects and the bucket carry the run's id.
//
// An agent asks and the coordinator answers, several times a second. Each such
// exchange is a heartbeat in both directions, carries live figures one way and orders
// the other, and compares the two clocks with NTP's arithmetic (RFC 5905, section 8).
//
// Merge makes one history of all agents' histories, on the coordinator's clock. How far
// the clocks may be off is in its header, and who reads it to judge gets the times of
// operations widened by that (history.Clock), so that an order in time is claimed only
// where it is certain.
//
// It must not know any workload, database or report.
package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"assay/internal/wait"
	"assay/measure"
)

// The requests that agents make. What stands behind the dot of subjectJoin is the
// pool; in a run's requests its id stands before the verb.
const (
	subjectJoin   = "assay.join."
	subjectPrefix = "assay.run."
	verbClaim     = ".claim"
	verbBeat      = ".beat"
	verbReserve   = ".reserve"
	// subjectClosing says that the engine ends, in order.
	subjectClosing = "assay.closing"
)

// AnyPool is the pool of agents that are nobody's in particular.
const AnyPool = "any"

const (
	// beatEvery is how often an agent asks the coordinator, and readyEvery while it
	// waits for the start.
	beatEvery  = 200 * time.Millisecond
	readyEvery = 50 * time.Millisecond
	// requestTimeout bounds one request.
	requestTimeout = 2 * time.Second
	// deliverEvery is how often what was recorded is delivered, and mostPart how much
	// of it is one object, in bytes.
	deliverEvery = time.Second
	mostPart     = 4 << 20
)

// Agent says who an agent is.
type Agent struct {
	ID      string `json:"id"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
}

// Offer answers an agent that looks for a run.
type Offer struct {
	Run string `json:"run"`
	// Refused says why the agent cannot take part in it; empty if it can.
	Refused string `json:"refused,omitempty"`
}

// Share is an agent's part of a run.
type Share struct {
	// Number is from 0, Of how many shares there are.
	Number int `json:"number"`
	Of     int `json:"of"`
	// First is the number of its first client, Clients how many it has.
	First   int `json:"first_client"`
	Clients int `json:"clients"`
	// All is how many clients the run has.
	All int `json:"all_clients"`
	// Rounds are its clients in each round, of a run that is worked in rounds. First is
	// then 0, Clients the most that it has at once, and All the clients of all rounds.
	Rounds []Span `json:"rounds,omitempty"`
}

// Span are so many clients, from number First on.
type Span struct {
	First   int `json:"first_client"`
	Clients int `json:"clients"`
}

// spans are all its clients.
func (s *Share) spans() []Span {
	if len(s.Rounds) > 0 {
		return s.Rounds
	}
	return []Span{{s.First, s.Clients}}
}

// Plan is what all agents of a run must know. It holds no password.
type Plan struct {
	Run      string `json:"run"`
	Workload string `json:"workload"`
	Version  string `json:"version"`
	// Scenario is the text of the run's scenario.
	Scenario []byte `json:"scenario"`
	// Database is the address without its password.
	Database string `json:"database"`
	// Holder is who holds the lease on the database, as the runner has it.
	Holder json.RawMessage `json:"holder"`
	// Timeout is how long either side may hear nothing of the other.
	Timeout time.Duration `json:"timeout_ns"`
}

// claimed answers an agent that claims a share.
type claimed struct {
	Refused string `json:"refused,omitempty"`
	Share   Share  `json:"share"`
	Plan    Plan   `json:"plan"`
}

// The states of an agent.
const (
	stateWaiting   = "waiting"
	statePreparing = "preparing"
	stateReady     = "ready"
	stateWorking   = "working"
	// stateEnded is an agent whose clients have gone and that delivers the rest.
	stateEnded     = "ended"
	stateDelivered = "delivered"
	stateFailed    = "failed"
)

// status is how far an agent has come with its share.
type status struct {
	State string `json:"state"`
	// Problem says why it failed, or why what it recorded is not delivered yet.
	Problem string `json:"problem,omitempty"`
	// Delivered is how many bytes of the history are in the object store.
	Delivered int64 `json:"delivered_bytes"`
	// Opened is how long it took to open all sessions.
	Opened time.Duration `json:"opened_ns,omitempty"`
	// RoundReady and RoundEnded are the last round, from 1, for which it was ready, and
	// which it has ended, at RoundEnd by the coordinator's clock.
	RoundReady int   `json:"round_ready,omitempty"`
	RoundEnded int   `json:"round_ended,omitempty"`
	RoundEnd   int64 `json:"round_end_ns,omitempty"`
}

// beat is what an agent says of itself.
type beat struct {
	Share int    `json:"share"`
	Agent string `json:"agent"`
	status
	// Sent is by the agent's clock.
	Sent int64 `json:"sent_ns"`
	// Offset is how far the coordinator's clock was ahead by the best exchange so far,
	// and OffsetError how far that may be off; nanoseconds.
	Offset      int64 `json:"offset_ns"`
	OffsetError int64 `json:"offset_error_ns"`
	// Figures are the operations since the beat before that was answered.
	Figures []measure.Delta `json:"figures,omitempty"`
}

// The orders of the coordinator.
const (
	orderWait    = "wait"
	orderPrepare = "prepare"
	orderStart   = "start"
	orderStop    = "stop"
	// orderOver ends the agent's part: what it has delivered was taken.
	orderOver = "over"
)

// order is the answer to a beat.
type order struct {
	Do string `json:"do"`
	// Start is when the work starts, by the coordinator's clock.
	Start int64 `json:"start_ns,omitempty"`
	round
	// Received and Sent are by the coordinator's clock.
	Received int64 `json:"received_ns"`
	Sent     int64 `json:"sent_ns"`
}

// round is the one that is to be prepared, from 1, and RoundName its name, which is empty
// when there are no more; RoundStart is when its work starts, by the coordinator's clock,
// 0 while that is not known.
type round struct {
	Round      int    `json:"round,omitempty"`
	RoundName  string `json:"round_name,omitempty"`
	RoundStart int64  `json:"round_start_ns,omitempty"`
}

// reserve asks to keep that a client may start operations below UpTo.
type reserve struct {
	Share  int    `json:"share"`
	Agent  string `json:"agent"`
	Client int    `json:"client"`
	UpTo   uint64 `json:"up_to"`
}

// reserved is the answer: it is on the coordinator's disk.
type reserved struct {
	Refused string `json:"refused,omitempty"`
}

// request asks and waits for the answer, once.
func request[Q, A any](ctx context.Context, conn *nats.Conn, subject string, q Q) (a A, err error) {
	text, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m, err := conn.RequestWithContext(ctx, subject, text)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(m.Data, &a)
}

// serve answers requests of a subject. What cannot be read gets no answer.
func serve[Q, A any](k *Coordinator, subject string, answer func(Q) A) error {
	s, err := k.conn.Subscribe(subject, func(m *nats.Msg) {
		var q Q
		if json.Unmarshal(m.Data, &q) != nil {
			return
		}
		if text, err := json.Marshal(answer(q)); err == nil {
			_ = m.Respond(text) // one who does not hear it asks again
		}
	})
	if err == nil {
		k.subs = append(k.subs, s)
	}
	return err
}

// RefusedError means that an agent cannot take part in a run.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "the run refuses this agent: " + e.Reason }

// bucket is the object store of a run.
func bucket(run string) string { return "assay-" + strings.ReplaceAll(run, ".", "-") }

// part names the piece of a share's history that begins at an offset, and ending what
// is left when all are there.
func part(share int, offset int64) string { return fmt.Sprintf("history.%d.%d", share, offset) }
func ending(share int) string             { return fmt.Sprintf("end.%d", share) }

// sleep waits, or returns false when ctx ends.
func sleep(ctx context.Context, d time.Duration) bool {
	return wait.Pause(ctx, d) == nil
}

var errNoCoordinator = errors.New("the coordinator has not answered in time")
