package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/history"
	"assay/workload"
	"assay/workload/isolation"
)

// The statements of the workload's operations.
const (
	appendElement = ownStatements + iota
	rewriteList
	readList
	writeRegister
	readRegister
	insertMember
	countMembers
	readPair
	writePair
)

// isolationTexts are the statements.
func isolationTexts() []text {
	const s = isolationSchema
	return []text{
		appendElement - ownStatements: {"assay_append", `INSERT INTO ` + s + `.list (key, elements) VALUES ($1, ARRAY[$2::bigint])
			ON CONFLICT (key) DO UPDATE SET elements = list.elements || EXCLUDED.elements`},
		rewriteList - ownStatements: {"assay_rewrite", `INSERT INTO ` + s + `.list (key, elements) VALUES ($1, $2::bigint[])
			ON CONFLICT (key) DO UPDATE SET elements = EXCLUDED.elements`},
		readList - ownStatements: {"assay_list", `SELECT elements FROM ` + s + `.list WHERE key = $1`},
		writeRegister - ownStatements: {"assay_write", `INSERT INTO ` + s + `.register (key, value) VALUES ($1, $2)
			ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value`},
		readRegister - ownStatements: {"assay_register", `SELECT value FROM ` + s + `.register WHERE key = $1`},
		insertMember - ownStatements: {"assay_insert", `INSERT INTO ` + s + `.member (grp, id) VALUES ($1, $2)`},
		countMembers - ownStatements: {"assay_count", `SELECT count(*) FROM ` + s + `.member WHERE grp = $1`},
		readPair - ownStatements:     {"assay_pair", `SELECT id, value FROM ` + s + `.pair WHERE id IN ($1, $2)`},
		writePair - ownStatements: {"assay_withdraw", `INSERT INTO ` + s + `.pair (id, value) VALUES ($1, $2)
			ON CONFLICT (id) DO UPDATE SET value = EXCLUDED.value`},
	}
}

// isolationSession implements isolation.Session on one connection.
type isolationSession struct {
	*connection
	// begun is true once BEGIN was sent.
	begun bool
	list  []int64 // for lists that are rewritten
}

func (s *isolationStore) Session(ctx context.Context) (isolation.Session, error) {
	l, err := s.dial(ctx, isolationTexts()...)
	if err != nil {
		return nil, err
	}
	return &isolationSession{connection: l}, nil
}

// Do implements isolation.Session. Each statement is a round trip of its own,
// BEGIN with the first of them and COMMIT alone, since statements that arrive
// one by one leave the transactions of others room to come between them.
//
// COMMIT is sent after all statements were answered, and "all changes made by
// the transaction become visible to others" with it alone (manual, COMMIT); so
// whatever goes wrong before, a lost connection included, there is no effect.
func (s *isolationSession) Do(ctx context.Context, ops []isolation.Op) isolation.Reply {
	s.begun, s.unreplicated = false, false
	for i := range ops {
		if err := s.operate(ctx, &ops[i]); err != nil {
			return s.failed(ctx, err)
		}
	}
	if !s.begun {
		return isolation.Reply{Outcome: history.Committed} // of nothing
	}
	return s.commit(ctx)
}

// failed leaves a transaction that ends before its COMMIT.
func (s *isolationSession) failed(ctx context.Context, err error) isolation.Reply {
	reply := isolation.Reply{Outcome: history.Failed, Class: classify(err, working).Class, Err: err}
	if errors.Is(err, errNoTransaction) {
		return isolation.Reply{Class: workload.ClassOther, Err: err, Broken: true}
	}
	if hasCode(err, codeUniqueViolation) {
		reply.Class = classDuplicateKey
	}
	reply.Broken = s.leave(ctx) != nil
	return reply
}

// classDuplicateKey is the class of a row whose id is there already: inserted by a
// transaction that went before under the same number, or, at levels that do not
// see it, at the same time.
const classDuplicateKey = "duplicate key"

// commit sends COMMIT and judges the answer as for a transfer.
func (s *isolationSession) commit(ctx context.Context) isolation.Reply {
	p := s.conn.StartPipeline(ctx)
	s.send(p, commit)
	err := p.Sync()
	if err == nil {
		err = readCommit(p)
	}
	ended := p.Close()
	switch {
	case errors.Is(err, errRolledBack):
		return isolation.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err, Broken: s.conn.IsClosed()}
	case err != nil:
		reply := classify(err, committing)
		if reply.Outcome == history.Failed {
			reply.Broken = s.leave(ctx) != nil
		}
		return reply
	case s.unreplicated:
		return isolation.Reply{Class: classNotReplicated, Err: errNotReplicated, Broken: true}
	}
	return isolation.Reply{Outcome: history.Committed, Broken: ended != nil || s.conn.IsClosed()}
}

// operate does one operation.
func (s *isolationSession) operate(ctx context.Context, op *isolation.Op) error {
	switch op.Kind {
	case isolation.Append:
		return s.ask(ctx, nil, appendElement, op.Key, op.Value)
	case isolation.AppendByRewrite:
		return s.rewrite(ctx, op)
	case isolation.ReadList:
		return s.readList(ctx, op.Key, &op.List)
	case isolation.Write:
		return s.ask(ctx, nil, writeRegister, op.Key, op.Value)
	case isolation.ReadValue:
		op.Value, op.Found = 0, false
		return s.ask(ctx, func(row [][]byte) error {
			op.Found = true
			return bigints(row, &op.Value)
		}, readRegister, op.Key)
	case isolation.Insert:
		return s.ask(ctx, nil, insertMember, op.Key, op.Value)
	case isolation.Count:
		return s.ask(ctx, func(row [][]byte) error { return bigints(row, &op.Value) }, countMembers, op.Key)
	case isolation.Withdraw:
		return s.withdraw(ctx, op)
	default:
		return fmt.Errorf("postgres: no operation has the kind %d", op.Kind)
	}
}

func (s *isolationSession) readList(ctx context.Context, key int64, into *[]int64) error {
	*into = (*into)[:0]
	return s.ask(ctx, func(row [][]byte) (err error) {
		*into, err = bigintArray(row[0], *into)
		return err
	}, readList, key)
}

func (s *isolationSession) rewrite(ctx context.Context, op *isolation.Op) error {
	if err := s.readList(ctx, op.Key, &s.list); err != nil {
		return err
	}
	s.list = append(s.list, op.Value)
	p := s.conn.StartPipeline(ctx)
	s.sendBinary(p, rewriteList, [][]byte{bigintBytes(op.Key), arrayBytes(s.list)}, []uint32{oidBigint, oidBigintArray})
	return s.read(p, nil)
}

func (s *isolationSession) withdraw(ctx context.Context, op *isolation.Op) error {
	first := 2 * op.Key
	sides := [2]int64{1, 1}
	err := s.ask(ctx, func(row [][]byte) error {
		var id, value int64
		if err := bigints(row, &id, &value); err != nil {
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
	return s.ask(ctx, nil, writePair, first+own, isolation.Withdrawn(sides[own], sides[1-own]))
}

// ask does one statement in one round trip, the first of a transaction with its
// BEGIN. If BEGIN fails, the server does not do the statement (see classify). row
// gets each row of the answer; nil means that none matters.
func (s *isolationSession) ask(ctx context.Context, row func([][]byte) error, which statement, parameters ...int64) error {
	p := s.conn.StartPipeline(ctx)
	if !s.begun {
		s.send(p, begin)
	}
	s.send(p, which, parameters...)
	return s.read(p, row)
}

// read reads the answers to what the pipeline holds and to BEGIN, if that went
// before it, and ends the round trip.
func (s *isolationSession) read(p *pgconn.Pipeline, row func([][]byte) error) error {
	err := p.Sync()
	if err == nil && !s.begun {
		_, err = readAnswer(p)
	}
	if err == nil {
		_, err = readRows(p, row)
	}
	if ended := p.Close(); err == nil {
		err = ended
	}
	s.begun = true
	if err == nil && s.conn.TxStatus() != open {
		err = errNoTransaction
	}
	return err
}
