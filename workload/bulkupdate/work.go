package bulkupdate

import (
	"context"
	"path/filepath"
	"sync/atomic"

	"assay/history"
	"assay/load"
	"assay/workload"
	"assay/workload/definition"
)

// FileState and FileWaits are the names of the saved documents and of what the
// server said of its locks, in a run's folder.
const (
	FileState = "bulkupdate.bin"
	FileWaits = "bulkupdate-waits.json"
)

// KindUpdate updated all documents of one user. Its Values are the user, the
// generation, and how many documents the database said to have changed, 0
// unless it was acknowledged.
const KindUpdate uint8 = 1

// PromiseAtomic is the promise that an update takes effect on all documents of
// its user or on none.
const PromiseAtomic = "atomic updates"

// Work is a definition.Work.
type Work struct {
	Store
	definition.InRounds
	config  Config
	seed    uint64
	workers []int
	sampler sampler
}

// NewWork returns the work of this configuration and seed on a store, which it
// owns from then on. It returns Config.Validate's error.
func NewWork(store Store, config Config, seed uint64) (*Work, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	workers, err := config.workers()
	if err != nil {
		return nil, err
	}
	return &Work{Store: store, config: config, seed: seed, workers: workers, sampler: sampler{ask: store.Waits}}, nil
}

func (w *Work) Rows() int64 { return NewDocuments(w.config, w.seed).Len() }

func (w *Work) Load(ctx context.Context, loaded func(done, total int64)) error {
	return Open(ctx, w.Store, w.config, w.seed, loaded)
}

// Promise is PromiseAtomic, or empty.
func (w *Work) Promise() string {
	if w.Atomic() {
		return PromiseAtomic
	}
	return ""
}

// Rounds are one for each worker count. In each there is one task for each
// user, and the workers take them off a common list.
func (w *Work) Rounds() []load.Round {
	var rounds []load.Round
	for i, workers := range w.workers {
		r := &round{work: w, generation: int64(i) + 1}
		rounds = append(rounds, load.Round{
			Name: roundName(workers), Clients: workers, Ops: uint64(w.config.Users), Tasks: &r.tasks, Elsewhere: r.elsewhere,
			Ready: func(ctx context.Context) error {
				w.sampler.begin(ctx, roundName(workers), workers, &r.busy)
				return nil
			},
			Client: r.client,
		})
	}
	return rounds
}

// Settle is the Store's; the last round is over with it.
func (w *Work) Settle(ctx context.Context) error {
	w.sampler.stop()
	return w.Store.Settle(ctx)
}

func (w *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	if err := w.sampler.save(filepath.Join(folder, FileWaits)); err != nil {
		return err
	}
	return Save(ctx, w.Store, filepath.Join(folder, FileState), read)
}

// Close releases the Store.
func (w *Work) Close() error {
	w.sampler.stop()
	return w.Store.Close()
}

// round is one stretch of the run. All its clients share it.
type round struct {
	work       *Work
	generation int64
	// tasks are the users, from 0, and busy is how many are being worked on.
	tasks load.Tasks
	busy  atomic.Int64
}

// elsewhere implements load.Round.Elsewhere: somebody is busy as long as the round goes on.
func (r *round) elsewhere(working bool) {
	if working {
		r.busy.Add(1)
	} else {
		r.busy.Add(-1)
	}
}

func (r *round) client(ctx context.Context, _ int) (load.Client, error) {
	connection, err := workload.Connect(ctx, r.work.Session)
	if err != nil {
		return nil, err
	}
	return &client{Connection: connection, round: r}, nil
}

// client is one worker.
type client struct {
	workload.Connection[Session]
	round  *round
	user   int64
	values [3]int64
}

// Attempt implements load.Client. The engine has as many operations done as
// there are tasks; a task stays with who took it until it is over.
func (c *client) Attempt(ctx context.Context, _ uint64, attempt int) load.Answer {
	if attempt == 1 {
		c.user = c.round.tasks.Take() + 1
	}
	generation := c.round.generation
	session, err := c.Session(ctx)
	reply := Reply{Reply: workload.Unsent(err)}
	if err == nil {
		c.round.busy.Add(1)
		reply = session.Update(ctx, c.user, generation, flagOf(generation))
		c.round.busy.Add(-1)
	}
	reply.Outcome = reply.Unrefused()
	c.After(reply.Outcome, reply.Broken)
	c.values = [3]int64{c.user, generation}
	if reply.Outcome == history.Committed {
		c.values[2] = reply.Changed
	}
	return load.Answer{Kind: KindUpdate, Outcome: reply.Outcome, Class: reply.Class, Disconnected: reply.Broken, Values: c.values[:]}
}

// Open loads all documents, config.Loaders batches at a time, and calls loaded,
// from one goroutine at a time, with the number of those that are in. Any
// failure gives a *definition.LoadError.
func Open(ctx context.Context, store Store, config Config, seed uint64, loaded func(done, total int64)) error {
	documents := NewDocuments(config, seed)
	of := definition.Loading{Loaders: config.Loaders, Rows: documents.Len(), Batch: MaxBatch, One: "document", Many: "documents", Finish: store.FinishLoad}
	return of.Load(ctx, func() load.Batch {
		batch := make([]Document, 0, MaxBatch)
		return func(ctx context.Context, first int64) (int, error) {
			batch = documents.Batch(first, batch)
			return len(batch), store.Load(ctx, batch)
		}
	}, loaded)
}
