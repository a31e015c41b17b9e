package mysql

import (
	"context"
	"fmt"
	"strconv"

	"assay/driver/sqldb"
	"assay/store"
)

// session is the connection of one session. It is used by one goroutine at a time.
type session struct {
	*conn
	sqldb.StandardWire
	schema *schema
	buffer []byte // of the last text of a batch, to be used again
}

// begin begins a transaction.
const begin = "START TRANSACTION"

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
		c, err := h.connect(ctx, p.Name, pins())
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
		err = sqldb.One(bounded, c, `SELECT GET_LOCK($1, 0)`, []store.Value{store.OfText(fmt.Sprint(p.SessionName(run), c.look.id))}, &got)
	}
	if err != nil {
		c.HangUp()
		return nil, p.Operation("open session", err)
	}
	l := &session{conn: c, schema: p, StandardWire: sqldb.StandardWire{
		Conn: &c.StandardConn, Statements: statements, SQL: &p.SQL, Errors: errorTable(), Begin: begin, Joined: true,
	}}
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
