package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"assay/history"
	"assay/workload/isolation"
)

// isolationSession is one client's of workload isolation.
type isolationSession struct {
	*connection
	appendTo, readList, rewrite, write, readValue, insert, count, readPair, writePair *sql.Stmt
}

// Session implements isolation.Store.
func (s *isolationStore) Session(ctx context.Context) (isolation.Session, error) {
	l, err := s.dial(ctx,
		`INSERT INTO assay_list (key, elements) VALUES (?1, json_array(?2))
			ON CONFLICT (key) DO UPDATE SET elements = json_insert(elements, '$[#]', ?2)`,
		"SELECT elements FROM assay_list WHERE key = ?",
		`INSERT INTO assay_list (key, elements) VALUES (?1, ?2)
			ON CONFLICT (key) DO UPDATE SET elements = excluded.elements`,
		`INSERT INTO assay_register (key, value) VALUES (?1, ?2)
			ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
		"SELECT value FROM assay_register WHERE key = ?",
		"INSERT INTO assay_member (grp, id) VALUES (?, ?)",
		"SELECT count(*) FROM assay_member WHERE grp = ?",
		"SELECT id, value FROM assay_pair WHERE id IN (?, ?)",
		`INSERT INTO assay_pair (id, value) VALUES (?1, ?2)
			ON CONFLICT (id) DO UPDATE SET value = excluded.value`)
	if err != nil {
		return nil, err
	}
	p := l.statements
	return &isolationSession{connection: l, appendTo: p[0], readList: p[1], rewrite: p[2], write: p[3],
		readValue: p[4], insert: p[5], count: p[6], readPair: p[7], writePair: p[8]}, nil
}

// Do implements isolation.Session. The transaction works on operations of its
// own, since it may go on after the caller has left.
func (n *isolationSession) Do(ctx context.Context, ops []isolation.Op) isolation.Reply {
	mine := slices.Clone(ops)
	for i := range mine {
		mine[i].List = nil
	}
	e := n.do(ctx, &run{doing: "transaction", writes: slices.ContainsFunc(ops, writes), work: func(ctx context.Context) (bool, error) {
		for i := range mine {
			if err := n.operate(ctx, &mine[i]); err != nil {
				return false, err
			}
		}
		return true, nil
	}})
	if e.Outcome == history.Committed && !e.left {
		for i := range ops {
			list := append(ops[i].List[:0], mine[i].List...)
			ops[i] = mine[i]
			ops[i].List = list
		}
	}
	return e.Reply
}

// writes says whether an operation needs the write lock.
func writes(o isolation.Op) bool {
	switch o.Kind {
	case isolation.ReadList, isolation.ReadValue, isolation.Count:
		return false
	default:
		return true
	}
}

func (n *isolationSession) operate(ctx context.Context, o *isolation.Op) error {
	switch o.Kind {
	case isolation.Append:
		return execute(ctx, n.appendTo, o.Key, o.Value)
	case isolation.AppendByRewrite:
		list, err := n.list(ctx, o.Key)
		if err != nil {
			return err
		}
		text, err := json.Marshal(append(list, o.Value))
		if err != nil {
			return err
		}
		return execute(ctx, n.rewrite, o.Key, string(text))
	case isolation.ReadList:
		var err error
		o.List, err = n.list(ctx, o.Key)
		return err
	case isolation.Write:
		return execute(ctx, n.write, o.Key, o.Value)
	case isolation.ReadValue:
		o.Value, o.Found = 0, true
		err := n.readValue.QueryRowContext(ctx, o.Key).Scan(&o.Value)
		if errors.Is(err, sql.ErrNoRows) {
			o.Found = false
			return nil
		}
		return err
	case isolation.Insert:
		return execute(ctx, n.insert, o.Key, o.Value)
	case isolation.Count:
		return n.count.QueryRowContext(ctx, o.Key).Scan(&o.Value)
	case isolation.Withdraw:
		return n.withdraw(ctx, o)
	default:
		return fmt.Errorf("no operation has the kind %d", o.Kind)
	}
}

func execute(ctx context.Context, statement *sql.Stmt, parameters ...any) error {
	_, err := statement.ExecContext(ctx, parameters...)
	return err
}

// list reads a list; one that does not exist is empty.
func (n *isolationSession) list(ctx context.Context, key int64) ([]int64, error) {
	var text []byte
	err := n.readList.QueryRowContext(ctx, key).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var elements []int64
	err = parseList(text, &elements)
	return elements, err
}

func (n *isolationSession) withdraw(ctx context.Context, o *isolation.Op) error {
	first := 2 * o.Key
	sides, err := n.pair(ctx, first)
	if err != nil {
		return err
	}
	o.Result = sides[0] | sides[1]<<1
	own := o.Value & 1
	return execute(ctx, n.writePair, first+own, isolation.Withdrawn(sides[own], sides[1-own]))
}

// pair reads the two rows from first on.
func (n *isolationSession) pair(ctx context.Context, first int64) (sides [2]int64, err error) {
	sides = [2]int64{1, 1}
	rows, err := n.readPair.QueryContext(ctx, first, first+1)
	if err != nil {
		return sides, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id, value int64
		if err := rows.Scan(&id, &value); err != nil {
			return sides, err
		}
		sides[id-first] = value
	}
	return sides, rows.Err()
}
