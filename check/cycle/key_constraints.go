package cycle

func (c *constraints) addKey(key int32) {
	k := &c.keys[key]
	for _, r := range k.reads {
		if r.version > 0 {
			c.read(key, r)
		}
	}
	for a := int32(0); a <= k.chain && !c.full; a++ {
		last := k.chain
		if c.transitive() {
			last = min(a+1, k.chain)
		}
		for b := a + 1; b <= last; b++ {
			c.order(key, a, b, 0, noTxn)
			if c.rule == updateAtomic && a > 0 {
				c.seeAll(key, a, b)
			}
		}
	}
	c.addFree(key)
	for i := range k.known {
		c.order(key, k.known[i].a, k.known[i].b, int32(i)+1, noTxn)
	}
}

// seeAll links the writer of version a of a list to readers of version b: a list shows all appends.
func (c *constraints) seeAll(key, a, b int32) {
	k := &c.keys[key]
	for _, r := range k.readsOf(b) {
		if x := k.writers[a]; x != r.txn {
			c.link(c.seen(x), c.seer(r.txn), false,
				c.tag(reason{kind: wr, key: key, from: x, to: r.txn, a: a, b: b, via: noTxn}))
		}
	}
}

// addFree links the chain, and the readers of its end, to the free versions, which come after it in
// unknown order.
func (c *constraints) addFree(key int32) {
	k := &c.keys[key]
	last := k.chain
	if k.free() == 0 {
		return
	}
	end := int32(len(k.writers))
	earliest := last
	if !c.transitive() {
		earliest = 0
	}
	for b := last + 1; b < end && !c.full; b++ {
		for a := max(earliest, 1); a <= last; a++ {
			c.overwrite(key, a, b, 0, noTxn)
		}
	}
	readers := k.readsOf(last)
	if !c.transitive() {
		readers = k.reads[:k.first[last+1]]
	}
	if c.transitive() && len(readers)*k.free() > fewPairs+4*(len(readers)+k.free()) {
		c.through(key, readers)
		return
	}
	for _, r := range readers {
		for b := last + 1; b < end && !c.full; b++ {
			c.miss(key, r, r.version, b, 0)
		}
	}
}

// through links readers to all free versions but their own over auxiliary nodes: one for each
// version and all before it, and one for each version and all after it.
func (c *constraints) through(key int32, readers []access) {
	k := &c.keys[key]
	free := k.writers[k.chain+1:]
	before, after := c.nodes-1, c.nodes+int32(len(free))
	c.nodes += 2 * int32(len(free))
	own := make(map[int32]int32, len(free))
	for i, t := range free {
		n := int32(i)
		own[t] = n + 1
		why := c.tag(reason{key: key, to: t, b: k.chain + 1 + n, via: noTxn})
		c.link(before+n+1, c.commit(t), false, why)
		c.link(after+n, c.commit(t), false, why)
		if n > 0 {
			c.link(before+n+1, before+n, false, c.tag(reason{key: -1}))
			c.link(after+n-1, after+n, false, c.tag(reason{key: -1}))
		}
	}
	for _, r := range readers {
		from, _, private := c.missing(key, r, k.chain+1)
		why := c.tag(reason{kind: rw, key: key, from: r.txn, to: noTxn, a: r.version, via: noTxn})
		switch n := own[r.txn]; {
		case n == 0:
			c.link(from, after, private, why)
		default:
			if n > 1 {
				c.link(from, before+n-1, private, why)
			}
			if int(n) < len(free) {
				c.link(from, after+n, private, why)
			}
		}
	}
}
