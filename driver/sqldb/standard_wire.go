package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"assay/store"
	"assay/workload"
)

// ErrorClassifier is an ErrorTable, as a Wire needs it.
type ErrorClassifier interface {
	Classify(err error, at Stage) workload.Reply
	Violated(err error) store.Violation
	Lasting(err error) bool
}

// StandardWire is all of a Wire but Close over a StandardConn. It sends one statement
// after the answer to the one before.
type StandardWire struct {
	Conn       *StandardConn
	Statements []Statement
	SQL        *Dialect
	Errors     ErrorClassifier
	// Begin begins a transaction, and Joined is whether it can be in one text with the
	// statement that follows.
	Begin  string
	Joined bool

	buffer    []byte // of the last text and its arguments, to be used again
	arguments []driver.NamedValue
}

// errGone is a connection that was found closed before anything was sent.
var errGone = fmt.Errorf("the server has closed the connection: %w", driver.ErrBadConn)

// Ready implements Wire. It asks the socket, as database/sql does before it uses a
// connection again: what is written to one that the server has closed seems to be
// sent, and then nobody knows.
func (w *StandardWire) Ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r, can := w.Conn.Raw.(driver.SessionResetter); can {
		if err := r.ResetSession(ctx); err != nil {
			w.Conn.HangUp()
			if errors.Is(err, driver.ErrBadConn) {
				return errGone
			}
			return err
		}
	}
	return nil
}

func (w *StandardWire) Usable(err error) bool { return w.Conn.Sound() && !w.Errors.Lasting(err) }

func (w *StandardWire) Classify(err error, at Stage) workload.Reply {
	return w.Errors.Classify(err, at)
}

func (w *StandardWire) Violated(err error) store.Violation { return w.Errors.Violated(err) }

// do does a call, behind another text.
func (w *StandardWire) do(ctx context.Context, before string, call store.Call) (changed int64, err error) {
	text := w.Statements[call.Statement].Text
	w.buffer, w.arguments = w.Conn.Bind(append(w.buffer[:0], before...), text, call.Parameters, w.arguments[:0])
	if call.Row == nil {
		return w.Conn.Execute(ctx, w.buffer, w.arguments)
	}
	return 0, w.Conn.receive(&call, func(row func([]driver.Value) error) error {
		return w.Conn.values(ctx, row, w.buffer, w.arguments)
	})
}

// Run implements Wire. What has changed is as the server counts it.
func (w *StandardWire) Run(ctx context.Context, statement int, row func(store.Row) error, parameters []store.Value) (changed int64, at Stage, err error) {
	changed, err = w.do(ctx, "", store.Call{Statement: statement, Row: row, Parameters: parameters})
	return changed, Alone, err
}

// Insert implements Wire: one statement, committed by itself.
func (w *StandardWire) Insert(ctx context.Context, rows store.Rows) (Stage, error) {
	w.buffer, w.arguments = w.Conn.bindRows(w.buffer[:0], w.SQL.Table(rows.Table), rows, w.arguments[:0])
	_, err := w.Conn.Execute(ctx, w.buffer, w.arguments)
	return Alone, err
}

// Load implements Wire; there is no faster way that every server has.
func (w *StandardWire) Load(ctx context.Context, rows store.Rows) (Stage, error) {
	return w.Insert(ctx, rows)
}

// Batch implements Wire.
func (w *StandardWire) Batch(ctx context.Context, calls []store.Call) (Stage, error) {
	_, err := w.Conn.Change(ctx, w.Begin)
	for i := 0; err == nil && i < len(calls); i++ {
		_, err = w.do(ctx, "", calls[i])
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return BeforeCommit, err
	}
	return Committing, w.Commit(ctx)
}

func (w *StandardWire) Step(ctx context.Context, first bool, statement int, row func(store.Row) error, parameters []store.Value) (int64, error) {
	before := ""
	switch {
	case first && w.Joined:
		before = w.Begin + ";"
	case first:
		if _, err := w.Conn.Change(ctx, w.Begin); err != nil {
			return 0, err
		}
	}
	return w.do(ctx, before, store.Call{Statement: statement, Row: row, Parameters: parameters})
}

// Prepare implements Wire: statements are sent as text.
func (w *StandardWire) Prepare(_ context.Context, statement Statement) error {
	w.Statements = append(w.Statements, statement)
	return nil
}

func (w *StandardWire) Commit(ctx context.Context) error {
	_, err := w.Conn.Change(ctx, "COMMIT")
	return err
}

// Leave implements Wire. After some errors there is no transaction any more; a
// ROLLBACK then does nothing.
func (w *StandardWire) Leave(ctx context.Context, inquiry *store.Call) error {
	_, err := w.Conn.Change(ctx, "ROLLBACK")
	if err == nil && inquiry != nil {
		_, err = w.do(ctx, "", *inquiry)
	}
	if err == nil && !w.Conn.Sound() {
		err = errGone
	}
	return err
}
