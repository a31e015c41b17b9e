package drivertest

import (
	"context"
	"slices"
	"time"

	"assay/history"
	"assay/workload/isolation"
)

// testAppend grows lists by one kind of append, seen by another session.
func (f *isolationFixture) testAppend(kind isolation.Kind) {
	a, b := f.two()
	add := func(key int64) isolation.Op { return isolation.Op{Kind: kind, Key: key} }
	var first, second []int64
	for range 4 {
		ops := a.commit(f.ctx, add(2))
		first = append(first, ops[0].Value)
		ops = b.commit(f.ctx, add(4), add(2), add(4))
		first = append(first, ops[1].Value)
		second = append(second, ops[0].Value, ops[2].Value)
		for _, reader := range []*isolationClient{a, b} {
			ops = reader.commit(f.ctx, readList(2), readList(4))
			reader.wantList(ops[0], first...)
			reader.wantList(ops[1], second...)
		}
	}
	if c := f.contents(); !slices.Equal(c.Lists[2], first) || !slices.Equal(c.Lists[4], second) {
		f.t.Errorf("read back %v, want %v and %v", c.Lists, first, second)
	}
}

func (f *isolationFixture) testRegister() {
	a, b := f.two()
	for range 3 {
		for _, writer := range []*isolationClient{a, b} {
			ops := writer.commit(f.ctx, write(3), write(5), write(3))
			for _, reader := range []*isolationClient{a, b} {
				read := reader.commit(f.ctx, readValue(3), readValue(5), readValue(7))
				reader.wantValue(read[0], ops[2].Value)
				reader.wantValue(read[1], ops[1].Value)
				if read[2].Found {
					f.t.Errorf("a register that was never written: %+v", read[2])
				}
			}
		}
	}
	// Zero and negative values are values.
	a.commit(f.ctx, isolation.Op{Kind: isolation.Write, Key: 7, Value: -5})
	b.wantValue(b.commit(f.ctx, readValue(7))[0], -5)
}

func (f *isolationFixture) testGroup() {
	a, b := f.two()
	for n := range int64(4) {
		a.commit(f.ctx, insert(1), insert(2), insert(1))
		for _, reader := range []*isolationClient{a, b} {
			ops := reader.commit(f.ctx, count(1), count(2), count(3))
			if ops[0].Value != 2*n+2 || ops[1].Value != n+1 || ops[2].Value != 0 {
				f.t.Errorf("counted %d, %d and %d, want %d, %d and 0", ops[0].Value, ops[1].Value, ops[2].Value, 2*n+2, n+1)
			}
		}
	}
}

// testPair goes through the rule of two rows by hand.
func (f *isolationFixture) testPair() {
	a, b := f.two()
	steps := []struct{ side, want int64 }{
		{0, 0b11}, // both are 1, so side 0 becomes 0
		{1, 0b10}, // it is not touched: side 1 stays 1
		{1, 0b10},
		{0, 0b10}, // side 0 becomes 1 again
		{1, 0b11}, // side 1 becomes 0
		{0, 0b01},
		{1, 0b01}, // and 1 again
		{1, 0b11},
		{0, 0b01},
	}
	for i, s := range steps {
		for _, pair := range []int64{6, 7} { // neighbours: rows 12 to 15
			actor := []*isolationClient{a, b}[(int64(i)+pair)%2]
			if ops := actor.commit(f.ctx, withdraw(pair, s.side)); ops[0].Result != s.want {
				f.t.Errorf("step %d, pair %d: read %02b, want %02b", i, pair, ops[0].Result, s.want)
			}
		}
	}
}

// testAbsent reads what was never made, and finds that reading makes nothing.
func (f *isolationFixture) testAbsent() {
	a := f.client(f.store, 0)
	for range 2 {
		ops := a.commit(f.ctx, readList(2), readValue(3), count(1))
		if len(ops[0].List) != 0 || ops[1].Found || ops[2].Value != 0 {
			f.t.Errorf("nothing was read as %+v", ops)
		}
	}
	// What the caller's operations held before must not shine through.
	used := []isolation.Op{
		{Kind: isolation.ReadList, Key: 2, List: []int64{1, 2, 3}}, {Kind: isolation.ReadValue, Key: 3, Value: 9, Found: true},
		{Kind: isolation.Count, Key: 1, Value: 9}, {Kind: isolation.Withdraw, Key: 1, Value: 1, Result: 1},
	}
	ops := a.commit(f.ctx, used...)
	if len(ops[0].List) != 0 || ops[1].Found || ops[2].Value != 0 || ops[3].Result != 3 {
		f.t.Errorf("into used operations nothing was read as %+v", ops)
	}
	if c := f.contents(); len(c.Lists)+len(c.Registers) != 0 {
		f.t.Errorf("reading made %+v", c)
	}
}

// testAllTogether has every kind in one transaction, and sees it as a whole.
func (f *isolationFixture) testAllTogether() {
	a, b := f.two()
	var list []int64
	for n := range int64(3) {
		made := a.commit(f.ctx, appendTo(2), write(3), insert(1), withdraw(1, 0), readList(2), readValue(3), count(1), rewrite(2))
		list = append(list, made[0].Value)
		a.wantList(made[4], list...)
		a.wantValue(made[5], made[1].Value)
		if made[6].Value != n+1 {
			f.t.Errorf("counted %d, want %d", made[6].Value, n+1)
		}
		list = append(list, made[7].Value)
		seen := b.commit(f.ctx, count(1), readValue(3), readList(2))
		b.wantList(seen[2], list...)
		b.wantValue(seen[1], made[1].Value)
	}
}

// testOwnWrites: a transaction sees what it has done itself, in its order.
func (f *isolationFixture) testOwnWrites() {
	a := f.client(f.store, 0)
	for range 2 {
		before := a.commit(f.ctx, readList(2))[0].List
		ops := a.commit(f.ctx, readList(2), appendTo(2), readList(2), rewrite(2), readList(2), appendTo(2), readList(2))
		a.wantList(ops[0], before...)
		one := append(slices.Clone(before), ops[1].Value)
		a.wantList(ops[2], one...)
		two := append(slices.Clone(one), ops[3].Value)
		a.wantList(ops[4], two...)
		a.wantList(ops[6], append(slices.Clone(two), ops[5].Value)...)

		ops = a.commit(f.ctx, write(3), readValue(3), write(3), readValue(3))
		a.wantValue(ops[1], ops[0].Value)
		a.wantValue(ops[3], ops[2].Value)

		ops = a.commit(f.ctx, count(1), insert(1), count(1), insert(2), insert(1), count(1))
		if first := ops[0].Value; ops[2].Value != first+1 || ops[5].Value != first+2 {
			f.t.Errorf("counted %d, then %d and %d with one and two more", first, ops[2].Value, ops[5].Value)
		}

		ops = a.commit(f.ctx, withdraw(1, 0), withdraw(1, 0), withdraw(1, 1), withdraw(1, 1))
		for i, want := range []int64{0b11, 0b10, 0b11, 0b01} {
			if ops[i].Result != want {
				f.t.Errorf("withdrawal %d read %02b, want %02b", i, ops[i].Result, want)
			}
		}
	}
}

// testLargeNumbers uses the largest elements and keys that a run can have,
// which a floating-point number would not hold.
func (f *isolationFixture) testLargeNumbers() {
	a := f.client(f.store, 0)
	element := isolation.TransactionID(10_000, isolation.MaxSeq, isolation.MaxAttempt)
	const key = 1 << 50
	a.commit(f.ctx,
		isolation.Op{Kind: isolation.Append, Key: key, Value: element}, isolation.Op{Kind: isolation.AppendByRewrite, Key: key, Value: element + 1},
		isolation.Op{Kind: isolation.Write, Key: key + 1, Value: element + 2}, isolation.Op{Kind: isolation.Insert, Key: key, Value: element + 3},
		withdraw(key, 0))
	ops := a.commit(f.ctx, readList(key), readValue(key+1), count(key), withdraw(key, 0), readList(key+2))
	a.wantList(ops[0], element, element+1)
	a.wantValue(ops[1], element+2)
	if ops[2].Value != 1 || ops[3].Result != 0b10 || len(ops[4].List) != 0 {
		f.t.Errorf("%+v", ops[2:])
	}
}

// testLongList keeps the order of a list that no single page or packet holds
// comfortably.
func (f *isolationFixture) testLongList() {
	a := f.client(f.store, 0)
	var want []int64
	for range 60 {
		ops := a.commit(f.ctx, appendTo(2), appendTo(2), appendTo(2), appendTo(2), appendTo(2), appendTo(2), appendTo(2), appendTo(2))
		for _, o := range ops {
			want = append(want, o.Value)
		}
	}
	a.wantList(a.commit(f.ctx, readList(2))[0], want...)
	ops := a.commit(f.ctx, rewrite(2), readList(2))
	a.wantList(ops[1], append(want, ops[0].Value)...)
}

// testContextOver has contexts that are over before a transaction, and
// that end at all moments of it: there is all of it afterwards, or nothing.
func (f *isolationFixture) testContextOver() {
	c := f.client(f.store, 0)
	ops := []isolation.Op{appendTo(2), readList(2), write(3), rewrite(4), insert(1), appendTo(6)}
	c.commit(f.ctx, ops...)
	start := time.Now()
	c.commit(f.ctx, ops...)
	contextsOver(f.ctx, 60, time.Since(start),
		func(over context.Context) {
			c.mustConnect(f.ctx)
			if _, r := c.do(over, ops...); r.Outcome == history.Committed {
				f.t.Errorf("a context that was over: %+v, want failed or unknown", r)
			}
		},
		func(ending context.Context) {
			c.mustConnect(f.ctx)
			c.do(ending, ops...)
		})
	// What was abandoned must not stand in the way for ever.
	c.commit(f.ctx, ops...)
}

func (f *isolationFixture) testSessionAfterErrors() {
	a := f.client(f.store, 0)
	a.commit(f.ctx, appendTo(2))
	for name, spoil := range map[string]func(){
		"context over": func() {
			a.do(ended(f.ctx), appendTo(2), write(3))
		},
		"time over": func() {
			ctx, cancel := context.WithTimeout(f.ctx, time.Microsecond)
			defer cancel()
			a.do(ctx, appendTo(2), write(3))
		},
		"no such operation": func() {
			if _, reply := a.do(f.ctx, appendTo(2), isolation.Op{Kind: 99, Key: 2}); reply.Outcome != history.Failed {
				f.t.Errorf("an operation that does not exist: %+v, want failed", reply)
			}
		},
	} {
		for range 2 {
			spoil()
			if _, reply := a.insist(f.ctx, appendTo(2), write(3)); reply.Outcome != history.Committed {
				f.t.Errorf("after %s: %v (%s: %v), want committed", name, reply.Outcome, reply.Class, reply.Err)
			}
		}
	}
}
