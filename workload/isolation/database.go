package isolation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/history"
	"assay/store"
	"assay/workload/interleaving"
)

// Schema returns the tables. The index spares a count all other groups' rows. A count is by a
// predicate nonetheless: where it locks, it locks a range of the index.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Transactions: true, Judged: true, Tables: []store.Table{
		{Name: "list", Columns: []store.Column{{Name: "id"}, {Name: "elements", Type: store.Ints}}},
		interleaving.Rows(),
		{Name: "member", Columns: store.Integers("id", "grp"), Indexes: []store.Index{{Name: "member_grp", Columns: []string{"grp"}}}},
		{Name: "pair", Columns: store.Integers("id", "value")},
	}}
}

func schemaOf(target store.Target) (store.Schema, error) {
	s := Schema()
	s.Reads = target.Read != ""
	return s, nil
}

// Read gives every list and then every register in one consistent view, by ascending key, as the
// database holds them. It returns a callback's error unchanged.
func Read(ctx context.Context, db store.Database, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	var key, value int64
	return store.ReadAll(ctx, db.View, func(r store.Reader) error {
		all := store.Statement{Table: "list", Columns: []string{"id", "elements"}, Order: []string{"id"}}
		err := store.Whole(ctx, r, all, func(found store.Row) error {
			var elements []int64
			if err := found.Scan(&key, &elements); err != nil {
				return fmt.Errorf("list %d: %w", key, err)
			}
			return list(key, elements)
		})
		if err != nil {
			return err
		}
		all.Table, all.Columns = "register", []string{"id", "value"}
		return store.Whole(ctx, r, all, func(found store.Row) error {
			if err := found.Scan(&key, &value); err != nil {
				return err
			}
			return register(key, value)
		})
	})
}

const (
	appendElement = iota
	rewriteList
	getList
	writeRegister
	readRegister
	insertMember
	countMembers
	readPair
	writePair
)

func statements() []store.Statement {
	return []store.Statement{
		appendElement: {Name: "append", Verb: store.Append, Table: "list", Columns: []string{"id", "elements"},
			Values: []store.Expression{store.Parameter(1), store.Parameter(2)}},
		rewriteList:   {Name: "rewrite", Verb: store.Put, Table: "list", Columns: []string{"id", "elements"}},
		getList:       {Name: "list", Verb: store.Read, Table: "list", Columns: []string{"elements"}, Where: store.Where("id")},
		writeRegister: {Name: "write", Verb: store.Put, Table: "register", Columns: []string{"id", "value"}},
		readRegister:  {Name: "register", Verb: store.Read, Table: "register", Columns: []string{"value"}, Where: store.Where("id")},
		insertMember:  {Name: "insert", Verb: store.Insert, Table: "member", Columns: []string{"id", "grp"}},
		countMembers:  {Name: "count", Verb: store.Count, Table: "member", Where: store.Where("grp")},
		readPair: {Name: "pair", Verb: store.Read, Table: "pair", Columns: []string{"id", "value"},
			Where: []store.Condition{{Column: "id", Is: store.In, Value: store.Parameter(1)}}},
		writePair: {Name: "withdraw", Verb: store.Put, Table: "pair", Columns: []string{"id", "value"}},
	}
}

// Session is one client's session.
type Session struct {
	store.Session
	// own are the operations, as the transaction may go on after the caller; list is for
	// rewrites.
	own  []Op
	list []int64
	// AtPrimary sends read-only transactions to the server that takes writes.
	AtPrimary bool
	// moments are of the last transaction; see Encode.
	moments []int64
}

// Open opens a Session on a database with the workload's schema.
func Open(ctx context.Context, db store.Database) (*Session, error) {
	s, err := db.Session(ctx, statements())
	if err != nil {
		return nil, err
	}
	return &Session{Session: s}, nil
}

// Do does all operations in one transaction. It puts results of reads into ops; they mean
// nothing if the transaction did not commit.
func (s *Session) Do(ctx context.Context, ops []Op) store.Reply {
	for len(s.own) < len(ops) {
		s.own = append(s.own, Op{})
	}
	own := s.own[:len(ops)]
	for i := range ops {
		list := own[i].List[:0]
		own[i] = ops[i]
		own[i].List = list
	}
	last := time.Now()
	s.moments = s.moments[:0]
	passed := func() {
		now := time.Now()
		s.moments = append(s.moments, now.Sub(last).Microseconds())
		last = last.Add(now.Sub(last).Truncate(time.Microsecond))
	}
	r := s.Transaction(ctx, s.AtPrimary || slices.ContainsFunc(ops, writes), func(ctx context.Context, t store.Transaction) error {
		for i := range own {
			passed()
			if err := s.Operate(ctx, t, &own[i]); err != nil {
				return err
			}
			passed()
		}
		passed()
		return nil
	})
	if r.Violated == store.Unique {
		r.Class = store.ClassDuplicateKey
	}
	if r.Outcome != history.Committed { // it may still go on
		return r
	}
	for i := range ops {
		list := append(ops[i].List[:0], own[i].List...)
		ops[i] = own[i]
		ops[i].List = list
	}
	return r
}

func writes(o Op) bool {
	switch o.Kind {
	case ReadList, ReadValue, Count:
		return false
	default:
		return true
	}
}

// Operate does one operation in a transaction.
func (s *Session) Operate(ctx context.Context, t store.Transaction, op *Op) (err error) {
	switch op.Kind {
	case Append:
		_, err = t.Do(ctx, appendElement, nil, store.OfInts(op.Key, op.Value)...)
	case AppendByRewrite:
		if err = readInto(ctx, t, op.Key, &s.list); err != nil {
			return err
		}
		s.list = append(s.list, op.Value)
		_, err = t.Do(ctx, rewriteList, nil, store.OfInt(op.Key), store.OfList(s.list))
	case ReadList:
		err = readInto(ctx, t, op.Key, &op.List)
	case Write:
		_, err = t.Do(ctx, writeRegister, nil, store.OfInts(op.Key, op.Value)...)
	case ReadValue:
		op.Value, op.Found = 0, false
		_, err = t.Do(ctx, readRegister, func(row store.Row) error {
			op.Found = true
			return row.Scan(&op.Value)
		}, store.OfInt(op.Key))
	case Insert:
		_, err = t.Do(ctx, insertMember, nil, store.OfInts(op.Value, op.Key)...)
	case Count:
		_, err = t.Do(ctx, countMembers, func(row store.Row) error { return row.Scan(&op.Value) }, store.OfInt(op.Key))
	case Withdraw:
		err = withdraw(ctx, t, op)
	default:
		err = fmt.Errorf("no operation has the kind %d", op.Kind)
	}
	return err
}

// readInto reads a list; a missing one is empty.
func readInto(ctx context.Context, t store.Transaction, key int64, into *[]int64) error {
	*into = (*into)[:0]
	_, err := t.Do(ctx, getList, func(row store.Row) error { return row.Scan(into) }, store.OfInt(key))
	return err
}

func withdraw(ctx context.Context, t store.Transaction, op *Op) error {
	first := 2 * op.Key
	sides := [2]int64{1, 1}
	_, err := t.Do(ctx, readPair, func(row store.Row) error {
		var id, value int64
		if err := row.Scan(&id, &value); err != nil {
			return err
		}
		if side := id - first; side == 0 || side == 1 {
			sides[side] = value
		}
		return nil
	}, store.OfKeys([]int64{first, first + 1}))
	if err != nil {
		return err
	}
	op.Result = sides[0]&1 | sides[1]&1<<1
	own := op.Value & 1
	_, err = t.Do(ctx, writePair, nil, store.OfInts(first+own, Withdrawn(sides[own], sides[1-own]))...)
	return err
}
