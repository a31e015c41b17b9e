package candles

import (
	"context"

	"assay/workload"
)

// Store is what a database must offer for this workload. A driver implements
// it in its database's own idiom, or the cell of the matrix stays empty.
//
// All methods are safe for concurrent use.
type Store interface {
	workload.Store

	// Engines names the storage engines or compressors that Create takes, the
	// one that it takes for "" first.
	Engines(ctx context.Context) ([]string, error)

	// Create makes an empty table, stored by this engine, with an index of
	// Moment, one of Ticker and Moment, and one of Market and Moment, or whatever
	// tables the database's idiom has in their place; they are there while rows
	// are written, as in a database in use. See workload.Store. An engine that is
	// not among Engines gives *workload.OptionError, and nothing is changed then.
	Create(ctx context.Context, mark workload.Marker, engine string) error

	// FinishLoad does what an administrator does after many rows came in and
	// before they are asked for, such as refreshing the planner's statistics.
	FinishLoad(ctx context.Context) error

	// Session opens what one client uses. It is used by one goroutine at a
	// time.
	Session(ctx context.Context) (Session, error)

	// Read gives every row, in any order, as one consistent view where the
	// database has such. Read stops at the first error, of the database's or of
	// the callback's, and returns it.
	Read(ctx context.Context, row func(Candle) error) error
}

// Eventual is a Store that may answer with an old state, by what its address
// asks for; one that is none has every acknowledged row in every later answer.
type Eventual interface {
	// Eventual reports whether it may.
	Eventual() bool
}

// PromiseEventual is the promise of a Store that may: an answer can lack what
// was acknowledged.
const PromiseEventual = "eventual"

// Session is one client's connection. No method retries.
//
// The queries give each row to the callback as it came and end Committed when
// the database has said that the answer is over; anything else is Failed, since
// a read has no effect. After an ending that is not Committed the callback may
// still be called for a moment, by another goroutine.
type Session interface {
	// Insert adds rows in the database's ordinary way of acknowledging and of
	// writing many rows at once. Committed means all of them, Failed with proof
	// none of them; after Unknown any of them may be there, now or later.
	Insert(ctx context.Context, batch []Candle) Reply

	// Latest gives the last rows of a ticker by Moment, at most limit.
	Latest(ctx context.Context, ticker string, limit int, row func(*Candle)) Reply

	// Interval gives the rows of a ticker from a moment to before another.
	Interval(ctx context.Context, ticker string, from, to int64, row func(*Candle)) Reply

	// Span gives the rows of all tickers from a moment to before another.
	Span(ctx context.Context, from, to int64, row func(*Candle)) Reply

	// Close ends the session. What is in flight is abandoned.
	Close()
}

// Reply is how one call ended.
type Reply = workload.Reply
