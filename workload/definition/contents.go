package definition

import (
	"context"
	"fmt"

	"assay/load"
	"assay/store"
)

// Connect opens the first session of a client that does these statements.
func Connect(ctx context.Context, db store.Database, statements []store.Statement) (store.Connection[store.Session], error) {
	return store.Connect(ctx, func(ctx context.Context) (store.Session, error) { return db.Session(ctx, statements) })
}

// Empty is the part of a Work that is its database, which begins with an empty schema.
type Empty struct{ store.Database }

// Rows implements Work: none.
func (Empty) Rows() int64 { return 0 }

// Load implements Work and does nothing.
func (Empty) Load(context.Context, func(done, total int64)) error { return nil }

// Create implements Work. There is nothing to load, so the schema is loaded.
func (e Empty) Create(ctx context.Context, mark store.Marker) error {
	mark.Loaded = true
	return e.Database.Create(ctx, mark)
}

// Contents are the rows that a table begins with.
type Contents struct {
	Table   string
	Columns []string
	Rows    int64
	// Row appends the values of row number i, from 1. It is called from several goroutines.
	Row func(i int64, into []store.Value) []store.Value
}

// Loaded is the part of a Work that is its database and the rows that it begins with. It is
// Reloading.
type Loaded struct {
	store.Database
	Contents []Contents
	// Loaders is how many batches are loaded at the same time.
	Loaders int
	// One and Many are what the rows are called.
	One, Many string
}

// batchRows is how many rows a batch has, unless the database likes more.
const batchRows = 1000

// Rows implements Work.
func (l *Loaded) Rows() (rows int64) {
	for _, c := range l.Contents {
		rows += c.Rows
	}
	return rows
}

// Load implements Work. Any failure gives a *LoadError.
func (l *Loaded) Load(ctx context.Context, loaded func(done, total int64)) error {
	size := int64(batchRows)
	if bulk, is := store.As[store.Bulk](l.Database); is { // and all loaders have something to do
		each := (l.Rows() + int64(l.Loaders) - 1) / int64(l.Loaders)
		size = max(min(each, int64(bulk.BulkRows())), size)
	}
	return l.loading(size).Load(ctx, l.batches(size, l.Database.Load), loaded)
}

// LoadThrough implements Reloading, for tables whose key is the number of the row. The
// batches are small, since what fails is loaded again.
func (l *Loaded) LoadThrough(ctx context.Context, loaded func(done, total int64), rowsIn func()) (again int64, err error) {
	return l.loading(batchRows).LoadThrough(ctx, l.Database, l.batches(batchRows, l.Database.Load), l.batches(batchRows, l.reload), loaded, rowsIn)
}

func (l *Loaded) loading(size int64) Loading {
	return Loading{Loaders: l.Loaders, Rows: l.Rows(), Batch: size, One: l.One, Many: l.Many, Finish: l.FinishLoad}
}

// batches are the rows of all tables in batches of this size, each of which is put in,
// table by table.
func (l *Loaded) batches(size int64, put func(context.Context, store.Rows) error) func() load.Batch {
	batch := func(ctx context.Context, first int64) (int, error) {
		done := int64(0)
		for _, c := range l.Contents {
			if first > c.Rows {
				first -= c.Rows
				continue
			}
			count, from := min(c.Rows-first+1, size-done), first
			err := put(ctx, store.Rows{Table: c.Table, Columns: c.Columns, Count: int(count),
				Row: func(i int, into []store.Value) []store.Value { return c.Row(from+int64(i), into) }})
			if err != nil {
				return int(done), err
			}
			if done += count; done == size {
				break
			}
			first = 1
		}
		return int(done), nil
	}
	return func() load.Batch { return batch }
}

// reload loads rows whose loading has ended in an error and of which nothing is in flight
// any more: those that are there stay. Where a batch is one transaction, it is in or not as
// a whole.
func (l *Loaded) reload(ctx context.Context, rows store.Rows) error {
	key := rows.Columns[0]
	first := rows.Row(0, nil)[0].Number
	there := map[int64]bool{}
	in := store.Statement{Name: "loaded", Verb: store.Read, Table: rows.Table, Columns: []string{key}, Where: []store.Condition{
		{Column: key, Is: store.AtLeast, Value: store.Parameter(1)}, {Column: key, Is: store.Below, Value: store.Parameter(2)}}}
	err := l.View(ctx, func(r store.Reader) error {
		return r.Read(ctx, in, func(row store.Row) error {
			var n int64
			err := row.Scan(&n)
			there[n] = true
			return err
		}, store.OfInts(first, first+int64(rows.Count))...)
	})
	if err != nil || len(there) == rows.Count {
		return err
	}
	if len(there) > 0 && l.Promises().Atomic {
		return fmt.Errorf("of a batch of %d %s %d are there, though it was one transaction", rows.Count, l.Many, len(there))
	}
	var left []int
	for i := range rows.Count {
		if !there[first+int64(i)] {
			left = append(left, i)
		}
	}
	some := rows
	some.Count = len(left)
	some.Row = func(i int, into []store.Value) []store.Value { return rows.Row(left[i], into) }
	return l.Database.Load(ctx, some)
}

// TaskClient is a client of a round whose clients take the tasks off a common list.
type TaskClient struct {
	store.Connection[store.Session]
	Kind  uint8
	Tasks *load.Tasks
	// Do makes one attempt of a task.
	Do func(ctx context.Context, session store.Session, task int64) store.Reply
	// Values are the values of history.Op, of an attempt that ended so.
	Values func(task int64, r store.Reply) []int64

	task int64
}

// Attempt implements load.Client. The engine has as many operations done as there are
// tasks; a task stays with who took it until it is over.
func (c *TaskClient) Attempt(ctx context.Context, _ uint64, attempt int) load.Answer {
	if attempt == 1 {
		c.task = c.Tasks.Take()
	}
	session, err := c.Session(ctx)
	reply := store.Unsent(err)
	if err == nil {
		reply = c.Do(ctx, session, c.task)
	}
	reply.Outcome = reply.Unrefused()
	c.After(reply.Outcome, reply.Broken)
	answer := reply.Answer(c.Kind)
	answer.Values = c.Values(c.task, reply)
	return answer
}
