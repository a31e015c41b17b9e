package availability

import (
	"context"
	"math/rand/v2"
	"path/filepath"

	"assay/load"
	"assay/workload"
)

// FileState is the name of the saved rows in a run's folder.
const FileState = "availability.bin"

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

// Rows is how many rows Load creates: none, since a run begins with nothing.
func (w *Work) Rows() int64 { return 0 }

// Create makes the empty table. There is nothing to load, so it is loaded.
func (w *Work) Create(ctx context.Context, mark workload.Marker) error {
	mark.Loaded = true
	return w.Store.Create(ctx, mark)
}

// Load does nothing.
func (w *Work) Load(context.Context, func(done, total int64)) error { return nil }

// Client opens a session for client number n, which inserts.
func (w *Work) Client(ctx context.Context, n int) (load.Client, error) {
	session, err := w.Store.Session(ctx)
	if err != nil {
		return nil, err
	}
	return &writer{
		connection: connection{store: w.Store, session: session},
		policy:     w.config.Policy, seed: w.seed, number: n, recent: &w.recent,
	}, nil
}

// Observers are the clients that read while the others insert, and how many
// times a second they do so together. They connect with their first read. In
// the history they may have any numbers that no writer has.
func (w *Work) Observers() (clients []load.Client, perSecond float64) {
	if !w.config.reads() {
		return nil, 0
	}
	for n := range w.config.Readers {
		clients = append(clients, &reader{
			connection: connection{store: w.Store}, recent: &w.recent,
			random: rand.New(rand.NewPCG(w.seed, uint64(n))),
		})
	}
	return clients, w.config.ReadRate
}

// Promise is what the database promises of reads; see Promising.
func (w *Work) Promise() string {
	if p, ok := w.Store.(Promising); ok {
		return p.Promise()
	}
	return ""
}

// Save reads the database back into the run's folder.
func (w *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return Save(ctx, w.Store, filepath.Join(folder, FileState), read)
}
