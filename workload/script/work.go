package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/check/robustness"
	"assay/history"
	"assay/load"
	"assay/store"
	"assay/workload/definition"
)

// Work is a definition.Work.
type Work struct {
	store.Database
	config   Config
	program  *program
	seed     uint64
	rows     int64
	findings findings
	reasons  reasons
	watch    *watch
	// kept is the number of transactions of a single client that kept the rules; 0 if not tried.
	kept int64
	// scale is pgbench's variable; see variablesOf.
	scale     int64
	scaleOnce sync.Once
}

func (w *Work) Promise() string { return w.Promises().Model }

func (c *Config) Open(ctx context.Context, db store.Database, seed uint64, _ int) (definition.Work, error) {
	program, err := c.compile(languageOf(db))
	if err != nil {
		return nil, err
	}
	// Only collections sharded by _id lack further unique fields.
	program.statements.sharded = languageOf(db) == Documents && db.Lacks()[store.SecondaryUnique] != ""
	if err := program.sendable(db); err != nil {
		return nil, err
	}
	rows, err := program.rehearsed()
	if err != nil {
		return nil, err
	}
	watch := newWatch(program, seed, time.Duration(c.Pause*float64(time.Millisecond)))
	product, err := db.Describe(ctx)
	if err != nil {
		return nil, err
	}
	watch.meetings.level = levelOf(db.Promises().Model, product.Settings)
	if watch.seen = watch.meetings.level; watch.seen == robustness.Serializable && product.Name == "PostgreSQL" {
		watch.seen = robustness.Snapshot // PostgreSQL manual 15, "Serializable Isolation Level": it reads as Repeatable Read does
	}
	return &Work{Database: db, config: *c, program: program, seed: seed, rows: rows, watch: watch}, nil
}

// Rows counts what setup loads by db.insert.
func (w *Work) Rows() int64 { return w.rows }

// Find counts an empty schema as one row, since transactions may delete all rows.
func (w *Work) Find(ctx context.Context) (*store.Leftover, error) {
	found, err := w.Database.Find(ctx)
	if found != nil {
		found.Rows = max(found.Rows, 1)
	}
	return found, err
}

func (w *Work) open(ctx context.Context) (Session, error) { return OpenSession(ctx, w.Database) }

func (w *Work) Client(ctx context.Context, n int) (load.Client, error) {
	connection, err := store.Connect(ctx, w.open)
	if err != nil {
		return nil, err
	}
	return &client{Connection: connection, work: w, number: n}, nil
}

// Observers check the invariants perSecond times a second.
func (w *Work) Observers() (clients []load.Client, perSecond float64) {
	if w.config.Observe == 0 || !w.program.observed() {
		return nil, 0
	}
	return []load.Client{&observer{work: w}}, w.config.Observe
}

// observed reports whether an invariant must hold in every state.
func (p *program) observed() bool {
	for i := range p.invariants {
		if !p.invariants[i].atEnd {
			return true
		}
	}
	return false
}

const maxBatch = 1000

// Load runs setup and rehearses the script. A fault of the script is an *Error.
func (w *Work) Load(ctx context.Context, loaded func(done, total int64)) error {
	err := w.setUp(ctx, loaded)
	if err == nil {
		err = w.FinishLoad(ctx)
	}
	if err == nil {
		err = w.rehearse(ctx)
	}
	if err == nil {
		err = w.alone(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (w *Work) setUp(ctx context.Context, loaded func(done, total int64)) error {
	if w.program.setup == nil && len(w.program.mend.Setup) == 0 {
		return nil
	}
	session, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	done := int64(0)
	return w.program.setUp(&setup{
		made:    map[string]bool{},
		program: w.program,
		execute: func(s Statement) error {
			reply := session.Single(ctx, s)
			if reply.Outcome == history.Committed {
				return w.recordMade(ctx, s)
			}
			if reply.Err == nil {
				reply.Err = errors.New(reply.Class)
			}
			return reply.Err
		},
		load: func(l tableLoad) error {
			before := done
			done += l.count
			return w.table(ctx, l, func(n, _ int64) { loaded(before+n, w.rows) })
		},
	})
}

// recordMade records what a statement of setup makes, so that it is known to be assay's.
func (w *Work) recordMade(ctx context.Context, s Statement) error {
	first, _, _ := strings.Cut(strings.TrimSpace(s.Text), " ")
	if s.Command == nil && !strings.EqualFold(first, "create") {
		return nil
	}
	recording, is := store.As[store.Recording](w.Database)
	if !is {
		return errors.New("the database does not record what a setup has made")
	}
	return recording.RecordMade(ctx)
}

// recordDefined records what transactions made.
func (w *Work) recordDefined(ctx context.Context) error {
	defines := func(t transaction) bool { return t.texts != nil && t.texts.defines }
	recording, is := store.As[store.Recording](w.Database)
	if !is || w.config.Existing || !slices.ContainsFunc(w.program.transactions, defines) {
		return nil
	}
	return recording.RecordMade(ctx)
}

func (w *Work) table(ctx context.Context, l tableLoad, loaded func(done, total int64)) error {
	of := definition.Loading{Loaders: w.config.Loaders, Rows: l.count, Batch: maxBatch, One: "row of " + l.table, Many: "rows of " + l.table,
		Finish: func(context.Context) error { return nil }}
	return of.Load(ctx, func() load.Batch {
		row := l.rows()
		return func(ctx context.Context, first int64) (int, error) {
			var all [][]any
			for i := first - 1; i < min(first-1+maxBatch, l.count); i++ {
				values, err := row(i)
				if err != nil {
					return 0, located(w.program.path, err)
				}
				all = append(all, values)
			}
			return len(all), w.Database.Load(ctx, store.Rows{Table: l.table, Columns: l.columns, Count: len(all),
				Row: func(i int, into []store.Value) []store.Value { return appendValues(into, all[i]) }})
		}
	}, loaded)
}

// Create tries a script on existing tables with one client, and rolls back.
func (w *Work) Create(ctx context.Context, mark store.Marker) error {
	err := w.Database.Create(ctx, mark)
	if err != nil || !w.config.Existing {
		return err
	}
	lasting, err := w.lasting(ctx)
	if err != nil {
		return err
	}
	err = look(ctx, w.Audit, func(q Querier) error { return w.program.opening(ctx, q) })
	if wrong := (*Error)(nil); errors.As(err, &wrong) {
		err = wrong
	}
	if err == nil && !lasting {
		err = w.alone(ctx)
	}
	return err
}

// lasting refuses a script that writes an existing table whose rows outlast a rollback: a failed
// transaction would leave a part there. It reports whether there are such tables at all, to which
// a view, a trigger or a routine could bring the trial's rows.
func (w *Work) lasting(ctx context.Context) (bool, error) {
	of, is := store.As[store.Lasting](w.Database)
	if !is {
		return false, nil
	}
	tables, err := of.LastingTables(ctx)
	if err != nil {
		return false, err
	}
	_, written := w.config.Touched()
	for _, name := range written {
		if slices.ContainsFunc(tables, func(lasting string) bool { return strings.EqualFold(lasting, name) }) {
			return true, &Error{File: w.program.path, Reason: fmt.Sprintf("table %s has no transactions: what a transaction that fails has written stays there", name),
				Advice: "give it an engine that has them (ALTER TABLE " + name + " ENGINE=InnoDB)"}
		}
	}
	return len(tables) > 0, nil
}

// rehearse runs each transaction once without COMMIT, and each query, to find faults before
// clients begin. The invariants must hold on the loaded rows.
func (w *Work) rehearse(ctx context.Context) error {
	queries := func(at func(context.Context, Querier) error) error {
		err := look(ctx, w.Audit, func(q Querier) error { return at(ctx, q) })
		if wrong := (*Error)(nil); errors.As(err, &wrong) {
			return wrong
		}
		return err
	}
	if err := queries(w.program.opening); err != nil {
		return err
	}
	session, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer func() { session.Close() }()
	for i := range w.program.transactions {
		t := &w.program.transactions[i]
		c := newCall(w.program, t, randomOf(w.seed, load.MaxClients, uint64(i)), load.MaxClients, uint64(i))
		if t.texts != nil {
			if err := w.tryTexts(ctx, session, c); err != nil {
				return err
			}
			session.Close()
			if session, err = w.open(ctx); err != nil {
				return err
			}
			continue
		}
		reply := session.Transaction(ctx, !t.reads, func(ctx context.Context, tx Transaction) error {
			if err := c.run(ctx, tx); err != nil {
				return err
			}
			return store.ErrRollback
		})
		if err := c.tried(ctx, reply); err != nil {
			return err
		}
		if reply.Broken {
			session.Close()
			if session, err = w.open(ctx); err != nil {
				return err
			}
		}
	}
	return queries(w.program.rolledBack)
}

// tried is the fault of a transaction that was tried.
func (c *call) tried(ctx context.Context, reply store.Reply) error {
	var wrong *Error
	switch err := c.ended(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil || errors.Is(err, store.ErrRollback):
		return nil
	case errors.As(err, &wrong) && (!wrong.ofDatabase() || reply.Class == store.ClassOther || reply.Class == store.ClassConstraint):
		wrong.Reason = fmt.Sprintf("transaction %q, tried once before the run: %s", c.transaction.name, wrong.Reason)
		return wrong
	}
	return fmt.Errorf("try transaction %q: %v", c.transaction.name, reply.Err) // the database was lost, or the like
}

// opening checks the queries on the loaded rows.
func (p *program) opening(ctx context.Context, q Querier) error {
	for i := range p.invariants {
		n := &p.invariants[i]
		a, err := ask(ctx, q, n.query)
		if err != nil {
			return &Error{File: p.path, Reason: fmt.Sprintf("invariant %q: %v", n.name, err), Err: err}
		}
		if wrong := n.judge(a); wrong != "" && !n.atEnd {
			return &Error{File: p.path, Reason: "invariant " + wrong + ", before any transaction", Advice: "setup must leave what the invariant says"}
		}
	}
	for i := range p.counts {
		c := &p.counts[i]
		a, err := c.ask(ctx, q)
		if err != nil {
			return &Error{File: p.path, Reason: fmt.Sprintf("counted %q: %v", c.name, err), Err: err}
		}
		if v, _ := a.value(); compareInts(v, c.start) != 0 {
			return &Error{File: p.path, Reason: fmt.Sprintf("counted %q: %s rows are there before any transaction, and start is %d", c.name, show(v), c.start),
				Advice: "give the number as start"}
		}
	}
	for i := range p.lists {
		if err := p.lists[i].none(ctx, q, p.path); err != nil {
			return err
		}
	}
	return nil
}

// rolledBack checks the queries again, after the transactions were tried and rolled back.
func (p *program) rolledBack(ctx context.Context, q Querier) error {
	err := p.opening(ctx, q)
	if wrong := (*Error)(nil); errors.As(err, &wrong) && wrong.Err == nil {
		return &Error{File: p.path, Reason: "the transactions were tried once and rolled back, and what they wrote is there all the same: " + wrong.Reason,
			Advice: "the tables have no transactions, as those of the engines MyISAM and Aria; make them with one that has (ENGINE=InnoDB)"}
	}
	return err
}

// compareInts is not 0 if the values have no order.
func compareInts(v any, n int64) int {
	order, comparable := compare(v, n)
	if !comparable {
		return -2
	}
	return order
}
