package candles

import (
	"context"
	"time"

	"assay/store"
)

const table = "candle"

// Schema is the table. Its key and indexes are there while rows are written, as in a
// database in use. Nobody asks by id or by market.
func Schema() store.Schema {
	names := Columns().Names
	columns := store.Integers(names[:numbers]...)
	for i, name := range names[numbers:] {
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

// Insert adds rows in the database's ordinary way of acknowledging and of writing many
// rows at once. Committed means all of them, Failed with proof none of them; after Unknown
// any of them may be there, now or later.
func Insert(ctx context.Context, s store.Session, batch []Candle) store.Reply {
	r := s.Load(ctx, store.RowsOf(table, Columns(), batch))
	if r.Violated == store.Unique {
		r.Class = store.ClassDuplicate
	}
	return r
}

// ask gives each row of the answer to a query to the callback as it came and ends Committed
// when the database has said that the answer is over. After an ending that is not Committed
// the callback may still be called for a moment, by another goroutine.
func (q queries) ask(ctx context.Context, s store.Session, x query, row func(*Candle)) store.Reply {
	call := store.Call{Statement: span, Parameters: store.OfInts(x.from, x.to)}
	switch x.kind {
	case KindLatest:
		call = store.Call{Statement: latest, Parameters: []store.Value{store.OfText(q.Ticker(x.ticker)), store.OfInt(int64(x.limit))}}
	case KindInterval:
		call = store.Call{Statement: interval, Parameters: append([]store.Value{store.OfText(q.Ticker(x.ticker))}, call.Parameters...)}
	}
	var c Candle
	fields := Columns().Fields(&c)
	call.Row = func(found store.Row) error {
		err := found.Scan(fields...)
		if err == nil {
			row(&c)
		}
		return err
	}
	return s.Run(ctx, call)
}
