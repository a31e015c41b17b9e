package candles

import (
	"context"
	"time"

	"assay/store"
)

const table = "candle"

// Schema returns the table. Its key and indexes exist during writing, as in use.
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

// Insert adds rows as the database usually writes many. Committed means all of them, Failed none
// for certain. After Unknown any may be there, now or later.
func Insert(ctx context.Context, s store.Session, batch []Candle) store.Reply {
	r := s.Load(ctx, store.RowsOf(table, Columns(), batch))
	if r.Violated == store.Unique {
		r.Class = store.ClassDuplicate
	}
	return r
}

// ask gives the rows of an answer to row. Committed means that the answer is complete. After any
// other outcome, another goroutine may still call row for a moment.
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
