package isolation

import (
	"context"
	"slices"

	"assay/history"
	"assay/workload"
)

// fake is a Store whose every step a test can take over. What is not taken
// over does the obvious.
type fake struct {
	workload.Store // what no test of these calls
	sessions       []*fakeSession
	created        workload.Marker

	connect func(n int) error // n is how many sessions were asked for before
	answer  func(ops []Op) Reply
	read    func(list func(int64, []int64) error, register func(int64, int64) error) error
}

var _ Store = (*fake)(nil)

func (f *fake) Describe(context.Context) (workload.Product, error) {
	return workload.Product{Name: "fake"}, nil
}
func (f *fake) Promise() string                                  { return "strict-serializable" }
func (f *fake) Find(context.Context) (*workload.Leftover, error) { return nil, nil }
func (f *fake) Create(_ context.Context, mark workload.Marker) error {
	f.created = mark
	return nil
}
func (f *fake) Settle(context.Context) error                { return nil }
func (f *fake) Size(context.Context) (workload.Size, error) { return workload.Size{}, nil }
func (f *fake) Drop(context.Context) error                  { return nil }
func (f *fake) Close() error                                { return nil }

func (f *fake) Session(context.Context) (Session, error) {
	s := &fakeSession{store: f}
	f.sessions = append(f.sessions, s)
	if f.connect != nil {
		if err := f.connect(len(f.sessions) - 1); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (f *fake) Read(_ context.Context, list func(int64, []int64) error, register func(int64, int64) error) error {
	if f.read == nil {
		return nil
	}
	return f.read(list, register)
}

// fakeSession keeps what it was asked for.
type fakeSession struct {
	store  *fake
	asked  [][]Op
	closed int
}

func (s *fakeSession) Do(_ context.Context, ops []Op) Reply {
	if s.closed > 0 {
		panic("a closed session was used")
	}
	s.asked = append(s.asked, slices.Clone(ops))
	if s.store.answer != nil {
		return s.store.answer(ops)
	}
	return Reply{Outcome: history.Committed}
}

func (s *fakeSession) Close() { s.closed++ }
