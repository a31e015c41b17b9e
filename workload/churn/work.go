package churn

import (
	"context"
	"fmt"
	"path/filepath"

	"assay/history"
	"assay/load"
	"assay/workload"
	"assay/workload/definition"
)

// FileState and FileSizes are the names of the saved rows and of the sizes
// after each round, in a run's folder.
const (
	FileState = "churn.bin"
	FileSizes = "churn-sizes.json"
)

// The kinds of operations in the history. The Values of an insert and of a
// delete are the cycle (0 for the fill) and the task; a repair has none.
const (
	KindInsert uint8 = 1
	KindDelete uint8 = 2
	KindRepair uint8 = 3
)

const classRepair = "the repair did not end well"

// work is a definition.Work.
type work struct {
	Store
	definition.NoLoading
	definition.InRounds
	definition.NoPromise
	rows    rows
	clients int
	// current is the round that goes on, sizes those after the rounds before.
	current string
	sizes   []roundSize
}

// roundSize is what the rows took on disk after a round.
type roundSize struct {
	Round string `json:"round"`
	Bytes int64  `json:"bytes"`
	Rows  int64  `json:"rows"`
	// Problem says why that is not known.
	Problem string `json:"problem,omitempty"`
}

func (c *Config) Open(_ context.Context, store workload.Store, seed uint64, clients int) (definition.Work, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &work{Store: store.(Store), rows: rows{*c, seed}, clients: max(clients, 1)}, nil
}

// Create makes the empty table. There is nothing to load, so it is loaded.
func (w *work) Create(ctx context.Context, mark workload.Marker) error {
	mark.Loaded = true
	return w.Store.Create(ctx, mark)
}

// Rounds are the filling, for each cycle a deletion and a refill, and the
// repairs.
func (w *work) Rounds() []load.Round {
	all := []load.Round{w.round("fill", KindInsert, 0)}
	for cycle := int64(1); cycle <= w.rows.config.Cycles; cycle++ {
		all = append(all, w.round(fmt.Sprintf("delete %d", cycle), KindDelete, cycle), w.round(fmt.Sprintf("refill %d", cycle), KindInsert, cycle))
	}
	if !w.rows.config.Repair {
		return all
	}
	for _, name := range w.Repairs() {
		all = append(all, load.Round{Name: name, Clients: 1, Ops: 1, Apart: true, Ready: w.ready(name),
			Client: func(context.Context, int) (load.Client, error) { return &repairer{w.Store, name}, nil }})
	}
	return all
}

func (w *work) round(name string, kind uint8, cycle int64) load.Round {
	tasks := w.rows.config.tasks()
	next := new(load.Tasks)
	return load.Round{
		Name: name, Tasks: next, Clients: int(min(int64(w.clients), tasks)), Ops: uint64(tasks), Ready: w.ready(name),
		Client: func(ctx context.Context, _ int) (load.Client, error) {
			connection, err := workload.Connect(ctx, w.Session)
			if err != nil {
				return nil, err
			}
			return &client{Connection: connection, work: w, kind: kind, cycle: cycle, next: next}, nil
		},
	}
}

// ready asks for the size after the round before.
func (w *work) ready(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		w.measure(ctx)
		w.current = name
		return nil
	}
}

// measure notes the size after the round that has ended.
func (w *work) measure(ctx context.Context) {
	if w.current == "" {
		return
	}
	s := roundSize{Round: w.current}
	size, err := w.Size(ctx)
	if err != nil {
		s.Problem = err.Error()
	}
	s.Bytes = size.Bytes
	for _, n := range size.Rows {
		s.Rows += n
	}
	w.sizes, w.current = append(w.sizes, s), ""
}

// Settle is the Store's; then the size after the last round is asked for.
func (w *work) Settle(ctx context.Context) error {
	if err := w.Store.Settle(ctx); err != nil {
		return err
	}
	w.measure(ctx)
	return nil
}

// Save reads the database back into the run's folder. The sizes are kept if
// there are any: they cannot be asked for again.
func (w *work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	if len(w.sizes) > 0 {
		if err := definition.SaveJSON(filepath.Join(folder, FileSizes), w.sizes); err != nil {
			return err
		}
	}
	return Save(ctx, w.Store, filepath.Join(folder, FileState), read)
}

// client is one that inserts or deletes.
type client struct {
	workload.Connection[Session]
	work   *work
	kind   uint8
	cycle  int64
	next   *load.Tasks
	task   int64
	values [2]int64
}

// Attempt implements load.Client. A task stays with who took it until it is
// over.
func (c *client) Attempt(ctx context.Context, _ uint64, attempt int) load.Answer {
	if attempt == 1 {
		c.task = c.next.Take()
	}
	reply := c.do(ctx)
	reply.Outcome = reply.Unrefused()
	c.After(reply.Outcome, reply.Broken)
	c.values = [2]int64{c.cycle, c.task}
	return load.Answer{Kind: c.kind, Outcome: reply.Outcome, Class: reply.Class, Disconnected: reply.Broken, Values: c.values[:]}
}

// do does the task. One that nothing falls to, by the seed, is done.
func (c *client) do(ctx context.Context) Reply {
	session, err := c.Session(ctx)
	if err != nil {
		return workload.Unsent(err)
	}
	if c.kind == KindInsert {
		if all := c.work.rows.inserted(c.cycle, c.task); len(all) > 0 {
			return session.Insert(ctx, all)
		}
	} else if ids := c.work.rows.deleted(c.cycle, c.task); len(ids) > 0 {
		return session.Delete(ctx, ids)
	}
	return Reply{Outcome: history.Committed}
}

// repairer runs one repair.
type repairer struct {
	store Store
	name  string
}

// Attempt implements load.Client. A repair that ended with an error may have
// done a part.
func (r *repairer) Attempt(ctx context.Context, _ uint64, _ int) load.Answer {
	if err := r.store.Repair(ctx, r.name); err != nil {
		return load.Answer{Kind: KindRepair, Outcome: history.Unknown, Class: classRepair}
	}
	return load.Answer{Kind: KindRepair, Outcome: history.Committed}
}

func (r *repairer) Close() {}
