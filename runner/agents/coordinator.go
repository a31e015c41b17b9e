package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assay/history"
	"assay/measure"
)

// Config is what a coordinator is asked to do.
type Config struct {
	Plan Plan
	Pool string
	// Agents is the number of agents, which share Clients clients.
	Agents, Clients int
	// Rounds are the numbers of clients of each round. They replace Clients.
	Rounds []int
	// Observers is the number of further clients of each agent that only read.
	Observers int
	// Continue goes on after an agent is lost. Otherwise the other agents are stopped.
	Continue bool
	Folder   string
	Live     *measure.Live
	Note     func(text string)
}

// Coordinator gathers, starts and follows the agents of one run. One goroutine calls its methods.
type Coordinator struct {
	config Config
	conn   *nats.Conn
	clock  Clock
	store  jetstream.ObjectStore
	subs   []*nats.Subscription

	mu      sync.Mutex
	members []*member
	order   string
	start   int64
	round   round
	kept    *history.Writer // takes reservations; nil while there is no work
}

type member struct {
	Member
	status
	claimed    bool
	heard      time.Time
	delivering time.Time // when it last went on, with its work or its delivery
	taken      bool      // all that it delivered
	lost       time.Time // when it was given up
}

// Coordinate makes the store for a run's histories, and begins to accept agents.
func Coordinate(ctx context.Context, e *Engine, c Config) (*Coordinator, error) {
	k := &Coordinator{config: c, conn: e.conn, clock: NewClock(), order: orderWait}
	shares := shared(c.Clients, c.Agents)
	if len(c.Rounds) > 0 {
		shares = sharedRounds(c.Rounds, c.Agents)
	}
	for i, share := range shares {
		k.members = append(k.members, &member{Member: Member{Share: share, Observers: c.Observers, FirstObserver: c.Clients + i*c.Observers}})
	}
	if err := os.MkdirAll(k.folder(), 0o755); err != nil {
		return nil, err
	}
	if err := k.writeMembers(); err != nil {
		return nil, err
	}
	var err error
	if k.store, err = openBucket(ctx, e.conn, c.Plan.Run, max(e.replicas, 1)); err != nil {
		return nil, &EngineError{Address: Redact(e.address), Err: fmt.Errorf("make a place for the histories: %w; JetStream must be on", err)}
	}
	if err := k.listen(); err != nil {
		return nil, &EngineError{Address: Redact(e.address), Err: err}
	}
	return k, nil
}

func (k *Coordinator) folder() string { return filepath.Join(k.config.Folder, Folder) }

func (k *Coordinator) writeMembers() error {
	var all []Member
	k.mu.Lock()
	for _, m := range k.members {
		all = append(all, m.Member)
	}
	k.mu.Unlock()
	return writeMembers(k.folder(), all)
}

func (k *Coordinator) listen() error {
	run := subjectPrefix + k.config.Plan.Run
	err := errors.Join(serve(k, subjectJoin+k.config.Pool, k.offer), serve(k, run+verbClaim, k.claim), serve(k, run+verbBeat, k.answer),
		serve(k, run+verbReserve, k.reserve))
	if err != nil {
		return err
	}
	return k.conn.FlushTimeout(requestTimeout)
}

func (k *Coordinator) offer(a Agent) Offer {
	return Offer{Run: k.config.Plan.Run, Refused: k.refusal(a)}
}

func (k *Coordinator) refusal(a Agent) string {
	if a.Version != k.config.Plan.Version {
		return fmt.Sprintf("it is of version %s and the agent of version %s; use the same on all machines", k.config.Plan.Version, a.Version)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range k.members {
		if !m.claimed {
			return ""
		}
	}
	return full
}

const full = "all shares are taken"

func (k *Coordinator) claim(a Agent) claimed {
	if why := k.refusal(a); why != "" && why != full {
		k.config.Note(fmt.Sprintf("agent on %s (process %d) was refused: %s", a.Host, a.PID, why))
		return claimed{Refused: why}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range k.members {
		if m.claimed && m.ID != a.ID {
			continue
		}
		m.claimed, m.Agent, m.heard, m.State = true, a, time.Now(), stateWaiting
		return claimed{Share: m.Share, Plan: k.config.Plan}
	}
	return claimed{Refused: full}
}

// answer takes an agent's beat, and gives it an order.
func (k *Coordinator) answer(b beat) order {
	o := order{Received: k.clock()}
	k.mu.Lock()
	o.Do, o.Start, o.round = k.order, k.start, k.round
	m := k.memberOf(b.Share, b.Agent)
	if m == nil {
		o.Do = orderOver
	} else {
		m.heard = time.Now()
		if b.State != m.State || b.Delivered > m.Delivered {
			m.delivering = m.heard
		}
		m.status = b.status
		switch {
		case m.taken:
			o.Do = orderOver
		case m.Lost != "":
			o.Do = orderStop // the run may end before its clients do
		}
	}
	k.mu.Unlock()
	if m != nil {
		for _, d := range b.Figures {
			_ = k.config.Live.Merge(d) // only the live display misses it
		}
	}
	o.Sent = k.clock()
	return o
}

// memberOf is the agent with this share; nil if another agent has it. The caller holds k.mu.
func (k *Coordinator) memberOf(share int, agent string) *member {
	if share < 0 || share >= len(k.members) || k.members[share].ID != agent {
		return nil
	}
	return k.members[share]
}

// reserve keeps on this disk which operations an agent may begin, in case it is lost.
func (k *Coordinator) reserve(r reserve) reserved {
	k.mu.Lock()
	m, to := k.memberOf(r.Share, r.Agent), k.kept
	k.mu.Unlock()
	switch {
	case m == nil || !m.owns(r.Client):
		return reserved{Refused: "the client is another agent's"}
	case to == nil:
		return reserved{Refused: "the run is not under way"}
	}
	if err := to.Reserve(history.Reservation{Client: r.Client, UpTo: r.UpTo}); err != nil {
		return reserved{Refused: err.Error()}
	}
	return reserved{}
}

// Gather waits until every share has an agent, and reports progress to tell.
func (k *Coordinator) Gather(ctx context.Context, tell func(there, wanted int)) error {
	told := -1
	for {
		there := 0
		k.mu.Lock()
		for _, m := range k.members {
			if m.claimed && time.Since(m.heard) > k.config.Plan.Timeout {
				m.claimed, m.Agent = false, Agent{} // it left before the run began
			}
			if m.claimed {
				there++
			}
		}
		k.mu.Unlock()
		if there != told {
			tell(there, len(k.members))
			told = there
		}
		if there == len(k.members) {
			_ = k.subs[0].Unsubscribe() // agents now look elsewhere
			return k.writeMembers()
		}
		if !sleep(ctx, readyEvery) {
			return ctx.Err()
		}
	}
}

// Prepare has all agents open their sessions, and returns the longest time that took.
func (k *Coordinator) Prepare(ctx context.Context) (slowest time.Duration, err error) {
	k.setOrder(orderPrepare)
	for {
		ready := 0
		k.mu.Lock()
		for _, m := range k.members {
			switch {
			case m.State == stateFailed:
				err = fmt.Errorf("%s could not begin: %s", m.name(), m.Problem)
			case time.Since(m.heard) > k.config.Plan.Timeout:
				err = errors.New(m.name() + " was lost before the work began")
			case m.State == stateReady:
				ready++
				slowest = max(slowest, m.Opened)
			}
		}
		k.mu.Unlock()
		if err != nil || ready == len(k.members) {
			return slowest, err
		}
		if !sleep(ctx, readyEvery) {
			return 0, ctx.Err()
		}
	}
}

func (m *member) name() string { return fmt.Sprintf("agent %d on %s", m.Number+1, m.Host) }

func (k *Coordinator) setOrder(o string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.order = o
}

// Lead is how far ahead the start is set, so that every agent hears of it in time.
const Lead = 500 * time.Millisecond

// Now is the coordinator's time; see Clock.
func (k *Coordinator) Now() int64 { return k.clock() }

// Start starts the work at a time of the coordinator's clock. file receives reservations. In a
// run of rounds, the first round must still be opened.
func (k *Coordinator) Start(at int64, file *history.Writer) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range k.members {
		if len(m.Rounds) > 0 {
			break
		}
		for client := range m.clients() {
			if err := file.Reserve(history.Reservation{Client: client, UpTo: granted}); err != nil {
				return err
			}
		}
	}
	k.order, k.start, k.kept = orderStart, at, file
	return nil
}

// Follow waits until the clients of all agents have ended. It stops the others when ctx ends, or
// an agent is lost and the run must not continue. It tells lost of each lost agent at once;
// lost must not wait.
func (k *Coordinator) Follow(ctx context.Context, lost func(text string)) {
	stopping := ctx.Done()
	for {
		working := 0
		k.mu.Lock()
		for _, m := range k.members {
			switch {
			case m.Lost != "" || m.State == stateEnded || m.State == stateDelivered:
			case m.State == stateFailed:
				k.lose(m, m.Problem, lost)
			case time.Since(m.heard) > k.config.Plan.Timeout:
				k.lose(m, fmt.Sprintf("it was not heard of for %v", k.config.Plan.Timeout), lost)
			default:
				working++
			}
		}
		k.mu.Unlock()
		if working == 0 {
			return
		}
		select {
		case <-stopping:
			k.setOrder(orderStop)
			stopping = nil
		case <-time.After(readyEvery):
		}
	}
}

// lose gives an agent up. The caller holds k.mu.
func (k *Coordinator) lose(m *member, why string, lost func(text string)) {
	m.Lost, m.lost = why, time.Now()
	lost(m.name() + " was lost: " + why)
	if !k.config.Continue {
		k.order = orderStop
	}
}

// Close ends the coordination. It keeps the store if a late agent can still deliver.
func (k *Coordinator) Close(ctx context.Context) {
	k.mu.Lock()
	whole := true
	for _, m := range k.members {
		whole = whole && (m.taken || !m.claimed || k.start == 0)
	}
	k.order, k.kept = orderOver, nil
	k.mu.Unlock()
	sleep(ctx, 2*beatEvery) // so that the last agent hears it
	for _, s := range k.subs {
		_ = s.Unsubscribe() // the connection may be gone
	}
	if js, err := jetstream.New(k.conn); err == nil && whole {
		_ = js.DeleteObjectStore(ctx, bucket(k.config.Plan.Run)) // it expires by itself
	}
}
