package candles

import (
	"context"
	"time"

	"assay/store"
	"assay/workload"
	"assay/workload/definition"
)

const table = "candle"

// Schema is the table. Its key and indexes are there while rows are written, as in a
// database in use. Nobody asks by id or by market.
func Schema() store.Schema {
	columns := store.Integers(NumberNames()...)
	for i, name := range TextNames() {
		columns = append(columns, store.Column{Name: name, Type: store.ASCII, Length: []int{8, 8, 32, 255}[i]})
	}
	return store.Schema{Workload: Name, Space: "assay", Durable: true, Tables: []store.Table{{
		Name: table, Columns: columns, Loaded: true, Unread: true,
		Indexes: []store.Index{
			{Name: "candle_moment", Columns: []string{"moment"}, Bucket: store.Bucket{Name: "hour", Size: time.Hour.Microseconds()}},
			{Name: "candle_ticker", Columns: []string{"ticker", "moment"}},
			{Name: "candle_market", Columns: []string{"market", "moment"}, Unread: true},
		},
	}}}
}

// Opener opens the Store by a driver's Opener.
func Opener(open store.Opener) func(context.Context, workload.Target) (Store, error) {
	return definition.Opening(definition.Fixed(Schema), open, Over)
}

// On is the support of the workload by a driver.
func On(open store.Opener, lacks store.Lacks) definition.Support {
	return definition.On(Definition(), open, lacks, Opener)
}

// Over is the Store on a database of the workload's schema.
func Over(db store.Database) Store { return &database{db} }

// database is a Store over a store.Database.
type database struct{ store.Database }

var _ Eventual = (*database)(nil)

func (d *database) Eventual() bool { return d.Promises().Eventual }

func (d *database) Engines(ctx context.Context) ([]string, error) {
	if engined, is := store.As[store.Engined](d.Database); is {
		return engined.Engines(ctx)
	}
	return nil, nil
}

func (d *database) Create(ctx context.Context, mark workload.Marker, engine string) error {
	engined, is := store.As[store.Engined](d.Database)
	if !is {
		if _, err := FindEngine(engine, nil); engine != "" {
			return err
		}
		return d.Database.Create(ctx, mark)
	}
	engines, err := engined.Engines(ctx)
	if err != nil {
		return err
	}
	found, err := FindEngine(engine, engines)
	if err != nil {
		return err
	}
	return engined.CreateOn(ctx, mark, found, engine != "" && len(engines) > 1)
}

func (d *database) Read(ctx context.Context, row func(Candle) error) error {
	return store.ReadAll(ctx, d.View, func(r store.Reader) error { return store.Each(ctx, r, table, Columns(), row) })
}

// The statements of a session.
const (
	latest = iota
	interval
	span
)

func statements() []store.Statement {
	from := func(column string, parameter int) store.Condition {
		return store.Condition{Column: column, Is: store.AtLeast, Value: store.Parameter(parameter)}
	}
	to := func(column string, parameter int) store.Condition {
		return store.Condition{Column: column, Is: store.Below, Value: store.Parameter(parameter)}
	}
	read := store.Statement{Verb: store.Read, Table: table, Columns: Columns().Names}
	last, within, all := read, read, read
	last.Name, last.Where, last.Order, last.Descending, last.Limit = "latest", store.Where("ticker"), []string{"moment"}, true, store.Parameter(2)
	within.Name, within.Where = "interval", append(store.Where("ticker"), from("moment", 2), to("moment", 3))
	all.Name, all.Where = "span", []store.Condition{from("moment", 1), to("moment", 2)}
	return []store.Statement{latest: last, interval: within, span: all}
}

func (d *database) Session(ctx context.Context) (Session, error) {
	s, err := d.Database.Session(ctx, statements())
	if err != nil {
		return nil, err
	}
	return session{s}, nil
}

// session is a Session over that of a database.
type session struct{ store.Session }

func (s session) Insert(ctx context.Context, batch []Candle) Reply {
	r := s.Load(ctx, store.RowsOf(table, Columns(), batch))
	if r.Violated == store.Unique {
		r.Class = workload.ClassDuplicate
	}
	return r.Reply
}

func (s session) Latest(ctx context.Context, ticker string, limit int, row func(*Candle)) Reply {
	return s.query(ctx, latest, row, store.OfText(ticker), store.OfInt(int64(limit)))
}

func (s session) Interval(ctx context.Context, ticker string, from, to int64, row func(*Candle)) Reply {
	return s.query(ctx, interval, row, store.OfText(ticker), store.OfInt(from), store.OfInt(to))
}

func (s session) Span(ctx context.Context, from, to int64, row func(*Candle)) Reply {
	return s.query(ctx, span, row, store.OfInts(from, to)...)
}

func (s session) query(ctx context.Context, which int, row func(*Candle), parameters ...store.Value) Reply {
	var c Candle
	fields := Columns().Fields(&c)
	return s.Run(ctx, store.Call{Statement: which, Parameters: parameters, Row: func(found store.Row) error {
		err := found.Scan(fields...)
		if err == nil {
			row(&c)
		}
		return err
	}}).Reply
}
