package sqldb

import (
	"context"
	"fmt"
	"slices"

	"assay/history"
	"assay/store"
	"assay/workload/isolation"
)

// IsolationSchema is the Schema of workload isolation. The index lets a group be
// counted without a look at all rows of the run; a count is still one by a
// predicate, and where it locks, it locks a range of the index.
func IsolationSchema() Schema {
	return Schema{Workload: "isolation", Transactions: true, Judged: true, Tables: []Table{
		{Name: "list", Columns: []Column{{Name: "id"}, {Name: "elements", Type: Ints}}},
		{Name: "register", Columns: []Column{{Name: "id"}, {Name: "value"}}},
		{Name: "member", Columns: []Column{{Name: "id"}, {Name: "grp"}}, Indexes: []Index{{Name: "member_grp", Columns: []string{"grp"}}}},
		{Name: "pair", Columns: []Column{{Name: "id"}, {Name: "value"}}},
	}}
}

// Isolation is the Store on a Database of IsolationSchema.
func Isolation(db Database) isolation.Store { return &isolationStore{db} }

type isolationStore struct{ Database }

func (s *isolationStore) Promise() string { return s.PromiseLevel() }

func (s *isolationStore) Read(ctx context.Context, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	var key, value int64
	d := s.Dialect()
	return view(ctx, s.View,
		whole(d, []string{"id", "elements"}, "list", " ORDER BY id", func(found Row) error {
			var elements []int64
			if err := found.Scan(&key, &elements); err != nil {
				return fmt.Errorf("list %d: %w", key, err)
			}
			return given(list(key, elements))
		}),
		whole(d, []string{"id", "value"}, "register", " ORDER BY id", func(found Row) error {
			if err := found.Scan(&key, &value); err != nil {
				return err
			}
			return given(register(key, value))
		}))
}

// The statements of a session.
const (
	appendElement = iota
	rewriteList
	readList
	writeRegister
	readRegister
	insertMember
	countMembers
	readPair
	writePair
)

func (s *isolationStore) statements() []Statement {
	d := s.Dialect()
	upsert := d.upsert("id")
	list, register, member, pair := d.Table("list"), d.Table("register"), d.Table("member"), d.Table("pair")
	return []Statement{
		appendElement: {"append", "INSERT INTO " + list + " (id, elements) VALUES ($1, " + fmt.Sprintf(d.NewList, "elements", "list", "$2") + ")" +
			upsert + "elements = " + fmt.Sprintf(d.Append, "elements", "list", "$2")},
		rewriteList:   {"rewrite", "INSERT INTO " + list + " (id, elements) VALUES ($1, $2)" + upsert + "elements = $2"},
		readList:      {"list", "SELECT elements FROM " + list + " WHERE id = $1"},
		writeRegister: {"write", "INSERT INTO " + register + " (id, value) VALUES ($1, $2)" + upsert + "value = $2"},
		readRegister:  {"register", "SELECT value FROM " + register + " WHERE id = $1"},
		insertMember:  {"insert", "INSERT INTO " + member + " (grp, id) VALUES ($1, $2)"},
		countMembers:  {"count", "SELECT count(*) FROM " + member + " WHERE grp = $1"},
		readPair:      {"pair", "SELECT id, value FROM " + pair + " WHERE id IN ($1, $2)"},
		writePair:     {"withdraw", "INSERT INTO " + pair + " (id, value) VALUES ($1, $2)" + upsert + "value = $2"},
	}
}

func (s *isolationStore) Session(ctx context.Context) (isolation.Session, error) {
	c, err := s.Connect(ctx, s.statements())
	if err != nil {
		return nil, err
	}
	return &isolationSession{connection: c}, nil
}

type isolationSession struct {
	connection Connection
	// own are the operations that the transaction works on, since it may go on after
	// the caller has left; list is for lists that are rewritten.
	own  []isolation.Op
	list []int64
}

func (s *isolationSession) Close() { s.connection.Close() }

func (s *isolationSession) Do(ctx context.Context, ops []isolation.Op) isolation.Reply {
	for len(s.own) < len(ops) {
		s.own = append(s.own, isolation.Op{})
	}
	own := s.own[:len(ops)]
	for i := range ops {
		list := own[i].List[:0]
		own[i] = ops[i]
		own[i].List = list
	}
	r := s.connection.Transaction(ctx, slices.ContainsFunc(ops, writes), func(ctx context.Context, t Transaction) error {
		for i := range own {
			if err := s.Operate(ctx, t, &own[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if r.Violated == Unique {
		r.Class = store.ClassDuplicateKey
	}
	if r.Outcome != history.Committed { // it may still go on
		return r.Reply
	}
	for i := range ops {
		list := append(ops[i].List[:0], own[i].List...)
		ops[i] = own[i]
		ops[i].List = list
	}
	return r.Reply
}

// writes is whether an operation changes anything.
func writes(o isolation.Op) bool {
	switch o.Kind {
	case isolation.ReadList, isolation.ReadValue, isolation.Count:
		return false
	default:
		return true
	}
}

// Operate does one operation in a transaction.
func (s *isolationSession) Operate(ctx context.Context, t Transaction, op *isolation.Op) error {
	switch op.Kind {
	case isolation.Append:
		return t.Execute(ctx, appendElement, OfInt(op.Key), OfInt(op.Value))
	case isolation.AppendByRewrite:
		if err := s.readList(ctx, t, op.Key, &s.list); err != nil {
			return err
		}
		s.list = append(s.list, op.Value)
		return t.Execute(ctx, rewriteList, OfInt(op.Key), OfList(s.list))
	case isolation.ReadList:
		return s.readList(ctx, t, op.Key, &op.List)
	case isolation.Write:
		return t.Execute(ctx, writeRegister, OfInt(op.Key), OfInt(op.Value))
	case isolation.ReadValue:
		op.Value, op.Found = 0, false
		return t.Query(ctx, readRegister, func(row Row) error {
			op.Found = true
			return row.Scan(&op.Value)
		}, OfInt(op.Key))
	case isolation.Insert:
		return t.Execute(ctx, insertMember, OfInt(op.Key), OfInt(op.Value))
	case isolation.Count:
		return t.Query(ctx, countMembers, func(row Row) error { return row.Scan(&op.Value) }, OfInt(op.Key))
	case isolation.Withdraw:
		return withdraw(ctx, t, op)
	default:
		return fmt.Errorf("no operation has the kind %d", op.Kind)
	}
}

// readList reads a list; one that does not exist is empty.
func (s *isolationSession) readList(ctx context.Context, t Transaction, key int64, into *[]int64) error {
	*into = (*into)[:0]
	return t.Query(ctx, readList, func(row Row) error { return row.Scan(into) }, OfInt(key))
}

func withdraw(ctx context.Context, t Transaction, op *isolation.Op) error {
	first := 2 * op.Key
	sides := [2]int64{1, 1}
	err := t.Query(ctx, readPair, func(row Row) error {
		var id, value int64
		if err := row.Scan(&id, &value); err != nil {
			return err
		}
		if side := id - first; side == 0 || side == 1 {
			sides[side] = value
		}
		return nil
	}, OfInt(first), OfInt(first+1))
	if err != nil {
		return err
	}
	op.Result = sides[0]&1 | sides[1]&1<<1
	own := op.Value & 1
	return t.Execute(ctx, writePair, OfInt(first+own), OfInt(isolation.Withdrawn(sides[own], sides[1-own])))
}
