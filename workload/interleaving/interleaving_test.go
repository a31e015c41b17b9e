package interleaving

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// bare is a database without isolation: what is written is there at once, for all and
// for good.
type bare struct {
	store.Database // of which nothing else is used
	mu             sync.Mutex
	rows           map[int64]int64
	// stuck is an operation that never ends of itself.
	stuck Action
	// reached is called when it begins.
	reached func()
	// class is what an insert is refused with; empty if it is not.
	class string
}

func (b *bare) Promises() store.Promises { return store.Promises{Model: "serializable"} }
func (b *bare) Session(context.Context, []store.Statement) (store.Session, error) {
	return bareSession{of: b}, nil
}

// bareSession is its own transaction.
type bareSession struct {
	store.Session
	of *bare
}

func (bareSession) Close() {}

func (bareSession) Waiting(context.Context) (waiting, known bool, err error) { return false, true, nil }

func (s bareSession) Transaction(ctx context.Context, _ bool, work func(context.Context, store.Transaction) error) (r store.Reply) {
	if r.Err = work(ctx, s); r.Err != nil {
		r.Outcome, r.Class = history.Failed, s.of.class
		return r
	}
	r.Outcome = history.Committed
	return r
}

func (s bareSession) Do(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (int64, error) {
	o := Operation{Action: Action(statement)}
	switch o.Action {
	case Read, Set, Insert:
		o.ID = parameters[0].Number
	}
	if len(parameters) > 0 {
		o.Value = parameters[len(parameters)-1].Number
	}
	rows, err := s.of.do(ctx, o)
	for _, found := range rows {
		if err == nil && row != nil {
			err = row(store.Values(store.OfInts(found.ID, found.Value)))
		}
	}
	return int64(len(rows)), err
}

func (b *bare) do(ctx context.Context, o Operation) (rows []Row, err error) {
	if o.Action == b.stuck {
		b.reached()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.Action == Insert && o.ID > 2 && b.class != "" {
		return nil, errors.New("refused")
	}
	for id, value := range b.rows {
		switch o.Action {
		case Read, Set:
			if id != o.ID {
				continue
			}
		case ReadEqual, DeleteEqual:
			if value != o.Value {
				continue
			}
		case ReadMultiple:
			if value%o.Value != 0 {
				continue
			}
		case Insert:
			continue
		}
		rows = append(rows, Row{id, value})
	}
	for _, r := range rows {
		switch o.Action {
		case Set:
			b.rows[r.ID] = o.Value
		case AddAll:
			b.rows[r.ID] += o.Value
		case DeleteEqual, DeleteAll:
			delete(b.rows, r.ID)
		}
	}
	if o.Action == Insert {
		b.rows[o.ID] = o.Value
	}
	return rows, nil
}

func played(t *testing.T, b *bare) (m Matrix) {
	t.Helper()
	b.rows = map[int64]int64{}
	expect.NoError(t, Play(t.Context(), b, "bare", "none", func(c Cell) { m = append(m, c) }))
	return m
}

// TestNoIsolation: a database without any shows everything but what needs a row to be
// locked (G0) or a predicate to be evaluated twice by one write.
func TestNoIsolation(t *testing.T) {
	m := played(t, &bare{})
	var hidden []string
	for _, c := range m {
		if c.Result != Shown {
			hidden = append(hidden, c.Anomaly)
			continue
		}
		if !c.Forbidden || !c.Broken {
			t.Errorf("%s is not against the promise of %s: %+v", c.Anomaly, c.Promise, c)
		}
	}
	if got := strings.Join(hidden, " "); got != "G0 PMP-write" {
		t.Errorf("not shown: %s", got)
	}
	if len(m.Broken()) != len(m)-2 || len(m.Unreached()) != 0 {
		t.Errorf("%d broken, %d not reached of %d", len(m.Broken()), len(m.Unreached()), len(m))
	}
}

// TestSerialOrders plays the transactions of each script one after the other, in each
// order: that is never an anomaly.
func TestSerialOrders(t *testing.T) {
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, script := range Scripts() {
		for _, order := range orders {
			b := &bare{rows: map[int64]int64{1: 10, 2: 20}}
			var o observation
			for _, session := range order {
				before := map[int64]int64{}
				for id, value := range b.rows {
					before[id] = value
				}
				for _, s := range script.steps {
					if s.session != session {
						continue
					}
					switch s.end {
					case commits:
						o.committed[session] = true
					case aborts:
						b.rows = before
					default:
						rows, _ := b.do(t.Context(), s.Operation)
						if !s.Writes() {
							o.reads[session] = append(o.reads[session], rows)
						}
					}
				}
			}
			o.final, _ = b.do(t.Context(), Operation{Action: ReadAll})
			if script.shown(&o) {
				t.Errorf("%s is shown by transactions one after the other, in the order %v", script.Anomaly, order)
			}
		}
	}
}

// TestRefused tells a conflict from another error.
func TestRefused(t *testing.T) {
	for class, want := range map[string]Result{store.ClassSerialization: Prevented, store.ClassLost: NotReached} {
		m := played(t, &bare{class: class})
		if c := m.cell("none", "G2"); c.Result != want || !strings.Contains(c.How, class) {
			t.Errorf("%s: %s, %s; want %s", class, c.Result, c.How, want)
		}
	}
}

// TestEndedBeforeItsFirstStep: a transaction that the database refuses to begin is named as itself.
func TestEndedBeforeItsFirstStep(t *testing.T) {
	p := &play{actors: []*actor{{}, {}}}
	p.take(answer{session: t2, ended: true, reply: store.Reply{Outcome: history.Failed, Class: store.ClassConnect}})
	if want := "T2 begins: refused, cannot connect"; len(p.trace) != 1 || p.trace[0] != want {
		t.Errorf("%q, want %q", p.trace, want)
	}
}

// TestInterrupted: a step that never ends is left when the context ends.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := &bare{rows: map[int64]int64{}, stuck: ReadMultiple}
	b.reached = cancel
	ended := make(chan error, 1)
	go func() { ended <- Play(ctx, b, "bare", "none", func(Cell) {}) }()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestTables(t *testing.T) {
	m := played(t, &bare{})
	for _, level := range []string{"read uncommitted", "read committed", "repeatable read (snapshot)", "serializable"} {
		for _, c := range slices.Clone(m[:len(Scripts())]) {
			c.Level, c.Result, c.How, c.Broken = level, Prevented, "blocked, deadlock", false
			m = append(m, c)
		}
	}
	text := m.Text()
	for line := range strings.Lines(text) {
		if len(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
	for _, want := range []string{"SHOWN (!)", "blocked+err", "serializable\n", "T1 reads row 1: 1=10"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if markdown := m.Markdown(); !strings.Contains(markdown, "| P4, lost update | **shown against the promise** | blocked, deadlock |") {
		t.Errorf("Markdown:\n%s", markdown)
	}
}
