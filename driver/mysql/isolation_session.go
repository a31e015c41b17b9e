package mysql

import (
	"context"
	"database/sql/driver"
	"fmt"

	"assay/history"
	"assay/workload/isolation"
)

// isolationSession implements isolation.Session on one connection.
type isolationSession struct {
	*session
	// started is true once START TRANSACTION was sent.
	started bool
	list    []int64 // for lists that are rewritten
}

// Session implements isolation.Store.
func (s *isolationStore) Session(ctx context.Context) (isolation.Session, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	return &isolationSession{session: l}, nil
}

// Do implements isolation.Session. Each statement is a round trip of its own,
// START TRANSACTION with the first of them and COMMIT alone, since statements
// that arrive one by one leave the transactions of others room to come between
// them. After an error no further statement is sent: the server may have rolled
// the whole transaction back (1213), and what came then would be committed by
// itself.
//
// COMMIT is sent after all statements were answered, and when a connection is
// lost, "any active transactions are rolled back" (MySQL, "C API Developer
// Guide", "Automatic Reconnection Control"); so whatever goes wrong before, a
// lost connection included, there is no effect.
func (s *isolationSession) Do(ctx context.Context, ops []isolation.Op) isolation.Reply {
	if err := s.ready(ctx); err != nil {
		return s.unsent(err)
	}
	s.started = false
	for i := range ops {
		if err := s.operate(ctx, &ops[i]); err != nil {
			return s.left(ctx, err)
		}
	}
	if !s.started {
		return isolation.Reply{Outcome: history.Committed} // of nothing
	}
	return s.commit(ctx)
}

// failed leaves a transaction that ends before its COMMIT.
func (s *isolationSession) left(ctx context.Context, err error) isolation.Reply {
	reply := classify(err, beforeCommit)
	if hasCode(err, codeDuplicateEntry) {
		reply.Class = classDuplicateKey
	}
	reply.Broken = !s.leave(ctx) || elsewhere(err)
	return reply
}

// commit sends COMMIT and judges the answer as for a transfer.
func (s *isolationSession) commit(ctx context.Context) isolation.Reply {
	if err := ctx.Err(); err != nil { // COMMIT is not sent
		return s.left(ctx, err)
	}
	err := s.exec(ctx, "COMMIT")
	if err == nil {
		return isolation.Reply{Outcome: history.Committed, Broken: !s.sound()}
	}
	reply := classify(err, committing)
	if reply.Outcome == history.Failed {
		reply.Broken = !s.leave(ctx)
	}
	return reply
}

// The statements of the operations.
const (
	appendElement = `INSERT INTO ` + isolationSchema + `.list (id, elements) VALUES (?, ?) ON DUPLICATE KEY UPDATE elements = CONCAT(elements, ',', ?)`
	rewriteList   = `INSERT INTO ` + isolationSchema + `.list (id, elements) VALUES (?, ?) ON DUPLICATE KEY UPDATE elements = ?`
	readList      = `SELECT elements FROM ` + isolationSchema + `.list WHERE id = ?`
	writeRegister = `INSERT INTO ` + isolationSchema + `.register (id, value) VALUES (?, ?) ON DUPLICATE KEY UPDATE value = ?`
	readRegister  = `SELECT value FROM ` + isolationSchema + `.register WHERE id = ?`
	insertMember  = `INSERT INTO ` + isolationSchema + `.member (grp, id) VALUES (?, ?)`
	countMembers  = `SELECT count(*) FROM ` + isolationSchema + `.member WHERE grp = ?`
	readPair      = `SELECT id, value FROM ` + isolationSchema + `.pair WHERE id IN (?, ?)`
	writePair     = `INSERT INTO ` + isolationSchema + `.pair (id, value) VALUES (?, ?) ON DUPLICATE KEY UPDATE value = ?`
)

// operate does one operation.
func (s *isolationSession) operate(ctx context.Context, op *isolation.Op) error {
	switch op.Kind {
	case isolation.Append:
		return s.write(ctx, appendElement, op.Key, op.Value, op.Value)
	case isolation.AppendByRewrite:
		return s.rewrite(ctx, op)
	case isolation.ReadList:
		return s.readList(ctx, op.Key, &op.List)
	case isolation.Write:
		return s.write(ctx, writeRegister, op.Key, op.Value, op.Value)
	case isolation.ReadValue:
		op.Value, op.Found = 0, false
		return s.read(ctx, func(row []driver.Value) error {
			op.Found = true
			return numbers(row, &op.Value)
		}, readRegister, op.Key)
	case isolation.Insert:
		return s.write(ctx, insertMember, op.Key, op.Value)
	case isolation.Count:
		return s.read(ctx, func(row []driver.Value) error { return numbers(row, &op.Value) }, countMembers, op.Key)
	case isolation.Withdraw:
		return s.withdraw(ctx, op)
	default:
		return fmt.Errorf("mysql: no operation has the kind %d", op.Kind)
	}
}

func (s *isolationSession) readList(ctx context.Context, key int64, into *[]int64) error {
	*into = (*into)[:0]
	return s.read(ctx, func(row []driver.Value) (err error) {
		*into, err = readElements(row[0], *into)
		return err
	}, readList, key)
}

func (s *isolationSession) rewrite(ctx context.Context, op *isolation.Op) error {
	if err := s.readList(ctx, op.Key, &s.list); err != nil {
		return err
	}
	s.list = append(s.list, op.Value)
	elements := writeElements(s.list)
	return s.write(ctx, rewriteList, op.Key, elements, elements)
}

func (s *isolationSession) withdraw(ctx context.Context, op *isolation.Op) error {
	first := 2 * op.Key
	sides := [2]int64{1, 1}
	err := s.read(ctx, func(row []driver.Value) error {
		var id, value int64
		if err := numbers(row, &id, &value); err != nil {
			return err
		}
		if side := id - first; side == 0 || side == 1 {
			sides[side] = value
		}
		return nil
	}, readPair, first, first+1)
	if err != nil {
		return err
	}
	op.Result = sides[0]&1 | sides[1]&1<<1
	own := op.Value & 1
	value := isolation.Withdrawn(sides[own], sides[1-own])
	return s.write(ctx, writePair, first+own, value, value)
}

// begin puts the beginning of the transaction before its first statement.
func (s *isolationSession) begin(statement string) string {
	if s.started {
		return statement
	}
	s.started = true
	return "START TRANSACTION;" + statement
}

func (s *isolationSession) write(ctx context.Context, statement string, args ...any) error {
	return s.exec(ctx, s.begin(statement), args...)
}

func (s *isolationSession) read(ctx context.Context, row func([]driver.Value) error, statement string, args ...any) error {
	return s.query(ctx, row, s.begin(statement), args...)
}
