package mem

import (
	"context"
	"strings"

	"assay/driver/rows"
	"assay/store"
)

// The null store answers at once and keeps only mark and lease. A run on it costs assay's own work:
// generating, scheduling, recording. store.SettingUnjudged keeps it from being judged.

const unjudged = "the null store answers at once and keeps nothing"

// nullTarget turns null:// into the address of the database for mark and lease. It returns
// *store.OptionError for other addresses.
func nullTarget(target store.Target) (store.Target, error) {
	if rest, found := strings.CutPrefix(target.Address, "null:"); !found || strings.Trim(rest, "/") != "" {
		return target, &store.OptionError{Option: "address", Value: store.Redact(target.Address), Want: "null://"}
	}
	target.Address = "mem://"
	return target, nil
}

type nothing struct{}

func (nothing) Describe(context.Context) (store.Product, error) {
	return store.Product{
		Name: "the null store", Version: "1", Embedded: true,
		Settings: []store.Setting{{Name: store.SettingUnjudged, Value: unjudged}},
		Topology: store.Topology{Nodes: 1},
	}, nil
}

func (nothing) Find(context.Context) (*store.Leftover, error) { return nil, nil }

func (nothing) Size(context.Context) (store.Size, error) { return store.Size{}, nil }

const nullAlone = "the null store answers transfers, and inserts and reads by key, alone"

// NullLacks returns the null store's missing capabilities.
func NullLacks() store.Lacks {
	return store.LacksAllBut(nullAlone, store.Transactions, store.UniqueKeys)
}

// nullDatabase is a store.Database that only keeps mark and lease.
type nullDatabase struct {
	nothing // less deep than those of the database, so that its methods are taken
	marked
}

type marked struct{ store.Database }

// OpenNull opens a schema that answers at once and keeps nothing. It returns *store.OptionError
// for addresses other than null://.
func OpenNull(ctx context.Context, target store.Target, schema store.Schema) (store.Database, error) {
	target, err := nullTarget(target)
	if err != nil {
		return nil, err
	}
	db, err := Open(ctx, target, schema)
	if err != nil {
		return nil, err
	}
	return &nullDatabase{marked: marked{db}}, nil
}

func (*nullDatabase) Lacks() store.Lacks { return NullLacks() }

func (*nullDatabase) Load(context.Context, store.Rows) error { return nil }

func (*nullDatabase) View(_ context.Context, read func(store.Reader) error) error {
	return read(nullReader{})
}

func (n *nullDatabase) Audit(ctx context.Context, read func(store.Reader) error) error {
	return n.View(ctx, read)
}

type nullReader struct{}

func (nullReader) Read(_ context.Context, s store.Statement, row func(store.Row) error, _ ...store.Value) error {
	if s.Verb == store.Count {
		return row(rows.Zero{})
	}
	return nil
}

func (*nullDatabase) Session(_ context.Context, statements []store.Statement) (store.Session, error) {
	n := &nullSession{given: make([]int, len(statements))}
	for i, s := range statements {
		if s.GivesRows() && s.Verb != store.Read {
			n.given[i] = 1
		}
	}
	return n, nil
}

// nullSession says yes to everything. given counts the rows of zeros that each statement gives.
type nullSession struct{ given []int }

func (n *nullSession) give(statement, want int, row func(store.Row) error) error {
	if row == nil {
		return nil
	}
	for range max(n.given[statement], want) {
		if err := row(rows.Zero{}); err != nil {
			return err
		}
	}
	return nil
}

func (n *nullSession) Run(_ context.Context, call store.Call) store.Reply {
	return ended("null", n.give(call.Statement, call.Want, call.Row))
}

func (n *nullSession) Insert(context.Context, store.Rows) store.Reply { return committed() }

func (n *nullSession) Load(context.Context, store.Rows) store.Reply { return committed() }

func (n *nullSession) Batch(_ context.Context, b *store.Batch) store.Reply {
	for i := range b.Calls {
		call := &b.Calls[i]
		if err := n.give(call.Statement, call.Want, call.Row); err != nil {
			return ended("null", err)
		}
	}
	return committed()
}

func (n *nullSession) Transaction(ctx context.Context, _ bool, work func(context.Context, store.Transaction) error) store.Reply {
	return ended("null", work(ctx, n))
}

func (n *nullSession) Do(_ context.Context, statement int, row func(store.Row) error, _ ...store.Value) (int64, error) {
	return 0, n.give(statement, 0, row)
}

func (*nullSession) Waiting(context.Context) (waiting, known bool, err error) {
	return false, true, nil
}

func (*nullSession) Close() {}
