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

// exchange sends the statements of a session and reads their answers: one write up to a
// Sync, then reads until the server is ready again (PostgreSQL manual, "Frontend/Backend
// Protocol", "Extended Query" and "Pipelining"). Between two exchanges the connection is
// idle, and everything else is pgconn's: connecting, COPY, cancelling, closing.
//
// pgconn has the same as its Pipeline, which sets a timer at each write, and so wakes the
// thread that waits for the network, and keeps lists of what it expects; see
// docs/internals/performance.md for what that takes.
//
// Of an error it is known whether something was sent: what was not sent for certain has
// SafeToRetry, as pgconn's errors have. After an error that is not an answer of the server
// of severity ERROR the connection is closed.
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

// TxStatus is the status of the last ReadyForQuery; see idle.
func (x *exchange) TxStatus() byte { return x.status }

const (
	// smallWrite is how many bytes are written without looking at what comes meanwhile:
	// they fit into the buffers of a socket that nothing is under way on.
	smallWrite = 8 << 10
	// keptBuffer is the most that is kept from one exchange to the next.
	keptBuffer = 64 << 10
)

// begin forgets what was to be sent.
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

// prepare has a statement parsed and described under a name.
func (x *exchange) prepare(name, text string) {
	x.keep((&pgproto3.Parse{Name: name, Query: text}).Encode(x.out))
	x.keep((&pgproto3.Describe{ObjectType: 'S', Name: name}).Encode(x.out))
}

// execute has a prepared statement done.
func (x *exchange) execute(name string, parameters [][]byte, formats []int16) {
	x.keep((&pgproto3.Bind{PreparedStatement: name, ParameterFormatCodes: formats, Parameters: parameters, ResultFormatCodes: formats}).Encode(x.out))
	x.keep((&pgproto3.Execute{}).Encode(x.out))
}

// executeText has a text done, whose parameters are of these types.
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

// sync sends what was begun, and what has the server end it. Without an error the answers
// are to be read, and end is to be called.
func (x *exchange) sync(ctx context.Context) error {
	x.keep((&pgproto3.Sync{}).Encode(x.out))
	return x.flush(ctx)
}

// flush is sync without the Sync: for what ends an exchange by itself.
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
	// In the loop, unless pgconn still reads in the background: SyncConn then asks the server, and
	// not by a context that has ended.
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

// sendLarge writes by pgconn, which reads meanwhile if that takes long: the server does not
// read while its answers are not, and both would wait for each other.
func (x *exchange) sendLarge(ctx context.Context) error {
	p := x.StartPipeline(ctx)
	x.Frontend().Send(encoded(x.out))
	err := p.Flush()
	return errors.Join(err, p.Close())
}

// encoded are messages as they are sent.
type encoded []byte

func (encoded) Frontend()                              {}
func (encoded) Decode([]byte) error                    { return errors.ErrUnsupported }
func (e encoded) Encode(before []byte) ([]byte, error) { return append(before, e...), nil }

// fail closes the connection for an error of the socket, without waiting for that: pgconn
// asks the server to cancel what it does, and reads what it still says. That is how it
// leaves a pipeline without a Sync.
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

// receive is the next message that belongs to an answer. It is good until the next.
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

// preparedStatement is one that the server knows by a name.
type preparedStatement struct {
	name       string
	parameters []uint32 // their types
	fields     []pgconn.FieldDescription
}

// prepared reads the answer to prepare.
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

// answer reads the answer to one statement, puts each row into into and gives it to the
// callback, unless that is nil. It returns how the server names what was done, good until
// the next message. fields are the columns of a statement that was prepared.
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

// end reads on until the server is ready again. Its error is that of the Sync, if all
// answers before it were read and good.
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

// refused is an error that the server has sent. One that ends the connection ends it here.
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

// affected is how many rows were changed, by the number at the end of what the server says
// of it ("INSERT 0 5"; manual, "Message Formats", CommandComplete).
func affected(tag []byte) (n int64) {
	for _, c := range tag[bytes.LastIndexByte(tag, ' ')+1:] {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	return n
}
