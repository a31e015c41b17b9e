package journal

import (
	"context"
	"path/filepath"

	"assay/history"
	"assay/load"
	"assay/workload"
	"assay/workload/definition"
)

// Contents are the rows that a table begins with.
type Contents struct {
	Rows int64
	// Row is row number i, from 1.
	Row func(i int64) []int64
}

// Plan is what a workload says of its work.
type Plan[N Session] struct {
	State State
	// Contents are those of the first tables; the others begin empty.
	Contents []Contents
	// Loaders is how many batches are loaded at the same time.
	Loaders int
	// Kind is the kind of an operation, by its id.
	Kind func(id int64) uint8
	// Do makes one attempt of an operation. The values are those of history.Op, of an
	// attempt that was committed.
	Do func(ctx context.Context, session N, id int64) (reply workload.Reply, values []int64)
}

// Work is a definition.Work but for Promise.
type Work[N Session] struct {
	Store[N]
	definition.NoObservers
	Plan Plan[N]
}

func (w *Work[N]) Rows() (rows int64) {
	for _, c := range w.Plan.Contents {
		rows += c.Rows
	}
	return rows
}

func (w *Work[N]) Load(ctx context.Context, loaded func(done, total int64)) error {
	of := definition.Loading{Loaders: w.Plan.Loaders, Rows: w.Rows(), Batch: MaxBatch, One: "row", Many: "rows", Finish: w.FinishLoad}
	return of.Load(ctx, func() load.Batch {
		return func(ctx context.Context, first int64) (int, error) { return w.loadBatch(ctx, first) }
	}, loaded)
}

// loadBatch loads the rows from number first on, counted over all tables.
func (w *Work[N]) loadBatch(ctx context.Context, first int64) (done int, err error) {
	for table, c := range w.Plan.Contents {
		if first > c.Rows {
			first -= c.Rows
			continue
		}
		count := min(c.Rows-first+1, int64(MaxBatch-done))
		rows := make([][]int64, count)
		for i := range rows {
			rows[i] = c.Row(first + int64(i))
		}
		if err := w.LoadRows(ctx, table, rows); err != nil {
			return done, err
		}
		if done += len(rows); done == MaxBatch {
			break
		}
		first = 1
	}
	return done, nil
}

func (w *Work[N]) Client(ctx context.Context, n int) (load.Client, error) {
	connection, err := workload.Connect(ctx, w.Session)
	if err != nil {
		return nil, err
	}
	return &client[N]{Connection: connection, plan: &w.Plan, number: n}, nil
}

func (w *Work[N]) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return w.Plan.State.Save(ctx, filepath.Join(folder, w.Plan.State.File), w.Read, read)
}

// client is one client of the run. Its operations are those of its number.
type client[N Session] struct {
	workload.Connection[N]
	plan   *Plan[N]
	number int
	// unsure is true if an earlier attempt of the operation is unknown.
	unsure bool
}

func (c *client[N]) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	if attempt == 1 {
		c.unsure = false
	}
	id := workload.OperationID(c.number, seq)
	session, err := c.Session(ctx)
	if err != nil {
		unsent := workload.Unsent(err)
		return unsent.Answer(c.plan.Kind(id))
	}
	reply, values := c.plan.Do(ctx, session, id)
	answer := reply.Answer(c.plan.Kind(id))
	if reply.Outcome == history.Committed {
		answer.Values = values
	}
	c.unsure = reply.Repeated(&answer, attempt, c.unsure)
	c.After(answer.Outcome, reply.Broken)
	return answer
}
