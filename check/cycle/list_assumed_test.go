package cycle_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/check"
	. "assay/check/cycle"
)

// By any model, each assumption convicts a list just as it convicts a register, and no history that
// keeps it.
func TestAssumptionsOfLists(t *testing.T) {
	linearizable, sequential := Options{LinearizableKeys: true}, Options{SequentialKeys: true}
	for _, c := range []struct {
		name  string
		o     Options
		model Model
		found string
		txns  []string
	}{
		{"a stale read, nothing assumed", Options{}, Serializable, "", []string{"@0-10 ax1", "@20-30 rx_", "@40-50 rx1"}},
		{"a stale read", linearizable, Serializable, "cyclic-versions", []string{"@0-10 ax1", "@20-30 rx_", "@40-50 rx1"}},
		{"a stale read, where reads promise nothing", linearizable, ReadUncommitted, "cyclic-versions", []string{"@0-10 ax1", "@20-30 rx_", "@40-50 rx1"}},
		{"a read in time", linearizable, Serializable, "", []string{"@0-25 ax1", "@20-30 rx_", "@40-50 rx1"}},
		{"an append that nobody ever saw", linearizable, Serializable, "cyclic-versions", []string{"@0-10 ax1", "@20-30 rx_"}},
		{"an append of unknown outcome", linearizable, Serializable, "", []string{"? @0-10 ax1", "@20-30 rx_"}},
		{"appends in another order than they were acknowledged", linearizable, Serializable, "cyclic-versions", []string{"@0-10 ax1", "@20-30 ax2", "@40-50 rx21"}},
		{"a read that was seen before", linearizable, Serializable, "cyclic-versions", []string{"@0-100 ax1", "@20-30 rx1", "@40-50 rx_"}},
		{"appends crosswise that nobody saw", linearizable, ReadCommitted, "G0", []string{"@0-10 ax1 az1", "@20-30 ax2 ay2", "@0-100 ay3 az3", "@200-210 ry23 rz31"}},
		{"the same, nothing assumed", Options{}, ReadCommitted, "", []string{"@0-10 ax1 az1", "@20-30 ax2 ay2", "@0-100 ay3 az3", "@200-210 ry23 rz31"}},
		{"one client goes back", sequential, Serializable, "cyclic-versions", []string{"ax1", "p1 @0-10 rx1", "p1 @20-30 rx_"}},
		{"two clients", sequential, Serializable, "", []string{"ax1", "p1 @0-10 rx1", "p2 @20-30 rx_"}},
		{"one client, nothing assumed", Options{}, Serializable, "", []string{"ax1", "p1 @0-10 rx1", "p1 @20-30 rx_"}},
	} {
		r := Check(context.Background(), parse(t, c.txns...), c.model, c.o)
		checkReport(t, c.name, r)
		if got := strings.Join(r.Anomalies, " "); got != c.found || c.found == "" && r.Verdict != check.Valid {
			t.Errorf("%s: %v %q, want %q: %s", c.name, r.Verdict, got, c.found, r.Reason)
		}
	}
}

// keeps reports whether this order of the versions keeps an assumption. The last version that a
// transaction saw or left must not come after the first version of one that follows it.
func (f *facts) keeps(follows relation) bool {
	o := f.o
	for key, order := range o.order {
		for a := range o.txns {
			for b := range o.txns {
				if _, last, ok := o.span(a, key, order); ok && follows[a][b] {
					if first, _, ok := o.span(b, key, order); ok && last > first {
						return false
					}
				}
			}
		}
	}
	return true
}

// span is the first and last version of a key that a transaction saw or left, as places in the
// order of its writers; 0 is the initial one.
func (o *oracle) span(t int, key int64, order []int) (first, last int, ok bool) {
	own := slices.Index(order, t) + 1
	for i, op := range o.txns[t].Ops {
		at := own
		switch {
		case op.Key != key:
			continue
		case op.Kind == Append || op.Kind == Write:
			if own == 0 {
				continue // it did not take effect
			}
		default:
			found := false
			for _, r := range o.external[t] {
				if r.op == i {
					at, found = slices.Index(order, r.writer)+1, true
				}
			}
			if !found && own == 0 {
				continue
			}
			if n := len(op.List); n > 0 && o.wrote(key, op.List[n-1]) == t {
				at = own
			}
		}
		if !ok {
			first, ok = at, true
		}
		last = at
	}
	return first, last, ok
}

// The findings on lists under an assumption agree with every order of their versions that keeps it.
func TestAssumedOrders(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(4000) {
		txns := small(t, seed, false)
		if seed%3 == 0 {
			txns = busy(t, seed)
		}
		o := newOracle(txns)
		if !o.consistent() {
			continue
		}
		for _, assumed := range []struct {
			name    string
			o       Options
			follows relation
		}{
			{"linearizable", Options{LinearizableKeys: true}, o.realtime},
			{"sequential", Options{SequentialKeys: true}, o.process},
		} {
			want := map[Model]bool{}
			o.each(func(f *facts) bool {
				for _, m := range []Model{Serializable, SnapshotIsolation, ReadCommitted} {
					want[m] = want[m] || f.keeps(assumed.follows) && f.allowed(m)
				}
				return false
			})
			for m := range want {
				r := Check(context.Background(), build(t, txns), m, assumed.o)
				if r.Verdict == check.Unknown && !readsAnything(txns) {
					continue
				}
				if (r.Verdict == check.Valid) != want[m] {
					t.Fatalf("seed %d, %s, %s: %v %v, by all orders %v%s", seed, assumed.name, m, r.Verdict, r.Anomalies, want[m], show(txns))
				}
				alone := Check(context.Background(), build(t, txns), m, Options{})
				counts[fmt.Sprintf("%s %s %v, without it %v", assumed.name, m, r.Verdict, alone.Verdict)]++
			}
		}
	}
	for _, name := range []string{"linearizable", "sequential"} {
		if n := counts[name+" serializable violated, without it valid"]; n < 20 {
			t.Errorf("%s: only %d histories were convicted by the assumption", name, n)
		}
	}
	t.Log(counts)
}

// Below read committed, only an assumption says that a register's write follows its transaction's
// read.
func TestAssumedThatWritesFollowReads(t *testing.T) {
	txns := []string{"wx1", "rx=1 wx2", "wy1", "ry=1 wy2"}
	for _, c := range []struct {
		o    Options
		txns []string
		want check.Verdict
	}{
		{Options{}, txns, check.Valid},
		{Options{WritesFollowReads: true}, txns, check.Valid},
		{Options{}, []string{"rx=2 wx1", "rx=1 wx2"}, check.Valid},
		{Options{WritesFollowReads: true}, []string{"rx=2 wx1", "rx=1 wx2"}, check.Violated},
		{Options{}, []string{"wx1 ry=1 wy2", "rx=1 wx2 wy1"}, check.Valid},
		{Options{WritesFollowReads: true}, []string{"wx1 ry=1 wy2", "rx=1 wx2 wy1"}, check.Violated},
	} {
		if r := Check(context.Background(), parse(t, c.txns...), ReadUncommitted, c.o); r.Verdict != c.want {
			t.Errorf("%v, %+v: %v %v %s, want %v", c.txns, c.o, r.Verdict, r.Anomalies, r.Reason, c.want)
		}
	}
}
