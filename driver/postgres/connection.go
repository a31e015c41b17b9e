package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/history"
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
	// known is by what the server knows this session.
	known sqldb.Session
	// prepared are the statements on the server; where it is nil they are sent
	// as text.
	prepared []*pgconn.StatementDescription
	encoder  encoder
	row      columns // the one that a callback looks at
	begun    bool    // BEGIN of a Transaction was sent
	// unreplicated is set when the server says, while it commits, that it gave
	// up waiting for its standby.
	unreplicated bool
}

// connectBy opens a connection that can begin, commit and undo, and knows the
// workload's own statements, by a configuration whose ConnectTimeout may be 0 for
// none.
func (p *schema) connectBy(ctx context.Context, config *pgx.ConnConfig, own []sqldb.Statement) (*connection, error) {
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
	return l, nil
}

// identify sets what the server knows the session by, and the session's name if the
// Store does not know the run that it works for.
func (l *connection) identify(ctx context.Context, run string) (err error) {
	c := conn{l.conn}
	if run == "" {
		if run, err = l.schema.Run(ctx, c); err != nil {
			return err
		}
		if run == "" {
			return l.schema.Missing()
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
			prepared[i] = description
		}
	}
	if err = errors.Join(err, p.Close()); err == nil {
		l.prepared = prepared
	}
	return err
}

// Close ends the session; what is in flight is abandoned.
func (l *connection) Close() {
	l.schema.Sessions.Remove(l.known)
	l.hangUp()
}

func (l *connection) hangUp() { conn{l.conn}.HangUp() }

// send puts one statement with its parameters, all of them bigint, into the
// pipeline.
func (l *connection) send(p *pgconn.Pipeline, which statement, parameters ...int64) {
	bytes := make([]byte, 0, 8*len(parameters))
	data := make([][]byte, len(parameters))
	types := make([]uint32, len(parameters))
	for i, parameter := range parameters {
		bytes = binary.BigEndian.AppendUint64(bytes, uint64(parameter))
		data[i], types[i] = bytes[8*i:], oidBigint
	}
	l.sendBinary(p, which, data, types)
}

// sendBinary is send with parameters of these types in binary format.
func (l *connection) sendBinary(p *pgconn.Pipeline, which statement, parameters [][]byte, types []uint32) {
	if l.prepared != nil {
		p.SendQueryStatement(l.prepared[which], parameters, binaryFormats, binaryFormats)
		return
	}
	p.SendQueryParams(l.texts[which].Text, parameters, types, binaryFormats, binaryFormats)
}

// idle is the state of a session outside of any transaction, open that of one
// inside a transaction that has not failed (ReadyForQuery; PostgreSQL manual,
// "Message Formats").
const (
	idle = 'I'
	open = 'T'
)

// execute ends a pipeline of one statement that is its own transaction, and says
// how it ended.
//
// The server commits at the Sync that follows the statement; only what it says
// after that ends it ("ReadyForQuery"; manual, "Frontend/Backend Protocol",
// "Extended Query"). An error that answers the statement itself is proof of no
// effect, unless the dialect commits by then, and one that answers the Sync is
// judged as that of a COMMIT; see classify.
func (l *connection) execute(doing string, p *pgconn.Pipeline) (tag pgconn.CommandTag, reply workload.Reply) {
	l.unreplicated = false
	at, err := l.schema.dialect.alone, p.Sync()
	if err == nil {
		tag, err = readAnswer(p)
	}
	if ended := p.Close(); err == nil && ended != nil {
		at, err = committing, ended
	}
	switch {
	case err != nil:
		reply = classify(err, at)
		reply.Err = l.schema.Operation(doing, err)
		reply.Broken = reply.Broken || l.useless(reply.Class)
		return tag, reply
	case l.unreplicated:
		return tag, workload.Reply{Class: classNotReplicated, Err: errNotReplicated, Broken: true}
	default:
		return tag, workload.Reply{Outcome: history.Committed, Broken: l.conn.IsClosed()}
	}
}

// query ends a pipeline of one query, whose rows it gives to the callback. A read
// has no effect, so that one without an answer has failed.
func (l *connection) query(doing string, p *pgconn.Pipeline, row func(sqldb.Row) error) workload.Reply {
	err := p.Sync()
	if err == nil {
		_, err = readRows(p, &l.row, row)
	}
	if ended := p.Close(); err == nil {
		err = ended
	}
	if err != nil {
		class := classify(err, working).Class
		return workload.Reply{Outcome: history.Failed, Class: class, Err: l.schema.Operation(doing, err), Broken: l.useless(class)}
	}
	return workload.Reply{Outcome: history.Committed, Broken: l.conn.IsClosed()}
}

// useless reports whether a session is to look for a server anew: its
// connection is gone, or its server takes no writes or no more calls.
func (l *connection) useless(class string) bool {
	return l.conn.IsClosed() || l.conn.TxStatus() != idle || class == workload.ClassReadOnly || class == workload.ClassShutdown
}

// leave ends a transaction that is not to be committed. An error means that the
// session is of no further use.
func (l *connection) leave(ctx context.Context) error {
	if l.conn.IsClosed() {
		return pgconn.ErrConnClosed
	}
	if l.conn.TxStatus() == idle {
		return nil // the error came before BEGIN, or nothing was sent
	}
	p := l.conn.StartPipeline(ctx)
	l.send(p, undo)
	err := p.Sync()
	if err == nil {
		_, err = readAnswer(p)
	}
	return errors.Join(err, p.Close())
}

// errRolledBack is a COMMIT answered by ROLLBACK: the server's way to end a
// transaction that had failed before.
var errRolledBack = errors.New("the server answered COMMIT by ROLLBACK")

// errNotReplicated is a commit whose standby the server gave up waiting for:
// here and now it is committed; the standby may not have it and may be the
// primary next.
var errNotReplicated = errors.New("committed locally, but the server gave up waiting for its synchronous standby")

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
		*into = result.Values()
		if err := row(into); err != nil {
			_, _ = result.Close()
			return pgconn.CommandTag{}, err
		}
	}
	return result.Close()
}

func unexpected(answer any) error { return fmt.Errorf("unexpected answer of type %T", answer) }
