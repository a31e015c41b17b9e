package postgres

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"assay/internal/eventloop"
	"assay/store"
)

// exchange sends a session's statements in one write up to a Sync and reads the answers until the
// server is ready (manual, "Frontend/Backend Protocol", "Extended Query" and "Pipelining"). Between
// exchanges the connection is idle. pgconn does everything else: connecting, COPY, cancelling,
// closing.
//
// pgconn's Pipeline sets a timer at each write, which wakes the thread that waits for the network,
// and keeps lists of expected answers; docs/internals/performance.md has the cost.
//
// An error before anything was sent has SafeToRetry, as pgconn's errors. Every error except a
// server's answer of severity ERROR closes the connection.
type exchange struct {
	*pgconn.PgConn
	out       []byte // what is to be sent
	unencoded error  // why something cannot be sent
	status    byte   // of the last ReadyForQuery
	tag       string // of the last statement of a user's: how the server names it
	fields    []pgconn.FieldDescription
	notice    func(*pgconn.Notice)
	over      context.Context // has ended
	onSocket  *eventloop.Exchange
}

func newExchange(conn *pgconn.PgConn, notice func(*pgconn.Notice), alone func() bool) *exchange {
	x := &exchange{PgConn: conn, status: conn.TxStatus(), notice: notice, onSocket: eventloop.NewExchange(conn.Conn())}
	x.onSocket.Alone = alone
	over, end := context.WithCancel(context.Background())
	end()
	x.over = over
	return x
}

// TxStatus is the status in the last ReadyForQuery; see idle.
func (x *exchange) TxStatus() byte { return x.status }

const (
	// smallWrite bounds in bytes a write that fits into an idle socket's buffers, so that nothing
	// needs to be read meanwhile.
	smallWrite = 8 << 10
	// keptBuffer bounds the memory kept between exchanges, in bytes.
	keptBuffer = 64 << 10
)

func (x *exchange) begin() {
	x.unencoded = nil
	if x.out = x.out[:0]; cap(x.out) > keptBuffer {
		x.out = nil
	}
}

func (x *exchange) keep(out []byte, err error) {
	if err != nil {
		x.unencoded = err
		return
	}
	x.out = out
}

func (x *exchange) prepare(name, text string) {
	x.keep((&pgproto3.Parse{Name: name, Query: text}).Encode(x.out))
	x.keep((&pgproto3.Describe{ObjectType: 'S', Name: name}).Encode(x.out))
}

func (x *exchange) execute(name string, parameters [][]byte, formats []int16) {
	x.keep((&pgproto3.Bind{PreparedStatement: name, ParameterFormatCodes: formats, Parameters: parameters, ResultFormatCodes: formats}).Encode(x.out))
	x.keep((&pgproto3.Execute{}).Encode(x.out))
}

func (x *exchange) executeText(text string, parameters [][]byte, types []uint32, formats []int16) {
	x.keep((&pgproto3.Parse{Query: text, ParameterOIDs: types}).Encode(x.out))
	x.keep((&pgproto3.Bind{ParameterFormatCodes: formats, Parameters: parameters, ResultFormatCodes: formats}).Encode(x.out))
	x.keep((&pgproto3.Describe{ObjectType: 'P'}).Encode(x.out))
	x.keep((&pgproto3.Execute{}).Encode(x.out))
}

// unsentError is an error before anything was sent.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error     { return e.error }
func (e *unsentError) SafeToRetry() bool { return true }

// sync sends everything with a Sync. After success, read the answers and call end.
func (x *exchange) sync(ctx context.Context) error {
	x.keep((&pgproto3.Sync{}).Encode(x.out))
	return x.flush(ctx)
}

// flush is sync without the Sync, for messages that end an exchange themselves.
func (x *exchange) flush(ctx context.Context) error {
	err := x.unencoded
	switch {
	case err != nil:
	case x.IsClosed():
		err = pgconn.ErrConnClosed
	default:
		err = ctx.Err()
	}
	if err != nil {
		return &unsentError{err}
	}
	small := len(x.out) <= smallWrite
	if !small {
		eventloop.Leave(ctx)
		if err := x.sendLarge(ctx); err != nil {
			return err
		}
	}
	// pgconn may still read in the background. SyncConn then asks the server, and must have a
	// context that has not ended.
	x.onSocket.Begin(ctx, x.SyncConn(x.over) == nil)
	if !small {
		return nil
	}
	if n, err := x.Conn().Write(x.out); err != nil {
		if err = x.fail(err); n == 0 {
			err = &unsentError{err}
		}
		return err
	}
	return nil
}

// sendLarge lets pgconn read during a long write. The server stops reading while its answers are
// not read, and both sides would wait for each other.
func (x *exchange) sendLarge(ctx context.Context) error {
	p := x.StartPipeline(ctx)
	if !x.IsBusy() { // ctx has ended meanwhile: in pgconn's buffer it would be sent with what comes next
		return p.Close()
	}
	x.Frontend().Send(encoded(x.out))
	err := p.Flush()
	return errors.Join(err, p.Close())
}

type encoded []byte

func (encoded) Frontend()                              {}
func (encoded) Decode([]byte) error                    { return errors.ErrUnsupported }
func (e encoded) Encode(before []byte) ([]byte, error) { return append(before, e...), nil }

// fail closes the connection after an error of the socket without waiting. pgconn cancels the
// server's work and reads the rest; it leaves a pipeline without a Sync in the same way.
func (x *exchange) fail(err error) error {
	x.onSocket.End()
	p := x.StartPipeline(context.Background())
	p.SendFlushRequest()
	_ = p.Close()
	var timeout net.Error
	if ended := x.onSocket.Err(); ended != nil && errors.As(err, &timeout) && timeout.Timeout() {
		return ended
	}
	return err
}

// receive is the next message of an answer, valid until the next call.
func (x *exchange) receive() (pgproto3.BackendMessage, error) {
	for {
		message, err := x.Frontend().Receive()
		if err != nil {
			return nil, x.fail(err)
		}
		switch m := message.(type) {
		case *pgproto3.NoticeResponse:
			x.notice((*pgconn.Notice)(pgconn.ErrorResponseToPgError((*pgproto3.ErrorResponse)(m))))
		case *pgproto3.ParameterStatus, *pgproto3.NotificationResponse:
		default:
			return message, nil
		}
	}
}

type preparedStatement struct {
	name       string
	parameters []uint32 // their types
	fields     []pgconn.FieldDescription
}

func (x *exchange) prepared(name string) (*preparedStatement, error) {
	of := &preparedStatement{name: name}
	for {
		message, err := x.receive()
		if err != nil {
			return nil, err
		}
		switch m := message.(type) {
		case *pgproto3.ParseComplete:
		case *pgproto3.ParameterDescription:
			of.parameters = m.ParameterOIDs
		case *pgproto3.RowDescription:
			of.fields = appendFields(nil, m)
			return of, nil
		case *pgproto3.NoData:
			return of, nil
		case *pgproto3.ErrorResponse:
			return nil, x.refused(m)
		default:
			return nil, x.unexpected(m)
		}
	}
}

// answer reads a statement's answer and calls row, unless it is nil, with each row in into. tag is
// the server's word for the statement, valid until the next message. fields are a prepared
// statement's columns.
func (x *exchange) answer(fields []pgconn.FieldDescription, into *columns, row func(store.Row) error) (tag []byte, err error) {
	for {
		message, failed := x.receive()
		if failed != nil {
			return nil, failed
		}
		switch m := message.(type) {
		case *pgproto3.ParseComplete, *pgproto3.BindComplete, *pgproto3.NoData:
		case *pgproto3.RowDescription:
			x.fields = appendFields(x.fields[:0], m)
			fields = x.fields
		case *pgproto3.DataRow:
			switch {
			case row == nil || err != nil:
			case len(m.Values) != len(fields):
				err = fmt.Errorf("a row of %d columns came, and not of %d", len(m.Values), len(fields))
			default:
				into.values, into.fields = m.Values, fields
				err = row(into)
			}
		case *pgproto3.CommandComplete:
			return m.CommandTag, err
		case *pgproto3.EmptyQueryResponse:
			return nil, err
		case *pgproto3.ErrorResponse:
			return nil, x.refused(m)
		default:
			return nil, x.unexpected(m)
		}
	}
}

// end reads until the server is ready. It returns the Sync's error if all answers were good.
func (x *exchange) end() (err error) {
	defer x.onSocket.End()
	for !x.IsClosed() {
		message, failed := x.receive()
		if failed != nil {
			return cmp.Or(err, failed)
		}
		switch m := message.(type) {
		case *pgproto3.ReadyForQuery:
			x.status = m.TxStatus
			return err
		case *pgproto3.ErrorResponse:
			err = cmp.Or(err, x.refused(m))
		}
	}
	return cmp.Or(err, pgconn.ErrConnClosed)
}

// refused converts a server's error and closes the connection if the error ends it.
func (x *exchange) refused(m *pgproto3.ErrorResponse) error {
	err := pgconn.ErrorResponseToPgError(m)
	if doubtful(err) {
		x.onSocket.End()
		conn{x.PgConn}.HangUp()
	}
	return err
}

func (x *exchange) unexpected(m pgproto3.BackendMessage) error {
	return x.fail(fmt.Errorf("unexpected answer of type %T", m))
}

func appendFields(into []pgconn.FieldDescription, m *pgproto3.RowDescription) []pgconn.FieldDescription {
	for i := range m.Fields {
		into = append(into, pgconn.FieldDescription{DataTypeOID: m.Fields[i].DataTypeOID})
	}
	return into
}

// affected is the number at the end of a command's tag ("INSERT 0 5"; manual, "Message Formats",
// CommandComplete).
func affected(tag []byte) (n int64) {
	for _, c := range tag[bytes.LastIndexByte(tag, ' ')+1:] {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	return n
}
