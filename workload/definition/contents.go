package definition

import (
	"context"
	"fmt"

	"assay/load"
	"assay/store"
)

// Connect opens the first session of a client for these statements.
func Connect(ctx context.Context, db store.Database, statements []store.Statement) (store.Connection[store.Session], error) {
	return store.Connect(ctx, func(ctx context.Context) (store.Session, error) { return db.Session(ctx, statements) })
}

// Empty is embedded in a Work whose schema begins without rows.
type Empty struct{ store.Database }

func (Empty) Rows() int64 { return 0 }

func (Empty) Load(context.Context, func(done, total int64)) error { return nil }

// Create marks the schema as loaded at once: there is nothing to load.
func (e Empty) Create(ctx context.Context, mark store.Marker) error {
	mark.Loaded = true
	return e.Database.Create(ctx, mark)
}

// Contents describes the rows that a table begins with.
type Contents struct {
	Table   string
	Columns []string
	Rows    int64
	// Row appends the values of row i, counted from 1. Several goroutines call it.
	Row func(i int64, into []store.Value) []store.Value
}

// Loaded is embedded in a Work whose tables begin with rows. It implements Reloading.
type Loaded struct {
	store.Database
	Contents []Contents
	Loaders  int
	// One and Many are the nouns for the rows.
	One, Many string
}

// batchRows is the number of rows in a batch, less if loaders would have nothing to do; a store.Bulk
// can ask for more.
const batchRows = 1000

func (l *Loaded) Rows() (rows int64) {
	for _, c := range l.Contents {
		rows += c.Rows
	}
	return rows
}

// Load implements Work; every failure is a *LoadError.
func (l *Loaded) Load(ctx context.Context, loaded func(done, total int64)) error {
	each := max((l.Rows()+int64(l.Loaders)-1)/int64(l.Loaders), 1)
	size := min(int64(batchRows), each)
	if bulk, is := store.As[store.Bulk](l.Database); is {
		size = max(min(each, int64(bulk.BulkRows())), size)
	}
	return l.loading(size).Load(ctx, l.batches(size, l.Database.Load), loaded)
}

// LoadThrough implements Reloading for tables whose key is the row number.
func (l *Loaded) LoadThrough(ctx context.Context, loaded func(done, total int64), rowsIn func()) (again int64, err error) {
	return l.loading(batchRows).LoadThrough(ctx, l.Database, l.batches(batchRows, l.Database.Load), l.batches(batchRows, l.reload), loaded, rowsIn)
}

func (l *Loaded) loading(size int64) Loading {
	return Loading{Loaders: l.Loaders, Rows: l.Rows(), Batch: size, One: l.One, Many: l.Many, Finish: l.FinishLoad}
}

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

// reload loads the rows of a failed batch that are not there. Nothing of the batch may be in
// flight. Atomic batches that are there in part are an error.
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

// TaskClient is a client of a round whose clients take tasks off a shared list.
type TaskClient struct {
	store.Connection[store.Session]
	Kind  uint8
	Tasks *load.Tasks
	Do    func(ctx context.Context, session store.Session, task int64) store.Reply
	// Values returns the history.Op.Values of an attempt with this reply.
	Values func(task int64, r store.Reply) []int64

	task int64
}

// Attempt implements load.Client. A client keeps its task over all attempts of an operation.
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
