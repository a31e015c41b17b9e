package candles

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"assay/history"
	"assay/load"
	"assay/workload"
	"assay/workload/definition"
)

// FileState is the name of what was read back, in a run's folder.
const FileState = "candles.bin"

// settleBound is how long the rounds of queries wait for what is still in
// flight of the writing.
const settleBound = time.Minute

// Work is a definition.Work.
type Work struct {
	Store
	definition.NoLoading
	definition.InRounds
	config  Config
	queries queries
	clients int
	// embedded is known after Describe.
	embedded bool
	restart  func(ctx context.Context, meanwhile func() error) error
	// followed is true if another process empties the caches.
	followed bool
	// size is what Save asked for; nil before.
	size *workload.Size
}

// NewWork returns the work of this configuration and seed on a store, which it
// owns from then on, with so many clients for queries. It returns
// Config.Validate's error, and *workload.OptionError for an engine that the
// database does not have.
func NewWork(ctx context.Context, store Store, config Config, seed uint64, clients int) (*Work, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	engines, err := store.Engines(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := FindEngine(config.Engine, engines); err != nil {
		return nil, err
	}
	return &Work{Store: store, config: config, queries: queries{NewGenerator(config, seed), config}, clients: clients}, nil
}

// FindEngine returns the engine as the database spells it, and the first of
// them for none. It returns *workload.OptionError for one that is not there.
func FindEngine(engine string, engines []string) (string, error) {
	if engine == "" && len(engines) > 0 {
		return engines[0], nil
	}
	for _, e := range engines {
		if strings.EqualFold(e, engine) {
			return e, nil
		}
	}
	return "", &workload.OptionError{Option: "--engine", Value: engine, Want: strings.Join(engines, ", ")}
}

// RestartWith gives the way to stop the database's servers, do something
// meanwhile, and start them again, for Config.Cold. Without it only a database
// in this process has no cache of its own that outlives its sessions.
func (w *Work) RestartWith(restart func(ctx context.Context, meanwhile func() error) error) {
	w.restart = restart
}

// Create makes the empty table. There is nothing to load, so it is loaded.
func (w *Work) Create(ctx context.Context, mark workload.Marker) error {
	mark.Loaded = true
	return w.Store.Create(ctx, mark, w.config.Engine)
}

// Describe is the Store's, with the engine.
func (w *Work) Describe(ctx context.Context) (workload.Product, error) {
	product, err := w.Store.Describe(ctx)
	w.embedded = product.Embedded
	return product, err
}

// Promise is PromiseEventual or empty; see Eventual.
func (w *Work) Promise() string {
	if e, ok := w.Store.(Eventual); ok && e.Eventual() {
		return PromiseEventual
	}
	return ""
}

// roundName is a round's name in the history and in the result.
func roundName(kind uint8, pass int64) string {
	name := map[uint8]string{KindInsert: "ingest", KindLatest: "quick", KindInterval: "interval", KindDay: "day"}[kind]
	if kind == KindInsert {
		return name
	}
	return name + ", " + [...]string{passFirst: "first", passCold: "cold", passWarm: "warm"}[pass]
}

// Rounds are the writing, then each kind of query twice. A first pass is called
// cold only if the caches are emptied before it.
func (w *Work) Rounds() []load.Round {
	rounds := []load.Round{w.round(KindInsert, 0, w.config.batches(), w.config.Loaders)}
	first := passFirst
	if w.followed || w.config.Cold && canDropCaches() && (w.embedded || w.restart != nil) {
		first = passCold
	}
	for _, kind := range []uint8{KindLatest, KindInterval, KindDay} {
		tasks := w.queries.tasks(kind)
		if tasks == 0 {
			continue
		}
		for _, pass := range []int64{first, passWarm} {
			round := w.round(kind, pass, tasks, w.clients)
			rested := len(rounds) > 1
			round.Ready = func(ctx context.Context) error { return w.ready(ctx, !rested, pass == passCold) }
			rounds = append(rounds, round)
		}
	}
	return rounds
}

// Follow implements definition.Following: the process that tells the rounds has the
// servers, and empties the caches.
func (w *Work) Follow(round string) {
	for _, kind := range []uint8{KindLatest, KindInterval, KindDay} {
		w.followed = w.followed || round == roundName(kind, passCold)
	}
}

func (w *Work) round(kind uint8, pass, tasks int64, clients int) load.Round {
	next := new(load.Tasks)
	return load.Round{
		Name: roundName(kind, pass), Tasks: next, Clients: int(min(int64(clients), tasks)), Ops: uint64(tasks), Apart: kind != KindLatest,
		Client: func(ctx context.Context, _ int) (load.Client, error) {
			connection, err := workload.Connect(ctx, w.Store.Session)
			if err != nil {
				return nil, err
			}
			return &client{Connection: connection, work: w, kind: kind, pass: pass, next: next}, nil
		},
	}
}

// ready prepares a round of queries.
func (w *Work) ready(ctx context.Context, first, cold bool) error {
	if first {
		bounded, cancel := context.WithTimeout(ctx, settleBound)
		// What does not settle now is asked again at the end of the run, and
		// judged there.
		_ = w.Store.Settle(bounded)
		cancel()
		if err := w.Store.FinishLoad(ctx); err != nil {
			return err
		}
	}
	switch {
	case !cold:
		return nil
	case w.restart != nil:
		if err := w.restart(ctx, dropCaches); err != nil {
			return fmt.Errorf("restart the servers to empty their caches: %w", err)
		}
		return w.reached(ctx)
	default:
		return dropCaches()
	}
}

// reachBound is how long a client library may take to find servers again.
const reachBound = time.Minute

// reached returns when the store's connections are there again after a restart:
// how long a library takes for that is no part of any query.
func (w *Work) reached(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, reachBound)
	defer cancel()
	for {
		_, err := w.Store.Describe(bounded)
		if err == nil {
			return nil
		}
		select {
		case <-bounded.Done():
			return fmt.Errorf("reach the servers again after their restart: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Save reads the database back into the run's folder, and its size. A size that
// the database does not tell is no reason to lose the rest; Size then says why.
func (w *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	size, err := w.Store.Size(ctx)
	if err == nil {
		w.size = &size
	}
	return save(ctx, w.Store, w.queries.Generator, w.config, size, filepath.Join(folder, FileState), read)
}

// Size is what Save asked for, or asks now.
func (w *Work) Size(ctx context.Context) (workload.Size, error) {
	if w.size != nil {
		return *w.size, nil
	}
	return w.Store.Size(ctx)
}

// client is one client of one round. All of a round draw their tasks from one
// counter, so that the tasks begin in one order however many clients there are.
type client struct {
	workload.Connection[Session]
	work *Work
	kind uint8
	pass int64
	next *load.Tasks
}

// Attempt implements load.Client. Nothing is repeated in this workload (see
// CheckPlan), so that every attempt is a task.
func (c *client) Attempt(ctx context.Context, _ uint64, _ int) load.Answer {
	task := c.next.Take()
	answer := load.Answer{Kind: c.kind, Values: []int64{task}}
	if c.kind != KindInsert {
		answer.Values = []int64{c.pass, task}
	}
	session, err := c.Session(ctx)
	var reply Reply
	switch {
	case err != nil:
		reply = workload.Unsent(err)
	case c.kind == KindInsert:
		reply = c.insert(ctx, session, task)
	default:
		tally := new(Tally) // the session may keep it for longer than the call
		if reply = c.ask(ctx, session, task, tally); reply.Outcome == history.Committed {
			answer.Values = append(answer.Values, tally.Rows, int64(tally.Sum), tally.Bytes)
		} else {
			reply.Outcome = history.Failed
		}
	}
	answer.Outcome, answer.Class, answer.Disconnected = reply.Outcome, reply.Class, reply.Broken
	c.After(reply.Outcome, reply.Broken)
	return answer
}

func (c *client) insert(ctx context.Context, session Session, task int64) Reply {
	first, end := c.work.config.batch(task)
	batch := make([]Candle, 0, end-first)
	for n := first; n < end; n++ {
		batch = append(batch, c.work.queries.Candle(n))
	}
	reply := session.Insert(ctx, batch)
	reply.Outcome = reply.Unrefused()
	return reply
}

func (c *client) ask(ctx context.Context, session Session, task int64, tally *Tally) Reply {
	q := c.work.queries.at(c.kind, task)
	switch c.kind {
	case KindLatest:
		return session.Latest(ctx, c.work.queries.Ticker(q.ticker), q.limit, tally.Add)
	case KindInterval:
		return session.Interval(ctx, c.work.queries.Ticker(q.ticker), q.from, q.to, tally.Add)
	default:
		return session.Span(ctx, q.from, q.to, tally.Add)
	}
}
