package bank

import (
	"context"
	"sync"

	"assay/history"
	"assay/workload"
)

// fake is a Store in memory whose every step a test can take over. What is not
// taken over does the obvious.
type fake struct {
	workload.Store // what no test of these calls
	mu             sync.Mutex
	accounts       []Account
	entries        []Entry
	finished       int
	sessions       []*fakeSession

	load    func(ctx context.Context, batch []Account) error
	finish  func() error
	connect func(n int) error // n is how many sessions were asked for before
	answer  func(t Transfer) Reply
	read    func(account func(Account) error, entry func(Entry) error) error
}

var _ Store = (*fake)(nil)

func (f *fake) Describe(context.Context) (workload.Product, error) {
	return workload.Product{Name: "fake"}, nil
}
func (f *fake) Find(context.Context) (*workload.Leftover, error) { return nil, nil }
func (f *fake) Create(context.Context, workload.Marker) error    { return nil }
func (f *fake) Settle(context.Context) error                     { return nil }
func (f *fake) Size(context.Context) (workload.Size, error)      { return workload.Size{}, nil }
func (f *fake) Drop(context.Context) error                       { return nil }
func (f *fake) Close() error                                     { return nil }

func (f *fake) LoadAccounts(ctx context.Context, batch []Account) error {
	if f.load != nil {
		if err := f.load(ctx, batch); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.accounts = append(f.accounts, batch...)
	return nil
}

func (f *fake) FinishLoad(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finished++
	if f.finish != nil {
		return f.finish()
	}
	return nil
}

func (f *fake) Session(context.Context) (Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &fakeSession{store: f}
	f.sessions = append(f.sessions, s)
	if f.connect != nil {
		if err := f.connect(len(f.sessions) - 1); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (f *fake) Read(_ context.Context, account func(Account) error, entry func(Entry) error) error {
	if f.read != nil {
		return f.read(account, entry)
	}
	for _, a := range f.accounts {
		if err := account(a); err != nil {
			return err
		}
	}
	for _, e := range f.entries {
		if err := entry(e); err != nil {
			return err
		}
	}
	return nil
}

// fakeSession keeps what it was asked for.
type fakeSession struct {
	store  *fake
	asked  []Transfer
	closed int
}

func (s *fakeSession) Transfer(_ context.Context, t Transfer) Reply {
	if s.closed > 0 {
		panic("a closed session was used")
	}
	s.asked = append(s.asked, t)
	if s.store.answer != nil {
		return s.store.answer(t)
	}
	return Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

func (s *fakeSession) Close() { s.closed++ }
