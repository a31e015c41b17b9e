package entity

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"

	"assay/history"
	"assay/load"
	"assay/workload"
)

// FileState is the name of the saved entities in a run's folder.
const FileState = "entity.bin"

// loaders is how many sessions load at the same time.
const loaders = 8

// Work is the workload opened on one database: what a run does with it, phase
// by phase.
type Work struct {
	Store
	config Config
	seed   uint64
	recent recent
}

// NewWork returns the work of this configuration and seed on a store, which it
// owns from then on. It returns Config.Validate's error.
func NewWork(store Store, config Config, seed uint64) (*Work, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Work{Store: store, config: config, seed: seed}, nil
}

// Rows is how many entities Load creates.
func (w *Work) Rows() int64 { return w.config.Entities }

// Create makes the empty table.
func (w *Work) Create(ctx context.Context, mark workload.Marker) error {
	mark.Loaded = true
	return w.Store.Create(ctx, mark)
}

// Load writes the entities that are to be there before the run. The first
// error ends it.
func (w *Work) Load(ctx context.Context, loaded func(done, total int64)) error {
	total := w.config.Entities
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next, done atomic.Int64
	var telling sync.Mutex
	var all sync.WaitGroup
	for range min(loaders, total) {
		all.Go(func() {
			session, err := w.Session(ctx)
			if err != nil {
				stop(err)
				return
			}
			defer session.Close()
			for seq := next.Add(1) - 1; seq < total && ctx.Err() == nil; seq = next.Add(1) - 1 {
				if err := w.loadOne(ctx, session, uint64(seq)); err != nil {
					stop(err)
					return
				}
				if n := done.Add(1); n%256 == 0 || n == total {
					telling.Lock()
					loaded(n, total)
					telling.Unlock()
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func (w *Work) loadOne(ctx context.Context, session Session, seq uint64) error {
	key, _ := Key(loader, seq)
	reply := session.Put(ctx, Make(w.seed, key))
	switch {
	case reply.Outcome == history.Committed:
		return nil
	case reply.Err != nil:
		return fmt.Errorf("load entity %d: %w", seq, reply.Err)
	default:
		return fmt.Errorf("load entity %d: it ended %v (%s)", seq, reply.Outcome, reply.Class)
	}
}

// Client opens a session for client number n.
func (w *Work) Client(ctx context.Context, n int) (load.Client, error) {
	session, err := w.Session(ctx)
	if err != nil {
		return nil, err
	}
	return &client{
		store: w.Store, session: session, config: w.config, seed: w.seed, number: n, recent: &w.recent,
		random: rand.New(rand.NewPCG(w.seed, uint64(n))),
	}, nil
}

// Observers are none: the clients themselves read.
func (w *Work) Observers() (clients []load.Client, perSecond float64) { return nil, 0 }

// Promise is what the database promises of reads; see Promising.
func (w *Work) Promise() string {
	if p, ok := w.Store.(Promising); ok {
		return p.Promise()
	}
	return ""
}

// Save reads the database back into the run's folder.
func (w *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return Save(ctx, w.Store, w.seed, filepath.Join(folder, FileState), read)
}
