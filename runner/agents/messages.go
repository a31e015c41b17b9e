// Package agents lets several processes, on one machine or many, work one run. A coordinator
// shares out the run's clients, sets the start, and gathers the histories. An agent works its
// share, keeps its history on its disk, and delivers it during the work. They talk through NATS,
// with requests by agents and an object store for histories. All subjects and the bucket carry
// the run's id.
//
// Each request of an agent, several a second, is a heartbeat in both directions. It carries live
// figures one way and orders the other, and compares the clocks with NTP's arithmetic (RFC 5905,
// section 8).
//
// Merge makes one history on the coordinator's clock. Its header says how far the clocks may be
// off. Judges get times widened by that (history.Clock), so that an order is claimed only if it
// is certain.
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

// The pool follows subjectJoin. Other subjects have the run's id before the verb.
const (
	subjectJoin   = "assay.join."
	subjectPrefix = "assay.run."
	verbClaim     = ".claim"
	verbBeat      = ".beat"
	verbReserve   = ".reserve"
	// subjectClosing says that the engine ends in order.
	subjectClosing = "assay.closing"
)

// AnyPool is the pool of agents and runs that name none.
const AnyPool = "any"

const (
	// beatEvery is how often an agent asks the coordinator, readyEvery while it waits for the
	// start.
	beatEvery      = 200 * time.Millisecond
	readyEvery     = 50 * time.Millisecond
	requestTimeout = 2 * time.Second
	// deliverEvery is the time between deliveries, mostPart the size of an object, in bytes.
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
	Run     string `json:"run"`
	Refused string `json:"refused,omitempty"`
}

// Share is an agent's part of a run.
type Share struct {
	// Number counts from 0. Of is the number of shares.
	Number int `json:"number"`
	Of     int `json:"of"`
	// First is its first client, Clients their number.
	First   int `json:"first_client"`
	Clients int `json:"clients"`
	// All is the number of clients of the run.
	All int `json:"all_clients"`
	// Rounds are its clients in each round, if the run has rounds. First is then 0, Clients
	// the largest of its rounds, and All the sum over all rounds and agents.
	Rounds []Span `json:"rounds,omitempty"`
}

// Span is a number of clients from number First on.
type Span struct {
	First   int `json:"first_client"`
	Clients int `json:"clients"`
}

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
	Scenario []byte `json:"scenario"`
	// Database is the address without its password.
	Database string `json:"database"`
	// Holder is the holder of the lease on the database, in the runner's form.
	Holder json.RawMessage `json:"holder"`
	// Timeout is how long either side may be silent.
	Timeout time.Duration `json:"timeout_ns"`
}

// claimed answers an agent that claims a share.
type claimed struct {
	Refused string `json:"refused,omitempty"`
	Share   Share  `json:"share"`
	Plan    Plan   `json:"plan"`
}

const (
	stateWaiting   = "waiting"
	statePreparing = "preparing"
	stateReady     = "ready"
	stateWorking   = "working"
	// stateEnded is after the clients have ended, while the agent delivers the rest.
	stateEnded     = "ended"
	stateDelivered = "delivered"
	stateFailed    = "failed"
)

// status is an agent's progress.
type status struct {
	State   string `json:"state"`
	Problem string `json:"problem,omitempty"`
	// Delivered is the size of the history in the object store.
	Delivered int64         `json:"delivered_bytes"`
	Opened    time.Duration `json:"opened_ns,omitempty"`
	// RoundReady is the last round it was ready for, RoundEnded the last it has ended, both
	// from 1. RoundEnd is when, by the coordinator's clock.
	RoundReady int   `json:"round_ready,omitempty"`
	RoundEnded int   `json:"round_ended,omitempty"`
	RoundEnd   int64 `json:"round_end_ns,omitempty"`
}

type beat struct {
	Share int    `json:"share"`
	Agent string `json:"agent"`
	status
	// Sent is by the agent's clock.
	Sent int64 `json:"sent_ns"`
	// Offset is how far the coordinator's clock was ahead in the best exchange so far, and
	// OffsetError its error; nanoseconds.
	Offset      int64 `json:"offset_ns"`
	OffsetError int64 `json:"offset_error_ns"`
	// Figures are the operations since the previous answered beat.
	Figures []measure.Delta `json:"figures,omitempty"`
}

const (
	orderWait    = "wait"
	orderPrepare = "prepare"
	orderStart   = "start"
	orderStop    = "stop"
	// orderOver ends the agent's part: the coordinator has its history.
	orderOver = "over"
)

type order struct {
	Do string `json:"do"`
	// Start is when the work starts, by the coordinator's clock.
	Start int64 `json:"start_ns,omitempty"`
	round
	// Received and Sent are by the coordinator's clock.
	Received int64 `json:"received_ns"`
	Sent     int64 `json:"sent_ns"`
}

func (o *order) stops() bool { return o.Do == orderStop || o.Do == orderOver }

// round is the round to prepare, from 1. RoundName is empty when there are no more. RoundStart is
// when its work starts, by the coordinator's clock; 0 if unknown.
type round struct {
	Round      int    `json:"round,omitempty"`
	RoundName  string `json:"round_name,omitempty"`
	RoundStart int64  `json:"round_start_ns,omitempty"`
}

// reserve asks the coordinator to keep that a client may start operations below UpTo.
type reserve struct {
	Share  int    `json:"share"`
	Agent  string `json:"agent"`
	Client int    `json:"client"`
	UpTo   uint64 `json:"up_to"`
}

type reserved struct {
	Refused string `json:"refused,omitempty"`
}

// request sends once and waits for the answer.
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

// serve answers requests of a subject. Unreadable requests get no answer.
func serve[Q, A any](k *Coordinator, subject string, answer func(Q) A) error {
	s, err := k.conn.Subscribe(subject, func(m *nats.Msg) {
		var q Q
		if json.Unmarshal(m.Data, &q) != nil {
			return
		}
		if text, err := json.Marshal(answer(q)); err == nil {
			_ = m.Respond(text) // an agent that misses it asks again
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

func bucket(run string) string { return "assay-" + strings.ReplaceAll(run, ".", "-") }

// part names the piece at an offset of a share's history. ending names the End.
func part(share int, offset int64) string { return fmt.Sprintf("history.%d.%d", share, offset) }
func ending(share int) string             { return fmt.Sprintf("end.%d", share) }

// sleep returns false if ctx ends.
func sleep(ctx context.Context, d time.Duration) bool {
	return wait.Pause(ctx, d) == nil
}

var errNoCoordinator = errors.New("the coordinator has not answered in time")
