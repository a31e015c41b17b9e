package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// The statements of a transfer beside those of every session.
const (
	move = ownStatements + iota
	journal
	find
)

// bankTexts are the statements. The journal row takes the versions from the
// accounts, which the transaction has locked by changing them. If one does not
// exist, its version is null and the row is refused.
func bankTexts() []text {
	return []text{
		move - ownStatements: {"assay_move", `UPDATE ` + bankSchema + `.account SET balance = balance + $2, version = version + 1
			WHERE id = $1 RETURNING balance, version`},
		journal - ownStatements: {"assay_journal", `INSERT INTO ` + bankSchema + `.transfer
			(id, source, destination, amount, source_version, destination_version)
			VALUES ($1, $2, $3, $4,
				(SELECT version FROM ` + bankSchema + `.account WHERE id = $2),
				(SELECT version FROM ` + bankSchema + `.account WHERE id = $3))`},
		find - ownStatements: {"assay_find", `SELECT id FROM ` + bankSchema + `.transfer WHERE id = $1`},
	}
}

// bankSession implements bank.Session on one connection.
type bankSession struct{ *connection }

func (s *bankStore) Session(ctx context.Context) (bank.Session, error) {
	l, err := s.dial(ctx, bankTexts()...)
	if err != nil {
		return nil, err
	}
	return &bankSession{l}, nil
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
	reply := bank.Reply{Reply: workload.Reply{Outcome: history.Committed, Broken: ended != nil || s.conn.IsClosed()}, Source: lower, Destination: higher}
	if t.Source > t.Destination {
		reply.Source, reply.Destination = higher, lower
	}
	if s.unreplicated {
		return bank.Reply{Reply: workload.Reply{Class: classNotReplicated, Broken: reply.Broken, Err: errNotReplicated}}
	}
	return reply
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
	return lower, higher, committing, readCommit(p)
}

// readState reads the state that an UPDATE returned, the zero State if the
// account does not exist.
func readState(p *pgconn.Pipeline) (state bank.State, err error) {
	_, err = readRows(p, func(row [][]byte) error { return bigints(row, &state.Balance, &state.Version) })
	return state, err
}
