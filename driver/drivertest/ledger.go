package drivertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/history"
	"assay/store"
	"assay/workload"
)

// ledger remembers what was sent and answered: transfers between accounts, or records. It
// is safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	opening map[int64]int64 // the balances of the accounts
	sent    map[int64]*sentWrite
}

// sentWrite is one transfer or record. told is how it left the two accounts, by the reply
// that acknowledged it.
type sentWrite struct {
	entry
	content string
	// asAsked has the source changed before the destination; else the lower account is first,
	// as a deadlock takes long to be found.
	asAsked bool
	outcome history.Outcome
	told    [2]left
}

// left is how a transfer leaves an account; its version is 0 if that was not told.
type left struct{ balance, version int64 }

// state is what was read back.
type state struct {
	accounts map[int64]account
	entries  []entry
	records  []record
}

func newLedger() *ledger { return &ledger{opening: map[int64]int64{}, sent: map[int64]*sentWrite{}} }

func (l *ledger) reset() { l.opening, l.sent = map[int64]int64{}, map[int64]*sentWrite{} }

// holds adds accounts 1 to n.
func (l *ledger) holds(n int64) {
	for id := range n {
		l.opening[id+1] = opening
	}
}

// record adds one attempt; attempts of one id ask for the same.
func (l *ledger) record(w sentWrite) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.outcome != history.Committed {
		w.told = [2]left{}
	}
	if before, again := l.sent[w.ID]; again {
		if before.outcome == history.Committed {
			w.told = before.told
		}
		w.outcome = before.outcome.Then(w.outcome)
	}
	l.sent[w.ID] = &w
}

// problems are what contradicts the answers: rows that are missing, foreign or altered,
// versions that are not 1, 2, 3 ..., balances that do not follow from the entries, accounts
// that were told to be otherwise.
func (l *ledger) problems(s *state) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	there := map[int64]bool{}
	found := func(id int64, row any, same func(w *sentWrite) bool) {
		w := l.sent[id]
		switch {
		case w == nil:
			say("foreign row %+v", row)
		case there[id]:
			say("%+v is there twice", row)
		case w.outcome == history.Failed || w.outcome == history.Rejected:
			say("%+v is there, and it %v", row, w.outcome)
		case !same(w):
			say("%+v is there, sent was %+v", row, *w)
		}
		there[id] = true
	}
	changes := map[int64][]change{}
	for _, e := range s.entries {
		found(e.ID, e, func(w *sentWrite) bool {
			sent := e
			sent.SourceVersion, sent.DestinationVersion = 0, 0
			return sent == w.entry
		})
		var told [2]left
		if w := l.sent[e.ID]; w != nil {
			told = w.told
		}
		changes[e.Source] = append(changes[e.Source], change{e.ID, e.SourceVersion, -e.Amount, told[0]})
		changes[e.Destination] = append(changes[e.Destination], change{e.ID, e.DestinationVersion, e.Amount, told[1]})
	}
	for _, r := range s.records {
		found(r.ID, r, func(w *sentWrite) bool { return w.content == r.Content })
	}
	for id, w := range l.sent {
		if w.outcome == history.Committed && !there[id] {
			say("%d was acknowledged and is not there", id)
		}
	}
	for id, balance := range l.opening {
		want := replay(account{id, balance, 0}, changes[id], say)
		if a, exists := s.accounts[id]; !exists || a != want {
			say("%+v is there (%v), the entries say %+v", a, exists, want)
		}
	}
	if len(s.accounts) != len(l.opening) {
		say("%d accounts are there, want %d", len(s.accounts), len(l.opening))
	}
	return all
}

// change is what an entry did to an account, and how it was told to have left it.
type change struct {
	id, version, amount int64
	told                left
}

// replay makes the changes of an account in the order of their versions.
func replay(a account, changes []change, say func(format string, args ...any)) account {
	slices.SortFunc(changes, func(a, b change) int { return int(a.version - b.version) })
	for _, c := range changes {
		a.Version++
		a.Balance += c.amount
		if c.version != a.Version {
			say("account %d: version %d where %d was due", a.ID, c.version, a.Version)
		}
		if a.Balance < 0 {
			say("account %d: %d after version %d", a.ID, a.Balance, c.version)
		}
		if c.told.version != 0 && c.told != (left{a.Balance, a.Version}) {
			say("account %d: %d was told to leave it as %+v, the entries say %+v", a.ID, c.id, c.told, a)
		}
	}
	return a
}

// compare fails the test for each problem.
func (l *ledger) compare(t *testing.T, s *state) {
	t.Helper()
	if all := l.problems(s); len(all) > 0 {
		t.Errorf("answers and data do not fit:\n  %s", strings.Join(all[:min(len(all), 10)], "\n  "))
	}
}

// readAll reads what the ledger is about in one view, and calls back with each row.
func (f *storeFixture) readAll(ctx context.Context, view func(context.Context, func(store.Reader) error) error, each func() error) (*state, error) {
	s := &state{accounts: map[int64]account{}}
	err := store.ReadAll(ctx, view, func(r store.Reader) error {
		s.accounts, s.entries, s.records = map[int64]account{}, nil, nil
		if !f.schema.Transactions {
			return store.Each(ctx, r, "record", recordColumns(), func(r record) error {
				s.records = append(s.records, r)
				return each()
			})
		}
		if err := store.Each(ctx, r, "account", accountColumns(), func(a account) error {
			s.accounts[a.ID] = a
			return each()
		}, "id"); err != nil {
			return err
		}
		return store.Each(ctx, r, "entry", entryColumns(), func(e entry) error {
			s.entries = append(s.entries, e)
			return each()
		})
	})
	return s, err
}

// The statements of a storeClient: of transfers, and of records.
const (
	moveStatement = iota
	enterStatement
	enterToldStatement
	balanceStatement
)

const (
	recordStatement = iota
	contentStatement
)

func (f *storeFixture) clientStatements() []store.Statement {
	if !f.schema.Transactions {
		return f.named([]store.Statement{
			{Verb: store.Insert, Table: "record", Columns: recordColumns().Names},
			selecting("record", "content", store.Where("id")...),
		})
	}
	enter := store.Statement{Verb: store.Insert, Table: "entry", Columns: entryColumns().Names}
	told := enter
	enter.Values = []store.Expression{store.Parameter(1), store.Parameter(2), store.Parameter(3), store.Parameter(4),
		store.Left("account", "version", store.Parameter(2)), store.Left("account", "version", store.Parameter(3))}
	return f.named([]store.Statement{
		updating("account", "balance version", store.Where("id"), store.Add("balance", store.Parameter(2)), store.Add("version", store.Number(1))),
		enter, told,
		selecting("account", "balance", store.Where("id")...),
	})
}

// storeClient makes transfers or records of its own, every answer to which is in the
// ledger. It is used by one goroutine. One of an even number makes transfers in batches, one
// of an odd number in transactions whose statements follow from one another.
type storeClient struct {
	connection[store.Session]
	f      *storeFixture
	number int64
	seq    int64
}

func (f *storeFixture) client(db store.Database, number int) *storeClient {
	statements := f.clientStatements()
	dial := func(ctx context.Context) (store.Session, error) { return db.Session(ctx, statements) }
	return opened(f.fixture, &storeClient{connection: newConnection(f.fixture, dial), f: f, number: int64(number)})
}

// writer is client, as whileFailing wants it.
func (f *storeFixture) writer(db store.Database, number int) writer { return f.client(db, number) }

// next is a write with a fresh id.
func (c *storeClient) next() sentWrite {
	c.seq++
	source, step := (c.number+c.seq)%accounts, 1+c.seq%(accounts-1)
	id := (c.number+1)<<32 | c.seq
	if !c.f.schema.Transactions {
		return sentWrite{entry: entry{ID: id}, content: fmt.Sprintf("content of %d", id)}
	}
	return sentWrite{entry: entry{ID: id, Source: 1 + source, Destination: 1 + (source+step)%accounts, Amount: 1 + step}}
}

// write implements writer.
func (c *storeClient) write(ctx context.Context) (id any, reply workload.Reply) {
	w := c.next()
	return w.ID, c.do(ctx, w).Reply
}

// insist repeats a write until it is acknowledged. It is for the test's own goroutine.
func (c *storeClient) insist(ctx context.Context) sentWrite {
	c.t.Helper()
	w := c.next()
	if r := c.repeat(ctx, w); r.Outcome != history.Committed {
		c.t.Fatalf("write %d: %+v, want committed", w.ID, r)
	}
	return w
}

// repeat repeats a write while it fails and no constraint refuses it.
func (c *storeClient) repeat(ctx context.Context, w sentWrite) (r store.Reply) {
	retry(ctx, func() workload.Reply {
		r = c.do(ctx, w)
		again := r.Reply
		again.Duplicate = r.Violated != store.NoViolation // nothing to repeat
		return again
	})
	return r
}

// do makes one attempt and records it.
func (c *storeClient) do(ctx context.Context, w sentWrite) (r store.Reply) {
	r.Reply = c.attempt(ctx, fmt.Sprintf("write %d", w.ID), func(session store.Session) workload.Reply {
		switch {
		case !c.f.schema.Transactions && c.seq%2 == 0:
			r = session.Insert(ctx, store.RowsOf("record", recordColumns(), []record{{w.ID, w.content}}))
		case !c.f.schema.Transactions:
			r = session.Run(ctx, store.Call{Statement: recordStatement, Parameters: with(w.ID, w.content)})
		case c.number%2 == 0:
			r, w.told = c.batch(ctx, session, w)
		default:
			r, w.told = c.transaction(ctx, session, w)
		}
		return r.Inserted()
	})
	w.outcome = r.Outcome
	c.f.ledger.record(w)
	return r
}

// moved takes an account as a move leaves it.
func moved(a *left) func(store.Row) error {
	return func(r store.Row) error { return r.Scan(&a.balance, &a.version) }
}

func (c *storeClient) batch(ctx context.Context, session store.Session, w sentWrite) (store.Reply, [2]left) {
	told := new([2]left)
	calls := []store.Call{
		{Statement: moveStatement, Parameters: with(w.Source, -w.Amount), Row: moved(&told[0])},
		{Statement: moveStatement, Parameters: with(w.Destination, w.Amount), Row: moved(&told[1])},
		{Statement: enterStatement, Parameters: with(w.ID, w.Source, w.Destination, w.Amount)},
	}
	if w.Destination < w.Source && !w.asAsked {
		calls[0], calls[1] = calls[1], calls[0]
	}
	r := session.Batch(ctx, &store.Batch{Calls: calls})
	if r.Outcome != history.Committed { // what comes late must not be read
		return r, [2]left{}
	}
	return r, *told
}

func (c *storeClient) transaction(ctx context.Context, session store.Session, w sentWrite) (store.Reply, [2]left) {
	told := new([2]left)
	r := session.Transaction(ctx, true, func(ctx context.Context, tx store.Transaction) error {
		steps := []func() (int64, error){
			func() (int64, error) { return tx.Do(ctx, moveStatement, moved(&told[0]), with(w.Source, -w.Amount)...) },
			func() (int64, error) {
				return tx.Do(ctx, moveStatement, moved(&told[1]), with(w.Destination, w.Amount)...)
			},
		}
		if w.Destination < w.Source && !w.asAsked {
			slices.Reverse(steps)
		}
		_, err := steps[0]()
		if err == nil {
			_, err = steps[1]()
		}
		if err == nil {
			_, err = tx.Do(ctx, enterToldStatement, nil, with(w.ID, w.Source, w.Destination, w.Amount, told[0].version, told[1].version)...)
		}
		return err
	})
	if r.Outcome != history.Committed {
		return r, [2]left{}
	}
	return r, *told
}
