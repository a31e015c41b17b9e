package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"

	library "github.com/go-sql-driver/mysql"

	"assay/driver/sqldb"
	"assay/internal/eventloop"
)

// exchange is a connection of the library's that works in its caller's event loop, if there is one;
// see docs/internals/performance.md for the gain. The library has a goroutine for each connection
// that waits for the end of a context, for which a caller in a loop would have to wait at each
// statement. Here the end of a context ends the socket's work.
type exchange struct {
	raw
	onSocket *eventloop.Exchange
	rows     exchangeRows // of the exchange that goes on
}

func newExchange(of raw, socket net.Conn) *exchange {
	return &exchange{raw: of, onSocket: eventloop.NewExchange(socket)}
}

// begin begins an exchange. After an error there is none, and nothing was sent.
func (x *exchange) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	x.onSocket.Begin(ctx, true)
	return nil
}

// end ends the exchange, if there is one, and returns its error.
func (x *exchange) end(err error) error {
	if x.onSocket.Begun() {
		err = x.explain(err)
		x.onSocket.End()
	}
	return err
}

// explain returns the context's error in place of the connection's, if the context has ended.
func (x *exchange) explain(err error) error {
	if ended := x.onSocket.Err(); ended != nil && errors.Is(err, library.ErrInvalidConn) {
		return ended
	}
	return err
}

func (x *exchange) executed(ctx context.Context, parameters []driver.NamedValue, by func(context.Context, []driver.NamedValue) (driver.Result, error)) (driver.Result, error) {
	if err := x.begin(ctx); err != nil {
		return nil, err
	}
	result, err := by(context.Background(), parameters)
	return result, x.end(err)
}

// queried is an exchange that ends when its rows are closed.
func (x *exchange) queried(ctx context.Context, parameters []driver.NamedValue, by func(context.Context, []driver.NamedValue) (driver.Rows, error)) (driver.Rows, error) {
	if err := x.begin(ctx); err != nil {
		return nil, err
	}
	rows, err := by(context.Background(), parameters)
	if err != nil {
		return nil, x.end(err)
	}
	x.rows = exchangeRows{rows.(libraryRows), x}
	return &x.rows, nil
}

func (x *exchange) ExecContext(ctx context.Context, text string, parameters []driver.NamedValue) (driver.Result, error) {
	return x.executed(ctx, parameters, func(ctx context.Context, parameters []driver.NamedValue) (driver.Result, error) {
		return x.raw.ExecContext(ctx, text, parameters)
	})
}

func (x *exchange) QueryContext(ctx context.Context, text string, parameters []driver.NamedValue) (driver.Rows, error) {
	return x.queried(ctx, parameters, func(ctx context.Context, parameters []driver.NamedValue) (driver.Rows, error) {
		return x.raw.QueryContext(ctx, text, parameters)
	})
}

func (x *exchange) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	if err := x.begin(ctx); err != nil {
		return nil, err
	}
	prepared, err := x.raw.PrepareContext(context.Background(), text)
	if err = x.end(err); err != nil {
		return nil, err
	}
	return &preparedStatement{prepared.(libraryStatement), x}, nil
}

type libraryStatement interface {
	driver.Stmt
	sqldb.Prepared
}

type preparedStatement struct {
	libraryStatement
	by *exchange
}

func (p *preparedStatement) ExecContext(ctx context.Context, parameters []driver.NamedValue) (driver.Result, error) {
	return p.by.executed(ctx, parameters, p.libraryStatement.ExecContext)
}

func (p *preparedStatement) QueryContext(ctx context.Context, parameters []driver.NamedValue) (driver.Rows, error) {
	return p.by.queried(ctx, parameters, p.libraryStatement.QueryContext)
}

type libraryRows interface {
	driver.RowsNextResultSet
	driver.RowsColumnTypeDatabaseTypeName
}

type exchangeRows struct {
	libraryRows
	of *exchange
}

func (r *exchangeRows) Next(into []driver.Value) error { return r.of.explain(r.libraryRows.Next(into)) }
func (r *exchangeRows) NextResultSet() error           { return r.of.explain(r.libraryRows.NextResultSet()) }
func (r *exchangeRows) Close() error                   { return r.of.end(r.libraryRows.Close()) }
