//go:build foundationdb

package foundationdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/workload"
	"assay/workload/isolation"
)

// isolationStore is an isolation.Store, under ("assay", "isolation"):
//
//	("list", key) = its elements
//	("register", key) = value
//	("member", group, id) = nothing
//	("pair", id) = value
//
// each integer as eight bytes, big endian.
type isolationStore struct{ *schema }

// OpenIsolation connects to the cluster and returns its Store. Errors are as
// with Open.
func OpenIsolation(ctx context.Context, target workload.Target) (isolation.Store, error) {
	p, err := openSchema(ctx, target, "isolation", tableList, tableMember, tablePair, tableRegister)
	if err != nil {
		return nil, err
	}
	return &isolationStore{p}, nil
}

// Promise implements isolation.Store; see level. The paper says the same (J.
// Zhou et al., "FoundationDB: A Distributed Unbundled Transactional Key Value
// Store", SIGMOD 2021).
func (s *isolationStore) Promise() string { return level }

func (s *isolationStore) Read(ctx context.Context, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	type entry struct {
		key, value int64
		elements   []int64
	}
	lists := func(row, value []byte, e *entry) (err error) {
		e.elements, err = readList(value, nil)
		return errors.Join(err, s.ids(tableList, row, &e.key))
	}
	registers := func(row, value []byte, e *entry) error {
		return errors.Join(s.ids(tableRegister, row, &e.key), readWords(tableRegister, value, &e.value))
	}
	return s.read(ctx, rows(tableList, lists, func(e entry) error { return list(e.key, e.elements) }),
		rows(tableRegister, registers, func(e entry) error { return register(e.key, e.value) }))
}

// isolationSession is an isolation.Session.
type isolationSession struct{ session }

func (s *isolationStore) Session(ctx context.Context) (isolation.Session, error) {
	n, err := s.session(ctx)
	return &isolationSession{n}, err
}

// Do implements isolation.Session. A transaction that only reads is committed
// as well, which the client does by itself without asking anybody.
func (n *isolationSession) Do(ctx context.Context, ops []isolation.Op) isolation.Reply {
	return n.transact(ctx, "transaction", func(t *transaction) (reply workload.Reply, err error) {
		for i := 0; err == nil && i < len(ops); i++ {
			err = n.operation(t, &ops[i])
		}
		if errors.Is(err, errTooLong) {
			return refused(classTooLong, "do an operation", err), nil
		}
		return committed(), err
	})
}

// errTooLong says that a list does not fit into a value.
var errTooLong = fmt.Errorf("a list of %d elements takes no more; use more --keys or a lower --per-key", maxValue/8)

// operation does one operation; it sees what those before it have written.
func (n *isolationSession) operation(t *transaction, o *isolation.Op) error {
	switch o.Kind {
	case isolation.Append, isolation.AppendByRewrite:
		return n.grow(t, o.Key, o.Value)
	case isolation.ReadList:
		value, err := t.Get(fdb.Key(n.key(tableList, o.Key))).Get()
		if err != nil {
			return err
		}
		o.List, err = readList(value, o.List[:0])
		return err
	case isolation.Write:
		t.Set(fdb.Key(n.key(tableRegister, o.Key)), appendWords(nil, o.Value))
		return nil
	case isolation.ReadValue:
		o.Value = 0
		value, err := t.Get(fdb.Key(n.key(tableRegister, o.Key))).Get()
		if o.Found = err == nil && value != nil; !o.Found {
			return err
		}
		return readWords(tableRegister, value, &o.Value)
	case isolation.Insert:
		return n.insert(t, o.Key, o.Value)
	case isolation.Count:
		begin, end := n.rows(tableMember, o.Key)
		rows, err := t.GetRange(keyRange(begin, end), fdb.RangeOptions{}).GetSliceWithError()
		o.Value = int64(len(rows))
		return err
	case isolation.Withdraw:
		return n.withdraw(t, o)
	default:
		return fmt.Errorf("no operation has the kind %d", o.Kind)
	}
}

// grow reads a list and writes it longer by one element, for both kinds of
// append: FoundationDB's own atomic append does nothing when the value would
// become too large, and "No error is surfaced back to the user" (Go binding,
// AppendIfFits).
func (n *isolationSession) grow(t *transaction, list, element int64) error {
	key := fdb.Key(n.key(tableList, list))
	value, err := t.Get(key).Get()
	switch {
	case err != nil:
		return err
	case len(value)+8 > maxValue:
		return errTooLong
	}
	t.Set(key, appendWords(value, element))
	return nil
}

func (n *isolationSession) insert(t *transaction, group, id int64) error {
	key := fdb.Key(n.key(tableMember, group, id))
	value, err := t.Get(key).Get()
	switch {
	case err != nil:
		return err
	case value != nil:
		return fmt.Errorf("row %d is in group %d already", id, group)
	}
	t.Set(key, []byte{})
	return nil
}

func (n *isolationSession) withdraw(t *transaction, o *isolation.Op) error {
	var keys [2]fdb.Key
	var read [2]fdb.FutureByteSlice
	for side := range keys {
		keys[side] = n.key(tablePair, 2*o.Key+int64(side))
		read[side] = t.Get(keys[side])
	}
	sides := [2]int64{1, 1}
	for side, f := range read {
		value, err := f.Get()
		if err != nil {
			return err
		}
		if value != nil {
			if err := readWords(tablePair, value, &sides[side]); err != nil {
				return err
			}
		}
	}
	o.Result = sides[0] | sides[1]<<1
	own := o.Value & 1
	t.Set(keys[own], appendWords(nil, isolation.Withdrawn(sides[own], sides[1-own])))
	return nil
}
