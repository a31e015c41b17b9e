package mem

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/isolation"
)

// isolationStore is an isolation.Store.
type isolationStore struct {
	baseStore
	lists     *table[int64, []int64]
	registers *table[int64, int64]
	// groups are the numbers of their rows, sides those of pairs by pairSide.
	groups, sides *table[int64, int64]
}

// OpenIsolation is as OpenBank.
func OpenIsolation(_ context.Context, target workload.Target) (isolation.Store, error) {
	return opened(target, func(b baseStore) isolation.Store {
		numbers := func() *table[int64, int64] { return newTable[int64, int64](b.d) }
		return &isolationStore{b, newTable[int64, []int64](b.d), numbers(), numbers(), numbers()}
	})
}

func (s *isolationStore) Promise() string { return "strict-serializable" }

func (s *isolationStore) Read(ctx context.Context, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	return s.locked(true, func() error {
		if err := inOrder(ctx, s.lists, list); err != nil {
			return err
		}
		return inOrder(ctx, s.registers, register)
	})
}

// inOrder gives all rows in ascending order of key.
func inOrder[R any](ctx context.Context, t *table[int64, R], give func(int64, R) error) error {
	for i, key := range slices.Sorted(maps.Keys(t.rows)) {
		if err := interrupted(ctx, int64(i)); err != nil {
			return err
		}
		if row, found := t.current(key); found {
			if err := give(key, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// Size implements isolation.Store: the rows and the elements of the lists.
func (s *isolationStore) Size(context.Context) (workload.Size, error) {
	return s.size(func() (bytes int64) {
		for _, t := range s.d.tables {
			bytes += 40 * t.count()
		}
		for _, v := range s.lists.rows {
			bytes += 8 * int64(len(v.row))
		}
		return bytes
	}, "list", "register", "group", "pair_row")
}

// isolationSession is one client's.
type isolationSession struct{ *isolationStore }

func (s *isolationStore) Session(context.Context) (isolation.Session, error) {
	return &isolationSession{s}, s.ready()
}

// Do implements isolation.Session. The latency comes in parts before each
// operation; a context that ends then ends the transaction without effect.
// Others are let in before the transaction and after each operation, so that
// transactions meet on any machine.
func (n *isolationSession) Do(ctx context.Context, ops []isolation.Op) isolation.Reply {
	for i := range ops {
		if ops[i].Kind < isolation.Append || ops[i].Kind > isolation.Withdraw {
			return isolation.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: fmt.Errorf("mem: no operation has the kind %d", ops[i].Kind)}
		}
	}
	runtime.Gosched()
	if err := n.d.lock(true); err != nil {
		return isolation.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err, Broken: true}
	}
	x := n.d.begin()
	n.d.mu.Unlock()
	for i := range ops {
		if err := workload.Pause(ctx, n.d.latency/time.Duration(len(ops))); err != nil {
			n.d.mu.Lock()
			defer n.d.mu.Unlock()
			x.end()
			return isolation.Reply{Outcome: history.Failed, Class: workload.ClassTimeout, Err: fmt.Errorf("mem: transaction: %w", err)}
		}
		n.d.mu.Lock()
		n.operate(x, &ops[i])
		n.d.mu.Unlock()
		runtime.Gosched()
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	return x.finish(committed())
}

func (n *isolationSession) operate(x *transaction, o *isolation.Op) {
	switch o.Kind {
	case isolation.Append:
		element := o.Value // of a caller that may use its operations again
		update(x, n.lists, o.Key, func(list []int64) []int64 { return append(slices.Clip(list), element) })
	case isolation.AppendByRewrite:
		list, _ := get(x, n.lists, o.Key)
		put(x, n.lists, o.Key, append(slices.Clip(list), o.Value))
	case isolation.ReadList:
		list, _ := get(x, n.lists, o.Key)
		o.List = append(o.List[:0], list...)
	case isolation.Write:
		put(x, n.registers, o.Key, o.Value)
	case isolation.ReadValue:
		o.Value, o.Found = get(x, n.registers, o.Key)
	case isolation.Insert:
		update(x, n.groups, o.Key, func(rows int64) int64 { return rows + 1 })
	case isolation.Count:
		o.Value, _ = get(x, n.groups, o.Key)
	case isolation.Withdraw:
		n.withdraw(x, o)
	}
}

// withdraw reads both rows of a pair and writes one. A row that was never written
// is 1.
func (n *isolationSession) withdraw(x *transaction, o *isolation.Op) {
	var sides [2]int64
	for side := range sides {
		value, found := get(x, n.sides, 2*o.Key+int64(side))
		if sides[side] = value; !found {
			sides[side] = 1
		}
	}
	o.Result = sides[0] | sides[1]<<1
	own := o.Value & 1
	put(x, n.sides, 2*o.Key+own, isolation.Withdrawn(sides[own], sides[1-own]))
}

func (n *isolationSession) Close() {}
