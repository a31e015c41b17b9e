package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"

	"assay/driver/sqldb"
	"assay/workload"
)

// session is the connection of one session. It is used by one goroutine at a time.
type session struct {
	*conn
	schema     *schema
	statements []sqldb.Statement
	buffer     []byte // of the last text, to be used again
}

// sessionRun is how much of a run's id is in the name of a session's lock. A name
// has at most 64 characters (MySQL manual, "Locking Functions").
const sessionRun = 12

// SessionName implements sqldb.Server: it begins the name of the lock by which a session is known to all who
// look for those of this run (see Settle); its connection's number follows.
func (p *schema) SessionName(run string) string {
	return p.Name + " " + run[:min(len(run), sessionRun)] + " "
}

// dial opens a session's connection.
func (p *schema) dial(ctx context.Context, statements []sqldb.Statement) (*sqldb.Session, error) {
	c, err := p.firstThatWrites(ctx, p.order(p.anyHost), func(h *host) (*conn, error) {
		c, err := h.connect(ctx, p.Name)
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

// adopt makes a connection that of a session: it takes the lock that tells what
// it is, before it does anything else.
func (p *schema) adopt(ctx context.Context, c *conn, statements []sqldb.Statement) (*sqldb.Session, error) {
	bounded, cancel := context.WithTimeout(ctx, p.connectTimeout)
	defer cancel()
	run, err := p.Run(bounded, c)
	if err == nil {
		var got int64
		err = sqldb.One(bounded, c, `SELECT GET_LOCK($1, 0)`, []sqldb.Value{sqldb.OfText(fmt.Sprint(p.SessionName(run), c.look.id))}, &got)
	}
	if err != nil {
		c.HangUp()
		return nil, p.Operation("open session", err)
	}
	l := &session{conn: c, schema: p, statements: statements}
	p.Sessions.Add(l.known())
	return sqldb.NewSession(p.Product, statements, l), nil
}

// Close ends the session; what is in flight is abandoned.
func (l *session) Close() {
	l.schema.Sessions.Remove(l.known())
	l.HangUp()
}

// known is by what the server knows the session.
func (l *session) known() sqldb.SessionID {
	return sqldb.SessionID{Server: l.host.name, ID: strconv.FormatInt(l.look.id, 10)}
}

// errGone is a connection that was found closed before anything was sent.
var errGone = fmt.Errorf("the server has closed the connection: %w", driver.ErrBadConn)

// Ready implements sqldb.Wire. It asks the socket, as database/sql
// does before it uses a connection again: what is written to one that the server
// has closed seems to be sent, and then nobody knows.
func (l *session) Ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.raw.(driver.SessionResetter).ResetSession(ctx); err != nil {
		l.HangUp()
		if errors.Is(err, driver.ErrBadConn) {
			return errGone
		}
		return err
	}
	return nil
}

// Usable implements sqldb.Wire. A server that refuses for a reason that lasts, which
// another host of the address may not have, is better replaced.
func (l *session) Usable(err error) bool {
	return l.Sound() && !hasCode(err, codeUnknownCommand, codeOptionPrevents, codeReadOnlyMode, codeServerShutdown)
}

func (l *session) Classify(err error, at sqldb.Stage) workload.Reply { return classify(err, at) }

func (l *session) Violated(err error) sqldb.Violation { return violated(err) }

// Leave implements sqldb.Wire. After some errors there is no transaction any more; a
// ROLLBACK then does nothing.
func (l *session) Leave(ctx context.Context, inquiry *sqldb.Call) error {
	err := l.exec(ctx, "ROLLBACK")
	if err == nil && inquiry != nil {
		err = l.query(ctx, scanner(inquiry.Row), l.statement("", inquiry.Statement, inquiry.Parameters))
	}
	if err == nil && !l.Sound() {
		err = errGone
	}
	return err
}
