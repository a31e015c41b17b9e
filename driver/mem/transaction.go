package mem

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"slices"

	"github.com/tidwall/btree"

	"assay/driver/ordered"
	"assay/history"
	"assay/store"
)

// entry is a key with its value.
type entry struct {
	// head is the table's or index's number and the key's next seven bytes. It orders most
	// entries without a look at text.
	head uint64
	// text is the key, the value, and the key's length in four bytes.
	text []byte
}

const lengthBytes = 4

func (d *database) newEntry(into, key, value []byte) entry {
	table := bytes.IndexByte(key, 0) + 1
	head := [8]byte{d.tables[string(key[:table])]}
	copy(head[1:], key[table:])
	into = append(append(into, key...), value...)
	return entry{binary.BigEndian.Uint64(head[:]), binary.BigEndian.AppendUint32(into, uint32(len(key)))}
}

func (e *entry) parts() (key, value []byte) {
	values := len(e.text) - lengthBytes
	keys := int(binary.BigEndian.Uint32(e.text[values:]))
	return e.text[:keys:keys], e.text[keys:values:values]
}

func (e *entry) key() []byte {
	key, _ := e.parts()
	return key
}

func before(a, b entry) bool {
	if a.head != b.head {
		return a.head < b.head
	}
	return bytes.Compare(a.key(), b.key()) < 0
}

// transaction is an ordered.Keys that keeps its writes to itself. Others commit between the
// statements of an open transaction. Each statement, and the commit, first validates that all
// earlier reads still hold. So the transaction could have happened at its commit and is strictly
// serializable (H. T. Kung, J. T. Robinson, "On Optimistic Methods for Concurrency Control", ACM
// TODS 6(2), 1981, backward validation).
type transaction struct {
	ctx context.Context
	d   *database
	// tree is the database's own, under its lock, or a copy.
	tree  *btree.BTreeG[entry]
	open  bool
	place int // among those that are open
	// at is the commit at which all reads hold. read has the digests of keys read, ranges the
	// ranges. Two keys with one digest cause a needless conflict.
	at     int64
	read   []uint64
	ranges [][2][]byte
	writes []write
	// own finds writes by key if there are many.
	own   map[string]int
	pivot entry
	// path is the tree's hint from the last search.
	path btree.PathHint
}

type write struct {
	entry
	cleared bool
	path    btree.PathHint
}

// manyWrites is the number of writes up to which mine compares each.
const manyWrites = 12

// begin reuses a transaction. The caller holds the lock, here and in all methods unless tree is a
// copy.
func (t *transaction) begin(ctx context.Context, d *database) {
	t.ctx, t.d, t.tree, t.at = ctx, d, d.tree, d.clock
	t.read, t.ranges, t.writes, t.own = t.read[:0], t.ranges[:0], t.writes[:0], nil
}

// enter opens the transaction: others may commit from now on.
func (t *transaction) enter() {
	t.open, t.place = true, len(t.d.open)
	t.d.open = append(t.d.open, t)
}

// leave closes the transaction and drops log entries that no open transaction needs.
func (t *transaction) leave() {
	d := t.d
	t.open = false
	if t.tree != d.tree {
		return
	}
	last := len(d.open) - 1
	d.open[t.place] = d.open[last]
	d.open[t.place].place = t.place
	if d.open = d.open[:last]; last == 0 {
		d.log = d.log[:0]
	}
	if len(d.log) <= d.longest {
		return
	}
	oldest := d.clock
	for _, other := range d.open {
		oldest = min(oldest, other.at)
	}
	d.log = slices.Clone(d.since(oldest))
	d.longest = 1000 + 2*len(d.log)
}

func (d *database) since(at int64) []change {
	i := len(d.log)
	for i > 0 && d.log[i-1].at > at {
		i--
	}
	return d.log[i:]
}

func (t *transaction) seek(key []byte) entry {
	t.pivot = t.d.newEntry(t.pivot.text[:0], key, nil)
	return t.pivot
}

// mine is the transaction's own write to a key, or nil.
func (t *transaction) mine(key []byte) *write {
	if t.own != nil {
		if i, is := t.own[string(key)]; is {
			return &t.writes[i]
		}
		return nil
	}
	for i := range t.writes {
		if bytes.Equal(t.writes[i].key(), key) {
			return &t.writes[i]
		}
	}
	return nil
}

func (t *transaction) Ask(key []byte) (value ordered.Asked) {
	if w := t.mine(key); w != nil {
		if !w.cleared {
			_, value.Value = w.parts()
		}
		return value
	}
	if t.open {
		t.read = append(t.read, maphash.Bytes(t.d.seed, key))
	}
	t.path = btree.PathHint{}
	if e, there := t.tree.GetHint(t.seek(key), &t.path); there {
		_, value.Value = e.parts()
	}
	return value
}

func (t *transaction) Scan(begin, end []byte, limit int, reverse bool) (pairs []ordered.Pair, err error) {
	take := func(e entry) bool {
		key, value := e.parts()
		if reverse && bytes.Equal(key, end) {
			return true
		}
		if bytes.Compare(key, begin) < 0 || bytes.Compare(key, end) >= 0 {
			return false
		}
		if t.mine(key) == nil {
			pairs = append(pairs, ordered.Pair{Key: key, Value: value})
		}
		return len(pairs) < limit
	}
	if reverse {
		t.tree.Descend(t.seek(end), take)
	} else {
		t.tree.Ascend(t.seek(begin), take)
	}
	t.remember(begin, end, limit, reverse, pairs)
	for i := range t.writes {
		key, value := t.writes[i].parts()
		if !t.writes[i].cleared && bytes.Compare(key, begin) >= 0 && bytes.Compare(key, end) < 0 {
			pairs = append(pairs, ordered.Pair{Key: key, Value: value})
		}
	}
	if len(t.writes) > 0 {
		slices.SortFunc(pairs, func(a, b ordered.Pair) int {
			if reverse {
				a, b = b, a
			}
			return bytes.Compare(a.Key, b.Key)
		})
	}
	return pairs[:min(limit, len(pairs))], t.ctx.Err()
}

// remember records the range as far as it was read.
func (t *transaction) remember(begin, end []byte, limit int, reverse bool, pairs []ordered.Pair) {
	if !t.open {
		return
	}
	if len(pairs) == limit {
		if last := pairs[limit-1].Key; reverse {
			begin = last
		} else {
			end = append(last, 0)
		}
	}
	t.ranges = append(t.ranges, [2][]byte{bytes.Clone(begin), bytes.Clone(end)})
}

func (t *transaction) Set(key, value []byte) { t.write(key, value, false) }
func (t *transaction) Clear(key []byte)      { t.write(key, nil, true) }

func (t *transaction) write(key, value []byte, cleared bool) {
	w := write{t.d.newEntry(make([]byte, 0, len(key)+len(value)+lengthBytes), key, value), cleared, t.path}
	if before := t.mine(key); before != nil {
		*before = w
		return
	}
	t.writes = append(t.writes, w)
	switch {
	case t.own != nil:
		t.own[string(key)] = len(t.writes) - 1
	case len(t.writes) > manyWrites:
		t.own = map[string]int{}
		for i := range t.writes {
			t.own[string(t.writes[i].key())] = i
		}
	}
}

var (
	errConflict = errors.New("another transaction has changed what this one has read")
	errStale    = errors.New("the schema was made anew or dropped since the transaction began")
)

// valid returns an error unless all reads still hold.
func (t *transaction) valid() error {
	if t.tree != t.d.tree {
		return errStale
	}
	for _, c := range t.d.since(t.at) {
		if slices.Contains(t.read, maphash.Bytes(t.d.seed, c.key)) || slices.ContainsFunc(t.ranges, func(r [2][]byte) bool {
			return bytes.Compare(c.key, r[0]) >= 0 && bytes.Compare(c.key, r[1]) < 0
		}) {
			return errConflict
		}
	}
	t.at = t.d.clock
	return nil
}

func (t *transaction) commit() {
	d := t.d
	if len(t.writes) > 0 {
		d.clock++
	}
	for i := range t.writes {
		w := &t.writes[i]
		var last entry
		if w.cleared {
			last, _ = d.tree.DeleteHint(w.entry, &w.path)
		} else {
			last, _ = d.tree.SetHint(w.entry, &w.path)
			d.bytes += int64(len(w.text))
		}
		d.bytes -= int64(len(last.text))
		if len(d.open) > 0 {
			d.log = append(d.log, change{d.clock, w.key()})
		}
	}
	d.reserved = max(d.reserved, d.bytes)
}

// finish ends a transaction with a reply and leaves it. With the probability timeout the reply is
// unknown, and the writes are applied or not with equal probability.
func (t *transaction) finish(reply store.Reply) store.Reply {
	applies := reply.Outcome == history.Committed
	if applies && t.open {
		if err := t.valid(); err != nil {
			reply, applies = ended("commit", err), false
		}
	}
	if t.open {
		t.leave()
	}
	sure := reply.Outcome == history.Failed && reply.Violated != store.Floor && reply.Violated != store.Absent
	if !sure && t.d.timeout > 0 && t.d.chance.Float64() < t.d.timeout {
		reply = store.Reply{Class: store.ClassTimeout}
		applies = applies && t.d.chance.Uint64()&1 == 0
	}
	if applies {
		t.commit()
	}
	return reply
}
