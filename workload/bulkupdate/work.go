package bulkupdate

import (
	"context"
	"path/filepath"
	"sync/atomic"

	"assay/history"
	"assay/load"
	"assay/store"
	"assay/workload/definition"
)

// FileState has the documents and FileWaits the lock figures, in a run's folder.
const (
	FileState = "bulkupdate.bin"
	FileWaits = "bulkupdate-waits.json"
)

// KindUpdate updates all documents of a user. Its Values are the user, the generation, and how
// many documents the database claims to have changed: 0 unless acknowledged.
const KindUpdate uint8 = 1

// PromiseAtomic promises that an update changes all documents of its user or none.
const PromiseAtomic = "atomic updates"

type work struct {
	definition.Loaded
	definition.InRounds
	config  Config
	workers []int
	sampler sampler
}

func (c *Config) Open(_ context.Context, db store.Database, seed uint64, _ int) (definition.Work, error) {
	all := documents{*c, seed}
	w := &work{config: *c}
	w.workers, _ = c.workers() // Validate says what is wrong
	w.Loaded = definition.Loaded{Database: db, Loaders: c.Loaders, One: "document", Many: "documents", Contents: []definition.Contents{{
		Table: table, Columns: Columns().Names, Rows: all.Len(),
		Row: func(i int64, into []store.Value) []store.Value {
			d := all.At(i)
			return store.AppendFields(into, Columns().Fields(&d))
		}}}}
	if counting, is := store.As[store.Counting](db); is {
		w.sampler.ask = counting.Waits
	}
	return w, nil
}

func (w *work) Promise() string {
	if w.Promises().Atomic {
		return PromiseAtomic
	}
	return ""
}

// Rounds are one for each worker count, with one task for each user.
func (w *work) Rounds() []load.Round {
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

// Settle also ends the last round.
func (w *work) Settle(ctx context.Context) error {
	w.sampler.stop()
	return w.Database.Settle(ctx)
}

func (w *work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	if err := w.sampler.save(filepath.Join(folder, FileWaits)); err != nil {
		return err
	}
	return save(filepath.Join(folder, FileState), read, func(use func(Document) error) error {
		return store.ReadAll(ctx, w.View, func(r store.Reader) error { return store.Each(ctx, r, table, Columns(), use) })
	})
}

func (w *work) Close() error {
	w.sampler.stop()
	return w.Database.Close()
}

// round is shared by its clients.
type round struct {
	work       *work
	generation int64
	// tasks are the users, from 0; busy counts those in work.
	tasks load.Tasks
	busy  atomic.Int64
}

// elsewhere implements load.Round.Elsewhere: a round in another process counts as busy.
func (r *round) elsewhere(working bool) {
	if working {
		r.busy.Add(1)
	} else {
		r.busy.Add(-1)
	}
}

func statements() []store.Statement {
	return []store.Statement{{Name: "update", Verb: store.Update, Table: table, Where: store.Where("owner"),
		Set: []store.Assignment{store.Set("flag", store.Parameter(2)), store.Set("generation", store.Parameter(3))}}}
}

// update sets flag and generation of a user's documents in one statement.
func update(user, generation int64, flag bool) store.Call {
	return store.Call{Parameters: []store.Value{store.OfInt(user), store.OfBool(flag), store.OfInt(generation)}}
}

func (r *round) client(ctx context.Context, _ int) (load.Client, error) {
	connection, err := definition.Connect(ctx, r.work.Database, statements())
	if err != nil {
		return nil, err
	}
	return &definition.TaskClient{Connection: connection, Kind: KindUpdate, Tasks: &r.tasks,
		Do: func(ctx context.Context, session store.Session, task int64) store.Reply {
			r.busy.Add(1)
			defer r.busy.Add(-1)
			return session.Run(ctx, update(task+1, r.generation, flagOf(r.generation)))
		},
		Values: func(task int64, reply store.Reply) []int64 {
			if reply.Outcome != history.Committed {
				reply.Affected = 0
			}
			return []int64{task + 1, r.generation, reply.Affected}
		},
	}, nil
}
