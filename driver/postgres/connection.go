package postgres

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/internal/eventloop"
	"assay/store"
)

// statement numbers a session's own statements; the workload's follow.
type statement int

const (
	begin statement = iota
	commit
	undo
	ownStatements
)

// connection is one session's. One goroutine at a time uses it.
type connection struct {
	schema *schema
	conn   *exchange
	texts  []sqldb.Statement
	known  sqldb.SessionID
	// prepared are the statements on the server. If it is nil, statements are sent as text.
	prepared []*preparedStatement
	encoder  encoder
	// named are a user's prepared texts; results are the last texts' results.
	named   map[string]*namedText
	results []store.Result
	row     columns // the one that a callback looks at
	// unreplicated is set when the server gave up waiting for its standby during a commit.
	unreplicated bool
	// opening are statements after BEGIN. enclosed puts a transaction around single statements.
	// Both set what a pooler does not keep for a session.
	opening  []string
	enclosed bool
}

// connectBy opens a session's connection. A ConnectTimeout of 0 in the configuration means none.
func (p *schema) connectBy(ctx context.Context, config *pgx.ConnConfig, own []sqldb.Statement) (*sqldb.Session, error) {
	eventloop.Leave(ctx)
	start := "BEGIN"
	if p.isolation != "" {
		start = "BEGIN ISOLATION LEVEL " + strings.ToUpper(p.isolation)
	}
	l := &connection{schema: p, texts: append([]sqldb.Statement{
		begin: {Name: "begin", Text: start}, commit: {Name: "commit", Text: "COMMIT"}, undo: {Name: "rollback", Text: "ROLLBACK"},
	}, own...)}
	config = config.Copy()
	run := p.Owner()
	if p.pooled {
		if p.Open && !p.Existing {
			l.opening = []string{searchPath(p.Name)}
		}
		l.enclosed = p.Open || p.isolation != "" && !p.Transactions
		var err error
		if run, err = p.poolerRun(ctx); err != nil {
			return nil, p.Operation("open session", err)
		}
	}
	config.RuntimeParams["application_name"] = p.SessionName(run)
	notice := func(notice *pgconn.Notice) {
		if abandonedReplication(notice) {
			l.unreplicated = true
		}
	}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return eventloop.Wrap(dialled), nil
	}
	config.OnNotice = func(_ *pgconn.PgConn, of *pgconn.Notice) { notice(of) }
	conn, err := pgconn.ConnectConfig(ctx, &config.Config)
	if err != nil {
		return nil, p.Operation("open session", connectError(ctx, config, p.address, err))
	}
	l.conn = newExchange(conn, notice, p.Sessions.Alone)
	if config.ConnectTimeout > 0 {
		bounded, cancel := context.WithTimeout(ctx, config.ConnectTimeout)
		defer cancel()
		ctx = bounded
	}
	err = l.identify(ctx, run)
	if err == nil {
		err = l.keepsLevel(ctx)
	}
	if err != nil {
		l.hangUp()
		return nil, p.Operation("open session", err)
	}
	if config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		if err := l.prepare(ctx, l.texts); err != nil {
			l.hangUp()
			if hasCode(err, codeUndefinedTable, codeInvalidSchemaName) {
				err = p.Missing()
			}
			return nil, p.Operation("open session", err)
		}
	}
	p.Sessions.Add(l.known)
	return sqldb.NewSession(p.Product, own, l), nil
}

// identify learns the server's name for the connection. It sets the session's name if the Database
// does not know its run.
func (l *connection) identify(ctx context.Context, run string) (err error) {
	c := conn{l.conn.PgConn}
	if l.schema.pooled { // a process is not a session's; what counts is that there is one
		l.known.ID = fmt.Sprintf("pooled %p", l)
		_, err = serverProcess(ctx, c, l.schema.config.ConnectTimeout)
		return err
	}
	if run == "" {
		if run, err = l.schema.Run(ctx, c); err != nil {
			return err
		}
		var name string
		if err := sqldb.One(ctx, c, `SELECT set_config('application_name', $1, false)`, []store.Value{store.OfText(l.schema.SessionName(run))}, &name); err != nil {
			return err
		}
	}
	if l.schema.dialect.session == "" {
		l.known.ID = strconv.FormatUint(uint64(l.conn.PID()), 10)
		return nil
	}
	return sqldb.One(ctx, c, l.schema.dialect.session, nil, &l.known.ID)
}

func (l *connection) prepare(ctx context.Context, texts []sqldb.Statement) error {
	l.conn.begin()
	for _, t := range texts {
		l.conn.prepare(preparedPrefix+t.Name, t.Text)
	}
	err := l.conn.sync(ctx)
	if err != nil {
		return err
	}
	var all []*preparedStatement
	for _, t := range texts {
		var of *preparedStatement
		if of, err = l.conn.prepared(preparedPrefix + t.Name); err != nil {
			break
		}
		all = append(all, of)
	}
	if err = cmp.Or(err, l.conn.end()); err == nil {
		l.prepared = append(l.prepared, all...)
	}
	return err
}

// Close ends the session and abandons what is in flight.
func (l *connection) Close() {
	l.schema.Sessions.Remove(l.known)
	l.hangUp()
}

func (l *connection) hangUp() { conn{l.conn.PgConn}.HangUp() }

// sendBegin adds the beginning of a transaction to the exchange; readBegin reads its answers.
func (l *connection) sendBegin() {
	l.send(begin)
	for _, text := range l.opening {
		l.conn.executeText(text, nil, nil, binaryFormats)
	}
}

func (l *connection) readBegin() (err error) {
	for range 1 + len(l.opening) {
		if err == nil {
			_, err = l.readAnswer()
		}
	}
	return err
}

func (l *connection) send(which statement) {
	if l.prepared != nil {
		l.conn.execute(l.prepared[which].name, nil, binaryFormats)
		return
	}
	l.conn.executeText(l.texts[which].Text, nil, nil, binaryFormats)
}

// idle and open are states in ReadyForQuery: outside of a transaction, and inside of one that has
// not failed (manual, "Message Formats").
const (
	idle = 'I'
	open = 'T'
)

// Ready implements sqldb.Wire. sync reports what cannot be sent.
func (c *connection) Ready(context.Context) error { return nil }

func (c *connection) Usable(err error) bool {
	return !c.conn.IsClosed() && c.conn.TxStatus() == idle && (err == nil || !errorTable().Lasting(err))
}

func (c *connection) Classify(err error, at sqldb.Stage) store.Reply {
	if at == sqldb.Alone && c.schema.dialect.commitsFirst {
		at = sqldb.Committing
	}
	return classify(err, at)
}

func (c *connection) Violated(err error) store.Violation {
	if c.schema.Open {
		return anyViolated(err)
	}
	return violated(err, c.schema.Tables)
}

// Leave implements sqldb.Wire, in one round trip.
func (c *connection) Leave(ctx context.Context, inquiry *store.Call) error {
	if c.conn.IsClosed() {
		return pgconn.ErrConnClosed
	}
	// In idle the error came before BEGIN, or nothing was sent.
	undoing := c.conn.TxStatus() != idle
	if !undoing && inquiry == nil {
		return nil
	}
	c.conn.begin()
	if undoing {
		c.send(undo)
	}
	if inquiry != nil {
		c.sendCall(inquiry.Statement, inquiry.Parameters)
	}
	if err := c.conn.sync(ctx); err != nil {
		return err
	}
	var err error
	if undoing {
		_, err = c.readAnswer()
	}
	if err == nil && inquiry != nil {
		_, err = c.readRows(inquiry.Statement, inquiry.Row)
	}
	return cmp.Or(err, c.conn.end())
}

func (c *connection) readCommit() error {
	tag, err := c.readAnswer()
	if err != nil {
		return err
	}
	switch string(tag) {
	case "COMMIT":
		return nil
	case "ROLLBACK":
		return errRolledBack
	default:
		return fmt.Errorf("COMMIT was answered by %q", tag)
	}
}

func (c *connection) readAnswer() ([]byte, error) { return c.conn.answer(nil, nil, nil) }

// readRows reads the answer to a workload's statement, calls row with each row unless it is nil,
// and counts the changed rows.
func (c *connection) readRows(which int, row func(store.Row) error) (changed int64, err error) {
	var fields []pgconn.FieldDescription
	if c.prepared != nil {
		fields = c.prepared[which+int(ownStatements)].fields
	}
	tag, err := c.conn.answer(fields, &c.row, row)
	return affected(tag), err
}
