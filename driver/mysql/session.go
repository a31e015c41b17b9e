package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"assay/driver/sqldb"
	"assay/internal/eventloop"
	"assay/store"
)

// session is one session's connection. One goroutine at a time uses it.
type session struct {
	*conn
	schema     *schema
	errors     *sqldb.ErrorTable[uint16]
	statements []sqldb.Statement
	buffer     []byte // of the last text, to be used again
	users      sqldb.PreparedTexts
	status     reflect.Value // of the server's last answer, as the library has it
}

const begin = "START TRANSACTION"

// sessionRun is the length of a run's id in a lock's name, which has at most 64 characters (MySQL
// manual, "Locking Functions").
const sessionRun = 12

// SessionName implements sqldb.Server. It begins the name by which Settle finds a run's sessions;
// the connection's number follows. Without names in the dialect, it is a lock's name.
func (p *schema) SessionName(run string) string {
	return p.Name + " " + run[:min(len(run), sessionRun)] + " "
}

func (p *schema) where() string {
	if p.Existing {
		return p.database
	}
	return p.Name
}

func (p *schema) dial(ctx context.Context, statements []sqldb.Statement) (*sqldb.Session, error) {
	eventloop.Leave(ctx) // looking up a host's name blocks
	c, err := p.firstThatWrites(ctx, p.order(p.anyHost), func(h *host) (*conn, error) {
		c, err := h.connect(ctx, p.where(), pins())
		if hasCode(err, codeUnknownDatabase) {
			err = p.Missing()
		}
		return c, err
	}, (*conn).HangUp)
	if err != nil {
		return nil, p.Operation("open session", err)
	}
	return p.adopt(ctx, c, statements)
}

// adopt makes a connection a session's, which takes its name before it does anything else.
func (p *schema) adopt(ctx context.Context, c *conn, statements []sqldb.Statement) (*sqldb.Session, error) {
	bounded, cancel := context.WithTimeout(ctx, p.connectTimeout)
	defer cancel()
	run, err := p.Run(bounded, c)
	if err == nil {
		err = p.keepsLevel(bounded, c)
	}
	if err == nil {
		_, err = c.Change(bounded, p.dialect.names, store.OfText(fmt.Sprint(p.SessionName(run), c.look.id)))
	}
	if err != nil {
		c.HangUp()
		return nil, p.Operation("open session", err)
	}
	l := &session{conn: c, schema: p, errors: errorTable(), statements: statements, users: sqldb.PreparedTexts{Connection: c.raw}}
	c.raw.(*exchange).onSocket.Alone = p.Sessions.Alone
	p.Sessions.Add(l.known())
	return sqldb.NewSession(p.Product, statements, l), nil
}

// Close ends the session and abandons what is in flight.
func (l *session) Close() {
	l.schema.Sessions.Remove(l.known())
	l.HangUp()
}

func (l *session) known() sqldb.SessionID {
	return sqldb.SessionID{Server: l.host.name, ID: strconv.FormatInt(l.look.id, 10)}
}

// errGone: the connection was found closed before anything was sent.
var errGone = fmt.Errorf("the server has closed the connection: %w", driver.ErrBadConn)

// Ready implements sqldb.Wire. Like database/sql it asks the socket first: a write to a connection
// that the server has closed seems to succeed, and its outcome would be unknown.
func (l *session) Ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := l.raw.ResetSession(ctx)
	if err != nil {
		l.HangUp()
	}
	if errors.Is(err, driver.ErrBadConn) {
		return errGone
	}
	return err
}

func (l *session) Usable(err error) bool {
	return l.Sound() && (err == nil || !errorTable().Lasting(err))
}

func (l *session) Classify(err error, at sqldb.Stage) store.Reply {
	return l.errors.Classify(err, at)
}

func (l *session) Violated(err error) store.Violation { return l.errors.Violated(err) }

func (l *session) do(ctx context.Context, before string, call store.Call) (changed int64, err error) {
	l.buffer = bind(append(l.buffer[:0], before...), l.statements[call.Statement].Text, call.Parameters)
	if call.Row == nil {
		return l.execute(ctx, l.buffer)
	}
	return 0, l.receive(&call, func(row func([]driver.Value) error) error { return l.values(ctx, row, string(l.buffer)) })
}

func (l *session) Run(ctx context.Context, statement int, row func(store.Row) error, parameters []store.Value) (changed int64, at sqldb.Stage, err error) {
	changed, err = l.do(ctx, "", store.Call{Statement: statement, Row: row, Parameters: parameters})
	return changed, sqldb.Alone, err
}

// Insert implements sqldb.Wire by one statement.
func (l *session) Insert(ctx context.Context, rows store.Rows) (sqldb.Stage, error) {
	l.buffer = bindRows(l.buffer[:0], l.schema.SQL.Table(rows.Table), rows)
	_, err := l.execute(ctx, l.buffer)
	return sqldb.Alone, err
}

// Load implements sqldb.Wire. Not every server has a faster way.
func (l *session) Load(ctx context.Context, rows store.Rows) (sqldb.Stage, error) {
	return l.Insert(ctx, rows)
}

// Step implements sqldb.Wire. BEGIN is in the first statement's text.
func (l *session) Step(ctx context.Context, first bool, statement int, row func(store.Row) error, parameters []store.Value) (int64, error) {
	before := ""
	if first {
		before = begin + ";"
	}
	return l.do(ctx, before, store.Call{Statement: statement, Row: row, Parameters: parameters})
}

// Prepare implements sqldb.Wire. Statements are sent as text.
func (l *session) Prepare(_ context.Context, statement sqldb.Statement) error {
	l.statements = append(l.statements, statement)
	return nil
}

func (l *session) Commit(ctx context.Context) error {
	_, err := l.Change(ctx, "COMMIT")
	return err
}

// Leave implements sqldb.Wire. Some errors have already ended the transaction; ROLLBACK then does
// nothing.
func (l *session) Leave(ctx context.Context, inquiry *store.Call) error {
	_, err := l.Change(ctx, "ROLLBACK")
	if err == nil && inquiry != nil {
		_, err = l.do(ctx, "", *inquiry)
	}
	if err == nil && !l.Sound() {
		err = errGone
	}
	return err
}
