package candles

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"assay/history"
	"assay/load"
	"assay/store"
	"assay/workload/definition"
)

// FileState is the saved state's name in a run's folder.
const FileState = "candles.bin"

// settleBound bounds the wait for writes in flight before queries.
const settleBound = time.Minute

// Work is a definition.Work.
type Work struct {
	definition.Empty
	definition.InRounds
	config  Config
	queries queries
	clients int
	// engined is nil if there is one engine. chosen is true if the user chose one of several.
	engined store.Engined
	engine  string
	chosen  bool
	// embedded is set by Describe.
	embedded bool
	restart  func(ctx context.Context, meanwhile func() error) error
	// followed is true if another process empties the caches.
	followed bool
	// size is nil before Save.
	size *store.Size
}

// PromiseEventual is the promise of a database that may answer from an old state, as its address
// asks: an answer can lack acknowledged rows.
const PromiseEventual = "eventual"

// newWork has clients for queries. An unknown engine gives a *store.OptionError.
func newWork(ctx context.Context, db store.Database, config Config, seed uint64, clients int) (*Work, error) {
	w := &Work{Empty: definition.Empty{Database: db}, config: config, queries: queries{NewGenerator(config, seed), config}, clients: clients}
	return w, w.findEngine(ctx)
}

// findEngine sets the engine as the database spells it; the first one by default.
func (w *Work) findEngine(ctx context.Context) (err error) {
	var engines []string
	if engined, is := store.As[store.Engined](w.Database); is {
		w.engined = engined
		if engines, err = engined.Engines(ctx); err != nil {
			return err
		}
	}
	wanted := w.config.Engine
	w.chosen = wanted != "" && len(engines) > 1
	for _, e := range engines {
		if wanted == "" || strings.EqualFold(e, wanted) {
			w.engine = e
			return nil
		}
	}
	if wanted == "" {
		return nil
	}
	return &store.OptionError{Option: "--engine", Value: wanted, Want: strings.Join(engines, ", ")}
}

// RestartWith gives a way to restart the servers, for Config.Cold. Without it only an embedded
// database can begin with empty caches.
func (w *Work) RestartWith(restart func(ctx context.Context, meanwhile func() error) error) {
	w.restart = restart
}

// Create makes the empty table on the engine.
func (w *Work) Create(ctx context.Context, mark store.Marker) error {
	if w.engined == nil {
		return w.Empty.Create(ctx, mark)
	}
	mark.Loaded = true
	return w.engined.CreateOn(ctx, mark, w.engine, w.chosen)
}

// Describe also learns whether the database is embedded.
func (w *Work) Describe(ctx context.Context) (store.Product, error) {
	product, err := w.Database.Describe(ctx)
	w.embedded = product.Embedded
	return product, err
}

// Promise is PromiseEventual or empty.
func (w *Work) Promise() string {
	if w.Database.Promises().Eventual {
		return PromiseEventual
	}
	return ""
}

func roundName(kind uint8, pass int64) string {
	name := map[uint8]string{KindInsert: "ingest", KindLatest: "quick", KindInterval: "interval", KindDay: "day"}[kind]
	if kind == KindInsert {
		return name
	}
	return name + ", " + [...]string{passFirst: "first", passCold: "cold", passWarm: "warm"}[pass]
}

// RoundNames has both kinds of first passes.
func (c Config) RoundNames() []string {
	names := []string{roundName(KindInsert, 0)}
	for _, kind := range []uint8{KindLatest, KindInterval, KindDay} {
		for _, pass := range []int64{passFirst, passCold, passWarm} {
			names = append(names, roundName(kind, pass))
		}
	}
	return names
}

// Rounds has cold first passes only if caches can be emptied.
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

// Follow implements definition.Following: another process empties the caches.
func (w *Work) Follow(round string) {
	for _, kind := range []uint8{KindLatest, KindInterval, KindDay} {
		w.followed = w.followed || round == roundName(kind, passCold)
	}
}

func (w *Work) round(kind uint8, pass, tasks int64, clients int) load.Round {
	next := new(load.Tasks)
	return load.Round{
		Name: roundName(kind, pass), Tasks: next, Clients: int(min(int64(clients), tasks)), Ops: uint64(tasks), Apart: kind != KindLatest,
		Client: func(ctx context.Context, _ int) (load.Client, error) { return w.client(ctx, kind, pass, next) },
	}
}

// client takes tasks off the round's common counter, so that tasks begin in one order.
func (w *Work) client(ctx context.Context, kind uint8, pass int64, next *load.Tasks) (load.Client, error) {
	connection, err := definition.Connect(ctx, w.Database, statements())
	if err != nil {
		return nil, err
	}
	c := &definition.TaskClient{Connection: connection, Kind: kind, Tasks: next}
	if kind == KindInsert {
		c.Do, c.Values = w.insert, func(task int64, _ store.Reply) []int64 { return []int64{task} }
		return c, nil
	}
	var tally *Tally
	c.Do = func(ctx context.Context, session store.Session, task int64) store.Reply {
		tally = new(Tally) // the session may keep it for longer than the call
		r := w.queries.ask(ctx, session, w.queries.at(kind, task), tally.Add)
		if r.Outcome != history.Committed {
			r.Outcome = history.Failed
		}
		return r
	}
	c.Values = func(task int64, r store.Reply) []int64 {
		if r.Outcome != history.Committed {
			return []int64{pass, task}
		}
		return []int64{pass, task, tally.Rows, int64(tally.Sum), tally.Bytes}
	}
	return c, nil
}

func (w *Work) insert(ctx context.Context, session store.Session, task int64) store.Reply {
	first, end := w.config.batch(task)
	batch := make([]Candle, 0, end-first)
	for n := first; n < end; n++ {
		batch = append(batch, w.queries.Candle(n))
	}
	return Insert(ctx, session, batch)
}

func (w *Work) ready(ctx context.Context, first, cold bool) error {
	if first {
		bounded, cancel := context.WithTimeout(ctx, settleBound)
		// The end of the run settles and judges again.
		_ = w.Database.Settle(bounded)
		cancel()
		if err := w.Database.FinishLoad(ctx); err != nil {
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

// reachBound bounds a client library's search for restarted servers.
const reachBound = time.Minute

// reached waits until connections work after a restart, so that no query includes that time.
func (w *Work) reached(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, reachBound)
	defer cancel()
	for {
		_, err := w.Database.Describe(bounded)
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

// Save saves the rows even if the size fails; Size then gives the error.
func (w *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	size, err := w.Database.Size(ctx)
	if err == nil {
		w.size = &size
	}
	return save(ctx, w.Database, w.queries.Generator, w.config, size, filepath.Join(folder, FileState), read)
}

// Size is the size at Save, or now.
func (w *Work) Size(ctx context.Context) (store.Size, error) {
	if w.size != nil {
		return *w.size, nil
	}
	return w.Database.Size(ctx)
}
