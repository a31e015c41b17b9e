package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// sessionName is what pg_stat_activity shows for the connections that do
// transfers, and for them alone.
const sessionName = "assay bank session"

// statement is one of the statements of a transfer.
type statement int

const (
	begin statement = iota
	move
	journal
	commit
	undo
	find
	statements
)

// statementNames are the names of the prepared statements on the server.
var statementNames = [statements]string{
	"assay_begin", "assay_move", "assay_journal", "assay_commit", "assay_rollback", "assay_find",
}

// statementTexts are the statements. The journal row takes the versions from
// the accounts, which the transaction has locked by changing them. If one does
// not exist, its version is null and the row is refused.
func statementTexts(isolation string) [statements]string {
	start := "BEGIN"
	if isolation != "" {
		start = "BEGIN ISOLATION LEVEL " + strings.ToUpper(isolation)
	}
	return [statements]string{
		begin: start,
		move: `UPDATE ` + schema + `.account SET balance = balance + $2, version = version + 1
			WHERE id = $1 RETURNING balance, version`,
		journal: `INSERT INTO ` + schema + `.transfer (id, source, destination, amount, source_version, destination_version)
			VALUES ($1, $2, $3, $4,
				(SELECT version FROM ` + schema + `.account WHERE id = $2),
				(SELECT version FROM ` + schema + `.account WHERE id = $3))`,
		commit: "COMMIT",
		undo:   "ROLLBACK",
		find:   `SELECT id FROM ` + schema + `.transfer WHERE id = $1`,
	}
}

// bankSession implements bank.Session on one connection.
type bankSession struct {
	store *bankStore
	conn  *pgconn.PgConn
	texts [statements]string
	// prepared are the statements on the server; nil elements are sent as text.
	prepared [statements]*pgconn.StatementDescription
	// unreplicated is set when the server says, while it commits, that it gave
	// up waiting for its standby.
	unreplicated bool
}

func (s *bankStore) Session(ctx context.Context) (bank.Session, error) {
	session := &bankSession{store: s, texts: statementTexts(s.isolation)}
	config := s.config.Copy()
	config.RuntimeParams["application_name"] = sessionName
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
		if abandonedReplication(notice) {
			session.unreplicated = true
		}
	}
	conn, err := pgconn.ConnectConfig(ctx, &config.Config)
	if err != nil {
		return nil, operation("open session", connectError(ctx, s.config, s.address, err))
	}
	session.conn = conn
	if s.config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		bounded, cancel := context.WithTimeout(ctx, s.config.ConnectTimeout)
		defer cancel()
		if err := session.prepare(bounded); err != nil {
			session.hangUp()
			if hasCode(err, codeUndefinedTable, codeInvalidSchemaName) {
				err = &workload.NoSchemaError{Name: fmt.Sprintf("schema %q", schema)}
			}
			return nil, operation("open session", err)
		}
	}
	s.mu.Lock()
	s.sessions[session] = struct{}{}
	s.mu.Unlock()
	return session, nil
}

// prepare prepares all statements in one round trip.
func (s *bankSession) prepare(ctx context.Context) error {
	p := s.conn.StartPipeline(ctx)
	for i, text := range s.texts {
		p.SendPrepare(statementNames[i], text, nil)
	}
	err := p.Sync()
	for i := range s.texts {
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
			description.Name = statementNames[i]
			s.prepared[i] = description
		}
	}
	return errors.Join(err, p.Close())
}

func (s *bankSession) Close() {
	s.store.mu.Lock()
	delete(s.store.sessions, s)
	s.store.mu.Unlock()
	s.hangUp()
}

func (s *bankSession) hangUp() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = s.conn.Close(ctx) // it is gone either way
}

// Transfer sends the whole transaction at once and then reads the answers. The
// account with the lower id is changed first, as a careful application does, so
// that two transfers cannot wait for each other.
func (s *bankSession) Transfer(ctx context.Context, t bank.Transfer) bank.Reply {
	s.unreplicated = false
	p := s.conn.StartPipeline(ctx)
	s.send(p, begin)
	if t.Source < t.Destination {
		s.send(p, move, t.Source, -t.Amount)
		s.send(p, move, t.Destination, t.Amount)
	} else {
		s.send(p, move, t.Destination, t.Amount)
		s.send(p, move, t.Source, -t.Amount)
	}
	s.send(p, journal, t.ID, t.Source, t.Destination, t.Amount)
	s.send(p, commit)
	err := p.Sync()
	var lower, higher bank.State
	at := working
	if err == nil {
		lower, higher, at, err = readTransfer(p)
	}
	ended := p.Close()
	if err != nil {
		return s.refused(ctx, t, err, at)
	}
	reply := bank.Reply{Outcome: history.Committed, Broken: ended != nil || s.conn.IsClosed(), Source: lower, Destination: higher}
	if t.Source > t.Destination {
		reply.Source, reply.Destination = higher, lower
	}
	if s.unreplicated {
		// Here and now it is committed; the standby may not have it and may be
		// the primary next.
		return bank.Reply{Class: classNotReplicated, Broken: reply.Broken,
			Err: errors.New("committed locally, but the server gave up waiting for its synchronous standby")}
	}
	return reply
}

// send puts one statement with its parameters, all of them bigint, into the
// pipeline.
func (s *bankSession) send(p *pgconn.Pipeline, which statement, parameters ...int64) {
	const bigint, binaryFormat = 20, 1 // object id of the type (pg_type), format code of the protocol
	bytes := make([]byte, 0, 8*len(parameters))
	values := make([][]byte, len(parameters))
	for i, parameter := range parameters {
		bytes = binary.BigEndian.AppendUint64(bytes, uint64(parameter))
		values[i] = bytes[8*i:]
	}
	formats := []int16{binaryFormat}
	if s.prepared[which] != nil {
		p.SendQueryStatement(s.prepared[which], values, formats, formats)
		return
	}
	types := make([]uint32, len(parameters))
	for i := range types {
		types[i] = bigint
	}
	p.SendQueryParams(s.texts[which], values, types, formats, formats)
}

// readTransfer reads the answers to a transfer, in the order of sending, up to
// the first error.
func readTransfer(p *pgconn.Pipeline) (lower, higher bank.State, at stage, err error) {
	if _, err = readAnswer(p); err != nil { // BEGIN
		return lower, higher, working, err
	}
	if lower, err = readState(p); err != nil {
		return lower, higher, working, err
	}
	if higher, err = readState(p); err != nil {
		return lower, higher, working, err
	}
	if _, err = readAnswer(p); err != nil { // INSERT
		return lower, higher, working, err
	}
	tag, err := readAnswer(p)
	if err != nil {
		return lower, higher, committing, err
	}
	switch tag.String() {
	case "COMMIT":
		return lower, higher, committing, nil
	case "ROLLBACK":
		return lower, higher, committing, errRolledBack
	default:
		return lower, higher, committing, fmt.Errorf("COMMIT was answered by %q", tag)
	}
}

// errRolledBack is a COMMIT answered by ROLLBACK: the server's way to end a
// transaction that had failed before.
var errRolledBack = errors.New("the server answered COMMIT by ROLLBACK")

func readAnswer(p *pgconn.Pipeline) (pgconn.CommandTag, error) {
	answer, err := p.GetResults()
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	result, ok := answer.(*pgconn.ResultReader)
	if !ok {
		return pgconn.CommandTag{}, unexpected(answer)
	}
	return result.Close()
}

// readState reads the state that an UPDATE returned, the zero State if the
// account does not exist.
func readState(p *pgconn.Pipeline) (bank.State, error) {
	answer, err := p.GetResults()
	if err != nil {
		return bank.State{}, err
	}
	result, ok := answer.(*pgconn.ResultReader)
	if !ok {
		return bank.State{}, unexpected(answer)
	}
	var values [2]int64
	for result.NextRow() {
		if err := bigints(result, values[:]); err != nil {
			_, _ = result.Close()
			return bank.State{}, err
		}
	}
	_, err = result.Close()
	return bank.State{Balance: values[0], Version: values[1]}, err
}

func unexpected(answer any) error { return fmt.Errorf("unexpected answer of type %T", answer) }
