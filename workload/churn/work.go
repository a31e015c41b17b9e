package churn

import (
	"context"
	"fmt"
	"path/filepath"

	"assay/history"
	"assay/load"
	"assay/report"
	"assay/store"
	"assay/workload/definition"
)

// FileState has the rows and FileSizes the sizes after each round, in a run's folder.
const (
	FileState = "churn.bin"
	FileSizes = "churn-sizes.json"
)

// The kinds of operations. Values of an insert and a delete are cycle (0 for the fill) and task;
// a repair has none.
const (
	KindInsert uint8 = 1
	KindDelete uint8 = 2
	KindRepair uint8 = 3
)

const classRepair = "the repair did not end well"

type work struct {
	definition.Empty
	definition.InRounds
	definition.NoPromise
	compacting store.Compacting
	// repairs are the database's ways to return space, the mildest first.
	repairs []string
	rows    rows
	clients int
	// current is the current round; sizes are of the rounds before.
	current string
	sizes   []roundSize
}

type roundSize struct {
	Round string `json:"round"`
	Bytes int64  `json:"bytes"`
	Rows  int64  `json:"rows"`
	// Problem says why the size is not known.
	Problem string `json:"problem,omitempty"`
}

// Open also returns *store.OptionError for a database without a compaction.
func (c *Config) Open(_ context.Context, db store.Database, seed uint64, clients int) (definition.Work, error) {
	compacting, is := store.As[store.Compacting](db)
	if !is {
		return nil, fmt.Errorf("the database has no compaction that a client can ask for: %s", db.Lacks()[store.Compactions])
	}
	repairs, err := compacting.Compactions()
	if err != nil {
		return nil, err
	}
	return &work{Empty: definition.Empty{Database: db}, compacting: compacting, repairs: repairs, rows: rows{*c, seed}, clients: max(clients, 1)}, nil
}

// Size includes free space in the files.
func (w *work) Size(ctx context.Context) (store.Size, error) { return w.compacting.FileSize(ctx) }

// RoundNames has an empty name for the repairs.
func (c Config) RoundNames() []string {
	names := []string{"fill"}
	for cycle := int64(1); cycle <= c.Cycles; cycle++ {
		names = append(names, fmt.Sprintf("delete %d", cycle), fmt.Sprintf("refill %d", cycle))
	}
	if c.Repair {
		names = append(names, "")
	}
	return names
}

// Rounds are the fill, a deletion and a refill per cycle, and the repairs.
func (w *work) Rounds() []load.Round {
	all := []load.Round{w.round("fill", KindInsert, 0)}
	for cycle := int64(1); cycle <= w.rows.config.Cycles; cycle++ {
		all = append(all, w.round(fmt.Sprintf("delete %d", cycle), KindDelete, cycle), w.round(fmt.Sprintf("refill %d", cycle), KindInsert, cycle))
	}
	if !w.rows.config.Repair {
		return all
	}
	for _, name := range w.repairs {
		all = append(all, load.Round{Name: name, Clients: 1, Ops: 1, Apart: true, Ready: w.ready(name),
			Client: func(context.Context, int) (load.Client, error) { return &repairer{w.compacting, name}, nil }})
	}
	return all
}

func (w *work) round(name string, kind uint8, cycle int64) load.Round {
	tasks := w.rows.config.tasks()
	next := new(load.Tasks)
	return load.Round{
		Name: name, Tasks: next, Clients: int(min(int64(w.clients), tasks)), Ops: uint64(tasks), Ready: w.ready(name),
		Client: func(ctx context.Context, _ int) (load.Client, error) {
			connection, err := definition.Connect(ctx, w.Database, statements())
			if err != nil {
				return nil, err
			}
			return &definition.TaskClient{Connection: connection, Kind: kind, Tasks: next,
				Do: func(ctx context.Context, session store.Session, task int64) store.Reply {
					return w.rows.do(ctx, session, kind, cycle, task)
				},
				Values: func(task int64, _ store.Reply) []int64 { return []int64{cycle, task} },
			}, nil
		},
	}
}

func statements() []store.Statement {
	return []store.Statement{{Name: "delete", Verb: store.Delete, Table: table, Where: []store.Condition{{Column: "id", Is: store.In, Value: store.Parameter(1)}}}}
}

// do does a task by one statement. A task without rows is done.
func (r rows) do(ctx context.Context, session store.Session, kind uint8, cycle, task int64) store.Reply {
	if kind == KindInsert {
		if all := r.inserted(cycle, task); len(all) > 0 {
			return session.Insert(ctx, store.RowsOf(table, Columns(), all))
		}
	} else if ids := r.deleted(cycle, task); len(ids) > 0 {
		return session.Run(ctx, store.Call{Parameters: []store.Value{store.OfKeys(ids)}})
	}
	return store.Reply{Outcome: history.Committed}
}

// ready measures after the round before.
func (w *work) ready(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		w.measure(ctx)
		w.current = name
		return nil
	}
}

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
	s.Rows = report.RowsOf(size.Rows)
	w.sizes, w.current = append(w.sizes, s), ""
}

// Settle also measures after the last round.
func (w *work) Settle(ctx context.Context) error {
	if err := w.Database.Settle(ctx); err != nil {
		return err
	}
	w.measure(ctx)
	return nil
}

// Save saves rows and sizes. Without sizes it keeps the old file, since they cannot be measured
// again.
func (w *work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	if len(w.sizes) > 0 {
		if err := history.WriteJSON(filepath.Join(folder, FileSizes), w.sizes); err != nil {
			return err
		}
	}
	return save(filepath.Join(folder, FileState), read, func(use func(Row) error) error {
		return store.ReadAll(ctx, w.View, func(r store.Reader) error { return store.Each(ctx, r, table, Columns(), use) })
	})
}

type repairer struct {
	compacting store.Compacting
	name       string
}

// A repair that ended with an error may have done a part.
func (r *repairer) Attempt(ctx context.Context, _ uint64, _ int) load.Answer {
	if err := r.compacting.Compact(ctx, r.name); err != nil {
		return load.Answer{Kind: KindRepair, Outcome: history.Unknown, Class: classRepair}
	}
	return load.Answer{Kind: KindRepair, Outcome: history.Committed}
}

func (r *repairer) Close() {}
