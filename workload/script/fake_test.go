package script

import (
	"context"
	"errors"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// fakeTransaction answers each query with the next of its answers, and keeps what was
// sent.
type fakeTransaction struct {
	sent    []sent
	answers [][][]any
	err     error
}

type sent struct {
	text       string
	parameters []any
}

func (f *fakeTransaction) Query(_ context.Context, s Statement, row func([]any) error) error {
	f.sent = append(f.sent, sent{s.Text, s.Parameters})
	if f.err != nil || len(f.answers) == 0 || row == nil {
		return f.err
	}
	rows := f.answers[0]
	f.answers = f.answers[1:]
	for _, r := range rows {
		if err := row(r); err != nil {
			return err
		}
	}
	return nil
}

func (f *fakeTransaction) Execute(_ context.Context, s Statement) (int64, error) {
	f.sent = append(f.sent, sent{s.Text, s.Parameters})
	return 1, f.err
}

// fakeSession ends a transaction whose work had no error with this outcome.
type fakeSession struct {
	tx      *fakeTransaction
	outcome history.Outcome
	// single are the statements that were sent alone.
	single []Statement
}

func (s *fakeSession) Transaction(ctx context.Context, _ bool, work func(context.Context, Transaction) error) store.Reply {
	if err := work(ctx, s.tx); err != nil {
		return store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: err}
	}
	return store.Reply{Outcome: s.outcome}
}

func (s *fakeSession) Single(_ context.Context, of Statement) store.Reply {
	s.single = append(s.single, of)
	return store.Reply{Outcome: s.outcome}
}

func (s *fakeSession) Texts(context.Context, bool, func(context.Context, store.Sender) error) store.Reply {
	return store.Reply{Outcome: history.Failed, Class: store.ClassOther}
}

func (s *fakeSession) Close() {}

// clientOf is a client of this script on a session.
func clientOf(t *testing.T, text string, session *fakeSession) *client {
	t.Helper()
	p, err := configOf("x.star", text).compile(0)
	expect.NoError(t, err)
	c := &client{work: &Work{program: p, seed: 7}, number: 3}
	c.Connection.Open = func(context.Context) (Session, error) { return session, nil }
	return c
}

// TestOutcomes: a refusal is rejected, a wrong script ends the run, an answer that was not
// expected counts only where the transaction committed, and done() settles an operation
// whose earlier attempt is unknown.
func TestOutcomes(t *testing.T) {
	const script = `
def f(tx, r):
    n = tx.value("SELECT $1", r.id())
    if n == 1:
        reject("one")
    if n == 2:
        done()
    if n == 3:
        n = n + ""
    tx.expect(n, at_least = 5, what = "n")
transaction("f", run = f)
`
	one := func(v any) *fakeTransaction { return &fakeTransaction{answers: [][][]any{{{v}}}} }
	for name, c := range map[string]struct {
		tx      *fakeTransaction
		outcome history.Outcome
		want    history.Outcome
		class   string
		values  []int64
		ends    bool
	}{
		"committed":        {one(int64(5)), history.Committed, history.Committed, "", []int64{1, 0}, false},
		"unexpected":       {one(int64(4)), history.Committed, history.Committed, "", []int64{1, 1}, false},
		"null":             {one(nil), history.Committed, history.Committed, "", []int64{1, 1}, false},
		"unexpected, lost": {one(int64(4)), history.Unknown, history.Unknown, "", nil, false},
		"rejected":         {one(int64(1)), history.Committed, history.Rejected, "one", nil, false},
		"done at first":    {one(int64(2)), history.Committed, history.Failed, store.ClassOther, nil, true},
		"wrong":            {one(int64(3)), history.Committed, history.Failed, ClassScript, nil, true},
		"two columns":      {&fakeTransaction{answers: [][][]any{{{int64(1), int64(2)}}}}, history.Committed, history.Failed, ClassScript, nil, true},
		"two rows":         {&fakeTransaction{answers: [][][]any{{{int64(1)}, {int64(2)}}}}, history.Committed, history.Failed, ClassScript, nil, true},
		"database":         {&fakeTransaction{err: errors.New("broken")}, history.Committed, history.Failed, store.ClassOther, nil, false},
	} {
		client := clientOf(t, script, &fakeSession{tx: c.tx, outcome: c.outcome})
		a := client.Attempt(t.Context(), 9, 1)
		if a.Outcome != c.want || a.Class != c.class || (a.Err != nil) != c.ends || len(a.Values) != len(c.values) || len(a.Values) == 2 && [2]int64(a.Values) != [2]int64(c.values) {
			t.Errorf("%s: %+v", name, a)
		}
		if kept := len(client.work.findings.list()); (kept > 0) != (len(c.values) == 2 && c.values[1] > 0) {
			t.Errorf("%s: %d findings", name, kept)
		}
		if c.ends {
			var wrong *Error
			if !errors.As(a.Err, &wrong) {
				t.Errorf("%s: ends with %v", name, a.Err)
			}
		}
	}
	again := clientOf(t, script, &fakeSession{tx: one(int64(5)), outcome: history.Unknown})
	first := again.Attempt(t.Context(), 1, 1)
	again.Connection.Open = func(context.Context) (Session, error) {
		return &fakeSession{tx: one(int64(2)), outcome: history.Committed}, nil
	}
	if second := again.Attempt(t.Context(), 1, 2); first.Outcome != history.Unknown || !second.Done || second.Confirmed || second.Class != store.ClassMet || second.Err != nil {
		t.Errorf("unknown and then done: %+v, %+v", first, second)
	}
}

// TestAttemptsDrawTheSame: what an operation draws is a function of the seed and its
// number, the same in each attempt, and ids are unique.
func TestAttemptsDrawTheSame(t *testing.T) {
	const script = `
def f(tx, r):
    tx.exec("INSERT INTO a VALUES ($1, $2, $3, $4, $5, $6)", r.id(), r.id(), r.range(1, 1000000), r.name(), r.text(9), r.zipf(1, 50))
transaction("f", run = f, weight = 3)
transaction("g", run = f)
`
	ids := map[any]bool{}
	drawn := map[any]bool{}
	kinds := map[uint8]int{}
	for seq := range uint64(200) {
		first, second := &fakeTransaction{}, &fakeTransaction{}
		a := clientOf(t, script, &fakeSession{tx: first, outcome: history.Unknown}).Attempt(t.Context(), seq, 1)
		b := clientOf(t, script, &fakeSession{tx: second, outcome: history.Committed}).Attempt(t.Context(), seq, 2)
		if a.Kind != b.Kind || len(first.sent) != 1 || len(second.sent) != 1 {
			t.Fatalf("%+v, %+v", a, b)
		}
		kinds[a.Kind]++
		for i, v := range first.sent[0].parameters {
			if second.sent[0].parameters[i] != v {
				t.Errorf("operation %d drew %v and then %v", seq, v, second.sent[0].parameters[i])
			}
			if i < 2 && ids[v] {
				t.Errorf("the id %v is given twice", v)
			}
			ids[v] = ids[v] || i < 2
		}
		drawn[first.sent[0].parameters[2]] = true
	}
	if len(drawn) < 195 || kinds[1] < 120 || kinds[2] < 25 || kinds[1]+kinds[2] != 200 {
		t.Errorf("%d numbers were drawn; %v", len(drawn), kinds)
	}
}

// TestEndlessTransactions end: by their steps, and with their time.
func TestEndlessTransactions(t *testing.T) {
	const script = `
def f(tx, r):
    for i in range(1000000000):
        x = i
transaction("f", run = f)
`
	c := clientOf(t, script, &fakeSession{tx: &fakeTransaction{}, outcome: history.Committed})
	if a := c.Attempt(t.Context(), 0, 1); a.Err == nil || a.Class != ClassScript {
		t.Errorf("%+v", a)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if a := c.Attempt(over, 0, 1); a.Err != nil || a.Outcome == history.Committed {
		t.Errorf("in a context that is over: %+v", a)
	}
}
