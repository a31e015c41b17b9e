package journal

import (
	"context"
	"errors"
	"slices"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/load"
	"assay/store"
	"assay/workload"
)

const kindOperation uint8 = 3

// fake opens sessions whose every step a test can take over.
type fake struct {
	sessions []*fakeSession
	connect  func(n int) error // n is how many sessions were asked for before
	answer   func() store.Reply
}

// fakeSession keeps what it was asked for.
type fakeSession struct {
	asked  []int64
	closed int
}

func (s *fakeSession) Close() { s.closed++ }

// worked is a Work on the fake.
func worked(f *fake) *Work[*fakeSession] {
	return &Work[*fakeSession]{
		Session: func(context.Context) (*fakeSession, error) {
			f.sessions = append(f.sessions, &fakeSession{})
			if f.connect != nil {
				if err := f.connect(len(f.sessions) - 1); err != nil {
					return nil, err
				}
			}
			return f.sessions[len(f.sessions)-1], nil
		},
		Kind: func(int64) uint8 { return kindOperation },
		Do: func(_ context.Context, s *fakeSession, id int64) (store.Reply, []int64) {
			if s.closed > 0 {
				panic("a closed session was used")
			}
			s.asked = append(s.asked, id)
			if f.answer == nil {
				return store.Reply{Outcome: history.Committed}, nil
			}
			return f.answer(), []int64{10, 2}
		},
	}
}

func newTestClient(t *testing.T, f *fake, number int) load.Client {
	t.Helper()
	c, err := worked(f).Client(t.Context(), number)
	expect.NoError(t, err)
	return c
}

func TestClientDoesItsOwnOperations(t *testing.T) {
	db := &fake{}
	c := newTestClient(t, db, 3)
	defer c.Close()
	for seq := range uint64(5) {
		c.Attempt(t.Context(), seq, 1)
		c.Attempt(t.Context(), seq, 2)
	}
	asked := db.sessions[0].asked
	if len(asked) != 10 || len(db.sessions) != 1 {
		t.Fatalf("%d operations on %d sessions, want 10 on one", len(asked), len(db.sessions))
	}
	for i, got := range asked {
		if want := workload.OperationID(3, uint64(i/2)); got != want {
			t.Errorf("operation %d had the id %d, want %d", i/2, got, want)
		}
	}
}

// TestClientReplacesItsSession gives one reply and then asks which session the
// next attempt used.
func TestClientReplacesItsSession(t *testing.T) {
	tests := []struct {
		name     string
		reply    store.Reply
		replaced bool
		lost     bool
	}{
		{"committed", store.Reply{Outcome: history.Committed}, false, false},
		{"rejected", store.Reply{Outcome: history.Rejected, Class: "no funds"}, false, false},
		{"failed", store.Reply{Outcome: history.Failed, Class: store.ClassDeadlock}, false, false},
		{"failed and broken", store.Reply{Outcome: history.Failed, Class: store.ClassLost, Broken: true}, true, true},
		{"committed and broken", store.Reply{Outcome: history.Committed, Broken: true}, true, true},
		{"unknown", store.Reply{Class: store.ClassTimeout}, true, false},
		{"unknown and broken", store.Reply{Class: store.ClassLost, Broken: true}, true, true},
		{"duplicate at first", store.Reply{Outcome: history.Failed, Duplicate: true, Class: store.ClassDuplicate}, true, false},
	}
	for _, test := range tests {
		db := &fake{answer: func() store.Reply { return test.reply }}
		c := newTestClient(t, db, 0)
		answer := c.Attempt(t.Context(), 0, 1)
		if answer.Disconnected != test.lost || answer.Class != test.reply.Class || answer.Kind != kindOperation {
			t.Errorf("%s: answer %+v", test.name, answer)
		}
		if closed := db.sessions[0].closed == 1; closed != test.replaced {
			t.Errorf("%s: the session was closed %d times", test.name, db.sessions[0].closed)
		}
		c.Attempt(t.Context(), 1, 1)
		if replaced := len(db.sessions) == 2; replaced != test.replaced {
			t.Errorf("%s: %d sessions were opened", test.name, len(db.sessions))
		}
		c.Close()
		c.Close()
		for i, s := range db.sessions {
			if s.closed != 1 {
				t.Errorf("%s: session %d was closed %d times", test.name, i, s.closed)
			}
		}
	}
}

func TestClientThatCannotConnect(t *testing.T) {
	db := &fake{connect: func(n int) error {
		if n == 1 || n == 2 {
			return errors.New("nobody there")
		}
		return nil
	}}
	db.answer = func() store.Reply { return store.Reply{Class: store.ClassLost, Broken: true} }
	c := newTestClient(t, db, 0)
	defer c.Close()
	c.Attempt(t.Context(), 0, 1)
	for seq := uint64(1); seq <= 2; seq++ {
		want := load.Answer{Kind: kindOperation, Outcome: history.Failed, Class: store.ClassConnect, Disconnected: true}
		got := c.Attempt(t.Context(), seq, 1)
		if got.Outcome != want.Outcome || got.Class != want.Class || !got.Disconnected || got.Kind != want.Kind || got.Values != nil || got.Done {
			t.Errorf("attempt without a connection: %+v, want %+v", got, want)
		}
	}
	db.answer = nil
	if got := c.Attempt(t.Context(), 3, 1); got.Outcome != history.Committed || got.Disconnected {
		t.Errorf("the database is back, and the answer is %+v", got)
	}
}

func TestNewClientSaysWhyItCannotConnect(t *testing.T) {
	refused := errors.New("too many connections")
	w := worked(&fake{connect: func(int) error { return refused }})
	_, err := w.Client(t.Context(), 0)
	if !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

// TestClientJudgesDuplicates: a row of the operation's own id ends its repeating only if an
// attempt before may have written it, and is an acknowledgement only if it is confirmed.
func TestClientJudgesDuplicates(t *testing.T) {
	duplicate := store.Reply{Outcome: history.Failed, Duplicate: true, Class: store.ClassDuplicate}
	failed := store.Reply{Outcome: history.Failed, Class: store.ClassSerialization}
	rejected := store.Reply{Outcome: history.Rejected, Class: "no funds"}
	unknown := store.Reply{Class: store.ClassLost, Broken: true}
	confirmed := duplicate
	confirmed.Confirmed = true
	type want struct {
		outcome         history.Outcome
		done, confirmed bool
		class           string
	}
	tests := []struct {
		name    string
		replies []store.Reply
		last    want
	}{
		{"at the first attempt somebody sent it twice", []store.Reply{duplicate}, want{history.Unknown, false, false, store.ClassDuplicate}},
		{"confirmed or not", []store.Reply{confirmed}, want{history.Unknown, false, false, store.ClassDuplicate}},
		{"after an unknown attempt it met its own row", []store.Reply{unknown, duplicate}, want{history.Failed, true, false, store.ClassMet}},
		{"and still after a failed one between", []store.Reply{unknown, failed, duplicate}, want{history.Failed, true, false, store.ClassMet}},
		{"after a duplicate at first it met its own row", []store.Reply{duplicate, duplicate}, want{history.Failed, true, false, store.ClassMet}},
		{"of which the database has confirmed that it stays", []store.Reply{unknown, confirmed}, want{history.Failed, true, true, store.ClassDuplicate}},
		{"after failed attempts alone it is evidence", []store.Reply{failed, duplicate}, want{history.Failed, false, false, store.ClassDuplicate}},
		{"confirmed all the more", []store.Reply{failed, confirmed}, want{history.Failed, false, false, store.ClassDuplicate}},
		{"after a rejection alone it is evidence", []store.Reply{rejected, duplicate}, want{history.Failed, false, false, store.ClassDuplicate}},
	}
	for _, test := range tests {
		next := 0
		db := &fake{answer: func() store.Reply { next++; return test.replies[next-1] }}
		c := newTestClient(t, db, 0)
		var answer load.Answer
		for attempt := range test.replies {
			answer = c.Attempt(t.Context(), 0, attempt+1)
		}
		if got := (want{answer.Outcome, answer.Done, answer.Confirmed, answer.Class}); got != test.last {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.last)
		}
		c.Close()
	}
}

// TestClientForgetsTheOperationBefore: what is unsure of one operation says
// nothing of the next.
func TestClientForgetsTheOperationBefore(t *testing.T) {
	replies := []store.Reply{{Class: store.ClassTimeout}, {Outcome: history.Failed}, {Outcome: history.Failed, Duplicate: true}}
	next := 0
	db := &fake{answer: func() store.Reply { next++; return replies[next-1] }}
	c := newTestClient(t, db, 0)
	defer c.Close()
	c.Attempt(t.Context(), 0, 1)
	c.Attempt(t.Context(), 1, 1)
	if got := c.Attempt(t.Context(), 1, 2); got.Done || got.Outcome != history.Failed {
		t.Errorf("the duplicate of another operation was taken for success: %+v", got)
	}
}

func TestClientGivesTheAcknowledgedValues(t *testing.T) {
	reply := store.Reply{Outcome: history.Committed}
	db := &fake{answer: func() store.Reply { return reply }}
	c := newTestClient(t, db, 0)
	defer c.Close()
	if got := c.Attempt(t.Context(), 0, 1).Values; !slices.Equal(got, []int64{10, 2}) {
		t.Errorf("values %v", got)
	}
	reply.Outcome = history.Rejected
	if got := c.Attempt(t.Context(), 1, 1).Values; got != nil {
		t.Errorf("values %v of a rejected operation", got)
	}
}
