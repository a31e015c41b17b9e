package availability

import (
	"context"
	"sync"

	"assay/history"
	"assay/store"
	"assay/workload/keyvalue"
)

// row is a row of Schema.
type row struct{ Key, Value int64 }

// fake is a database in memory whose every answer a test can take over. What is
// not taken over does the obvious.
type fake struct {
	store.Database // what no test of these calls
	mu             sync.Mutex
	rows           []row
	mark           store.Marker
	sessions       int
	closed         int
	promise        string
	broken         error // at the end of a read of everything

	connect func(n int) error // n is how many sessions were asked for before
	insert  func(row) store.Reply
	get     func(key int64) store.Reply
}

func (f *fake) Create(_ context.Context, m store.Marker) error { f.mark = m; return nil }
func (f *fake) FinishLoad(context.Context) error               { f.mark.Loaded = true; return nil }
func (f *fake) Promises() store.Promises                       { return store.Promises{Reads: f.promise} }

func (f *fake) Session(context.Context, []store.Statement) (store.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions++
	if f.connect != nil {
		if err := f.connect(f.sessions - 1); err != nil {
			return nil, err
		}
	}
	return &fakeSession{of: f}, nil
}

func (f *fake) View(_ context.Context, read func(store.Reader) error) error { return read(f) }

func (f *fake) Read(_ context.Context, s store.Statement, use func(store.Row) error, _ ...store.Value) error {
	if s.Verb == store.Count {
		return use(store.Values(store.OfInts(int64(len(f.rows)))))
	}
	for _, r := range f.rows {
		if err := use(store.Values(store.OfInts(r.Key, r.Value))); err != nil {
			return err
		}
	}
	return f.broken
}

type fakeSession struct {
	store.Session // what no test of these calls
	of            *fake
	closed        bool
}

func (s *fakeSession) Run(_ context.Context, call store.Call) store.Reply {
	if s.closed {
		panic("a closed session was used")
	}
	f, key := s.of, call.Parameters[0].Number
	switch {
	case call.Statement == keyvalue.Insert && f.insert != nil:
		return f.insert(row{key, call.Parameters[1].Number})
	case call.Statement == keyvalue.Get && f.get != nil:
		return f.get(key)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if call.Statement == keyvalue.Insert {
		f.rows = append(f.rows, row{key, call.Parameters[1].Number})
	}
	reply := ended(history.Committed, "")
	for _, r := range f.rows {
		if r.Key == key && call.Statement == keyvalue.Get {
			reply.Err = call.Row(store.Values(store.OfInts(r.Key, r.Value)))
		}
	}
	return reply
}

func (s *fakeSession) Close() {
	s.closed = true
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.closed++
}

// ended is a reply.
func ended(outcome history.Outcome, class string) store.Reply {
	return store.Reply{Outcome: outcome, Class: class}
}
