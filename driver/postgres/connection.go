package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/workload"
)

// statement numbers the statements of a session; after these come the
// workload's own.
type statement int

const (
	begin statement = iota
	commit
	undo
	ownStatements
)

// connection is that of one session, with its statements. It is used by
// one goroutine at a time.
type connection struct {
	schema *schema
	conn   *pgconn.PgConn
	texts  []sqldb.Statement
	// known is the server's name for this connection.
	known sqldb.SessionID
	// prepared are the statements on the server; where it is nil they are sent
	// as text.
	prepared []*pgconn.StatementDescription
	encoder  encoder
	row      columns // the one that a callback looks at
	// unreplicated is set when the server says, while it commits, that it gave
	// up waiting for its standby.
	unreplicated bool
}

// connectBy opens a connection that can begin, commit and undo, and knows the
// workload's own statements, by a configuration whose ConnectTimeout may be 0 for
// none.
func (p *schema) connectBy(ctx context.Context, config *pgx.ConnConfig, own []sqldb.Statement) (*sqldb.Session, error) {
	start := "BEGIN"
	if p.isolation != "" {
		start = "BEGIN ISOLATION LEVEL " + strings.ToUpper(p.isolation)
	}
	l := &connection{schema: p, texts: append([]sqldb.Statement{
		begin: {Name: "begin", Text: start}, commit: {Name: "commit", Text: "COMMIT"}, undo: {Name: "rollback", Text: "ROLLBACK"},
	}, own...)}
	config = config.Copy()
	run := p.Owner()
	config.RuntimeParams["application_name"] = p.SessionName(run)
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
		if abandonedReplication(notice) {
			l.unreplicated = true
		}
	}
	conn, err := pgconn.ConnectConfig(ctx, &config.Config)
	if err != nil {
		return nil, p.Operation("open session", connectError(ctx, config, p.address, err))
	}
	l.conn = conn
	if config.ConnectTimeout > 0 {
		bounded, cancel := context.WithTimeout(ctx, config.ConnectTimeout)
		defer cancel()
		ctx = bounded
	}
	if err := l.identify(ctx, run); err != nil {
		l.hangUp()
		return nil, p.Operation("open session", err)
	}
	if config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		if err := l.prepare(ctx); err != nil {
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

// identify sets what the server knows the session by, and the session's name if the
// Store does not know the run that it works for.
func (l *connection) identify(ctx context.Context, run string) (err error) {
	c := conn{l.conn}
	if run == "" {
		if run, err = l.schema.Run(ctx, c); err != nil {
			return err
		}
		var name string
		if err := sqldb.One(ctx, c, `SELECT set_config('application_name', $1, false)`, []sqldb.Value{sqldb.OfText(l.schema.SessionName(run))}, &name); err != nil {
			return err
		}
	}
	if l.schema.dialect.session == "" {
		l.known.ID = strconv.FormatUint(uint64(l.conn.PID()), 10)
		return nil
	}
	return sqldb.One(ctx, c, l.schema.dialect.session, nil, &l.known.ID)
}

// prepare prepares all statements in one round trip.
func (l *connection) prepare(ctx context.Context) error {
	p := l.conn.StartPipeline(ctx)
	for _, t := range l.texts {
		p.SendPrepare(preparedPrefix+t.Name, t.Text, nil)
	}
	err := p.Sync()
	prepared := make([]*pgconn.StatementDescription, len(l.texts))
	for i, t := range l.texts {
		if err != nil {
			break
		}
		var result any
		if result, err = p.GetResults(); err == nil {
			description, ok := result.(*pgconn.StatementDescription)
			if !ok {
				err = unexpected(result)
				break
			}
			description.Name = preparedPrefix + t.Name
			prepared[i] = described(description)
		}
	}
	if err = errors.Join(err, p.Close()); err == nil {
		l.prepared = prepared
	}
	return err
}

// noColumns stand for the columns of a statement that has none: pgconn has the server
// describe those of a description without columns each time. They are never looked at,
// since no row comes, or one without values.
var noColumns = []pgconn.FieldDescription{{}}

// described is a description that is not asked for again.
func described(of *pgconn.StatementDescription) *pgconn.StatementDescription {
	if len(of.Fields) == 0 {
		of.Fields = noColumns
	}
	return of
}

// Close ends the session; what is in flight is abandoned.
func (l *connection) Close() {
	l.schema.Sessions.Remove(l.known)
	l.hangUp()
}

func (l *connection) hangUp() { conn{l.conn}.HangUp() }

// send puts one of the connection's own statements, which have no parameters, into
// the pipeline.
func (l *connection) send(p *pgconn.Pipeline, which statement) {
	if l.prepared != nil {
		p.SendQueryStatement(l.prepared[which], nil, binaryFormats, binaryFormats)
		return
	}
	p.SendQueryParams(l.texts[which].Text, nil, nil, binaryFormats, binaryFormats)
}

// idle is the state of a session outside of any transaction, open that of one
// inside a transaction that has not failed (ReadyForQuery; PostgreSQL manual,
// "Message Formats").
const (
	idle = 'I'
	open = 'T'
)

// Ready implements sqldb.Wire: what pgconn cannot send it says itself.
func (c *connection) Ready(context.Context) error { return nil }

func (c *connection) Usable(err error) bool {
	return !c.conn.IsClosed() && c.conn.TxStatus() == idle && (err == nil || !errorTable().Lasting(err))
}

func (c *connection) Classify(err error, at sqldb.Stage) workload.Reply {
	if at == sqldb.Alone && c.schema.dialect.commitsFirst {
		at = sqldb.Committing
	}
	return classify(err, at)
}

func (c *connection) Violated(err error) sqldb.Violation {
	if c.schema.Open {
		return anyViolated(err)
	}
	return violated(err, c.schema.Tables())
}

// Leave implements sqldb.Wire, in one round trip.
func (c *connection) Leave(ctx context.Context, inquiry *sqldb.Call) error {
	if c.conn.IsClosed() {
		return pgconn.ErrConnClosed
	}
	// In idle the error came before BEGIN, or nothing was sent.
	undoing := c.conn.TxStatus() != idle
	if !undoing && inquiry == nil {
		return nil
	}
	p := c.conn.StartPipeline(ctx)
	if undoing {
		c.send(p, undo)
	}
	if inquiry != nil {
		c.sendCall(p, inquiry.Statement, inquiry.Parameters)
	}
	err := p.Sync()
	if err == nil && undoing {
		_, err = readAnswer(p)
	}
	if err == nil && inquiry != nil {
		_, err = readRows(p, &c.row, inquiry.Row)
	}
	return errors.Join(err, p.Close())
}

// readCommit reads the answer to COMMIT.
func readCommit(p *pgconn.Pipeline) error {
	tag, err := readAnswer(p)
	if err != nil {
		return err
	}
	switch tag.String() {
	case "COMMIT":
		return nil
	case "ROLLBACK":
		return errRolledBack
	default:
		return fmt.Errorf("COMMIT was answered by %q", tag)
	}
}

// readAnswer reads the answer to one statement and leaves out its rows.
func readAnswer(p *pgconn.Pipeline) (pgconn.CommandTag, error) {
	return readRows(p, nil, nil)
}

// readRows reads the answer to one statement, puts each row into into and gives
// it to the callback, unless that is nil. A row's columns are in binary format.
func readRows(p *pgconn.Pipeline, into *columns, row func(sqldb.Row) error) (pgconn.CommandTag, error) {
	answer, err := p.GetResults()
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	result, ok := answer.(*pgconn.ResultReader)
	if !ok {
		return pgconn.CommandTag{}, unexpected(answer)
	}
	for row != nil && result.NextRow() {
		into.values, into.fields = result.Values(), result.FieldDescriptions()
		if err := row(into); err != nil {
			_, _ = result.Close()
			return pgconn.CommandTag{}, err
		}
	}
	return result.Close()
}

func unexpected(answer any) error { return fmt.Errorf("unexpected answer of type %T", answer) }
