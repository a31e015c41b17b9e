package isolation_test

import (
	"fmt"
	"slices"
	"testing"

	"assay/driver/mem"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/isolation"
)

// bench is a database with two sessions.
type bench struct {
	t *testing.T
	store.Database
	sessions [2]*isolation.Session
	// next is an element that nothing else has.
	next int64
}

func newBench(t *testing.T) *bench {
	t.Helper()
	s, err := mem.Open(t.Context(), store.Target{Address: "mem://"}, isolation.Schema())
	expect.NoError(t, err)
	expect.NoError(t, s.Create(t.Context(), store.Marker{Loaded: true}))
	b := &bench{t: t, Database: s}
	for i := range b.sessions {
		if b.sessions[i], err = isolation.Open(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.sessions[i].Close)
	}
	return b
}

// commit does a transaction in a session. Elements are made for what has none.
func (b *bench) commit(session int, ops ...isolation.Op) []isolation.Op {
	b.t.Helper()
	for i := range ops {
		if k := ops[i].Kind; ops[i].Value == 0 && k != isolation.ReadList && k != isolation.ReadValue && k != isolation.Count && k != isolation.Withdraw {
			b.next++
			ops[i].Value = b.next
		}
	}
	if r := b.sessions[session].Do(b.t.Context(), ops); r.Outcome != history.Committed || r.Err != nil || r.Class != "" {
		b.t.Fatalf("%+v: %+v, want committed", ops, r)
	}
	return ops
}

func (b *bench) wantList(o isolation.Op, want []int64) {
	b.t.Helper()
	if !slices.Equal(o.List, want) {
		b.t.Errorf("list %d is %v, want %v", o.Key, o.List, want)
	}
}

func op(kind isolation.Kind, key int64) isolation.Op { return isolation.Op{Kind: kind, Key: key} }

func withdraw(pair, side int64) isolation.Op {
	return isolation.Op{Kind: isolation.Withdraw, Key: pair, Value: side}
}

// TestKinds has every kind in one transaction, which sees its own, and then another session.
func TestKinds(t *testing.T) {
	b := newBench(t)
	var list []int64
	for n := range int64(3) {
		writer, reader := int(n%2), int((n+1)%2)
		o := b.commit(writer, op(isolation.ReadList, 2), op(isolation.Append, 2), op(isolation.AppendByRewrite, 2), op(isolation.ReadList, 2),
			op(isolation.Write, 3), op(isolation.ReadValue, 3), op(isolation.Write, 3), op(isolation.ReadValue, 3),
			op(isolation.Count, 1), op(isolation.Insert, 1), op(isolation.Insert, 1), op(isolation.Count, 1), op(isolation.Append, 4))
		b.wantList(o[0], list)
		list = append(list, o[1].Value, o[2].Value)
		b.wantList(o[3], list)
		if o[5].Value != o[4].Value || o[7].Value != o[6].Value || !o[7].Found || o[8].Value != 2*n || o[11].Value != 2*n+2 {
			t.Errorf("a transaction saw of its own %+v", o)
		}
		seen := b.commit(reader, op(isolation.ReadValue, 3), op(isolation.Count, 1), op(isolation.ReadList, 2))
		if seen[0].Value != o[6].Value || seen[1].Value != 2*n+2 {
			t.Errorf("another session saw %+v", seen)
		}
		b.wantList(seen[2], list)
	}
	var found []string
	err := isolation.Read(t.Context(), b, func(key int64, elements []int64) error {
		found = append(found, fmt.Sprint("list ", key, len(elements)))
		return nil
	},
		func(key, value int64) error { found = append(found, fmt.Sprint("register ", key)); return nil })
	if want := []string{"list 2 6", "list 4 3", "register 3"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("%q, %v; want %q", found, err, want)
	}
}

// TestPair goes through the rule of two rows by hand.
func TestPair(t *testing.T) {
	b := newBench(t)
	for i, s := range []struct{ side, want int64 }{
		{0, 0b11}, // both are 1, so side 0 becomes 0
		{1, 0b10}, // it is not touched: side 1 stays 1
		{1, 0b10},
		{0, 0b10}, // side 0 becomes 1 again
		{1, 0b11}, // side 1 becomes 0
		{0, 0b01},
		{1, 0b01}, // and 1 again
		{1, 0b11},
		{0, 0b01},
	} {
		for _, pair := range []int64{6, 7} { // neighbours: rows 12 to 15
			if o := b.commit((i+int(pair))%2, withdraw(pair, s.side))[0]; o.Result != s.want {
				t.Errorf("step %d, pair %d: read %02b, want %02b", i, pair, o.Result, s.want)
			}
		}
	}
}

// TestAbsent reads what was never made, into operations that held something, and finds that
// reading makes nothing.
func TestAbsent(t *testing.T) {
	b := newBench(t)
	for range 2 {
		o := b.commit(0, isolation.Op{Kind: isolation.ReadList, Key: 2, List: []int64{1, 2, 3}}, isolation.Op{Kind: isolation.ReadValue, Key: 3, Value: 9, Found: true},
			isolation.Op{Kind: isolation.Count, Key: 1, Value: 9})
		if len(o[0].List) != 0 || o[1].Found || o[2].Value != 0 {
			t.Errorf("nothing was read as %+v", o)
		}
	}
	unwanted := func(int64) { t.Error("reading has made something") }
	if err := isolation.Read(t.Context(), b, func(key int64, _ []int64) error { unwanted(key); return nil }, func(key, _ int64) error { unwanted(key); return nil }); err != nil {
		t.Error(err)
	}
}

// TestLargeNumbers uses the largest elements and keys that a run can have, and negative ones.
func TestLargeNumbers(t *testing.T) {
	b := newBench(t)
	element := isolation.TransactionID(10_000, isolation.MaxSeq, isolation.MaxAttempt)
	const key = 1 << 50
	b.commit(0, isolation.Op{Kind: isolation.Append, Key: key, Value: element}, isolation.Op{Kind: isolation.AppendByRewrite, Key: key, Value: -element},
		isolation.Op{Kind: isolation.Write, Key: key + 1, Value: -5}, isolation.Op{Kind: isolation.Insert, Key: key, Value: element + 3}, withdraw(key, 0))
	o := b.commit(1, op(isolation.ReadList, key), op(isolation.ReadValue, key+1), op(isolation.Count, key), withdraw(key, 0))
	b.wantList(o[0], []int64{element, -element})
	if o[1].Value != -5 || o[2].Value != 1 || o[3].Result != 0b10 {
		t.Errorf("%+v", o)
	}
}

// TestRefused leaves nothing of a transaction that cannot be done, and the session goes on.
func TestRefused(t *testing.T) {
	b := newBench(t)
	row := isolation.Op{Kind: isolation.Insert, Key: 1, Value: 5}
	b.commit(0, row)
	for _, last := range []isolation.Op{row, {Kind: 99}} {
		r := b.sessions[0].Do(t.Context(), []isolation.Op{{Kind: isolation.Append, Key: 2, Value: 1}, last})
		if r.Outcome != history.Failed || r.Class == "" || r.Broken || r.Duplicate {
			t.Errorf("%+v: %+v", last, r)
		}
		b.wantList(b.commit(0, op(isolation.ReadList, 2))[0], nil)
	}
}

func TestPromise(t *testing.T) {
	if promise := newBench(t).Promises().Model; promise != "strict-serializable" {
		t.Errorf("mem promises %q", promise)
	}
}
