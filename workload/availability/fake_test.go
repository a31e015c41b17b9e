package availability

import (
	"context"
	"sync"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
)

// row is a record of Table.
type row struct{ Key, Value int64 }

func (r row) record() keyvalue.Record {
	return keyvalue.Record{Key: r.Key, Values: []keyvalue.Value{r.Value}}
}

func rowOf(r keyvalue.Record) row { return row{r.Key.(int64), r.Values[0].(int64)} }

// fake is a Store in memory whose every answer a test can take over. What is
// not taken over does the obvious.
type fake struct {
	workload.Store // what no test of these calls
	mu             sync.Mutex
	rows           []row
	mark           workload.Marker
	sessions       int
	closed         int
	promise        string

	connect func(n int) error // n is how many sessions were asked for before
	insert  func(row) keyvalue.Reply
	get     func(key int64) keyvalue.Reply
}

var _ keyvalue.Store = (*fake)(nil)

func (f *fake) Describe(context.Context) (workload.Product, error) {
	return workload.Product{Name: "fake"}, nil
}
func (f *fake) Find(context.Context) (*workload.Leftover, error)  { return nil, nil }
func (f *fake) Create(_ context.Context, m workload.Marker) error { f.mark = m; return nil }
func (f *fake) Settle(context.Context) error                      { return nil }
func (f *fake) Size(context.Context) (workload.Size, error)       { return workload.Size{}, nil }
func (f *fake) Drop(context.Context) error                        { return nil }
func (f *fake) Close() error                                      { return nil }
func (f *fake) Promise() string                                   { return f.promise }

func (f *fake) Session(context.Context) (keyvalue.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions++
	if f.connect != nil {
		if err := f.connect(f.sessions - 1); err != nil {
			return nil, err
		}
	}
	return &fakeSession{store: f}, nil
}

func (f *fake) Read(_ context.Context, use func(keyvalue.Record) error) error {
	for _, r := range f.rows {
		if err := use(r.record()); err != nil {
			return err
		}
	}
	return nil
}

type fakeSession struct {
	store  *fake
	closed bool
}

func (s *fakeSession) Insert(_ context.Context, record keyvalue.Record) keyvalue.Reply {
	inserted := rowOf(record)
	if s.closed {
		panic("a closed session was used")
	}
	if s.store.insert != nil {
		return s.store.insert(inserted)
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.rows = append(s.store.rows, inserted)
	return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

func (s *fakeSession) Get(_ context.Context, of keyvalue.Value) keyvalue.Reply {
	key := of.(int64)
	if s.closed {
		panic("a closed session was used")
	}
	if s.store.get != nil {
		return s.store.get(key)
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	for _, row := range s.store.rows {
		if row.Key == key {
			return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed}, Record: row.record(), Found: true}
		}
	}
	return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

func (s *fakeSession) Close() {
	s.closed = true
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.closed++
}
