package mem

import (
	"encoding/binary"
	"math"

	"assay/driver/rows"
	"assay/store"
)

// relation is a table: the versions of its rows, the newest of each by its key, and
// orders of the rows that are there now.
type relation struct {
	*rows.Table
	heap
	keyTable
	d      *database
	orders []*ordering
	rows   int64
	// recent are the versions that were committed while somebody could read those before
	// them, in the order of their commits.
	recent []slot
	// bytes are those of the texts of all rows; reserved is for how many rows there was
	// space, and longest the length of the longest row.
	bytes, reserved, longest int64
}

func newRelation(d *database, t *rows.Table) *relation {
	r := &relation{Table: t, d: d, heap: heap{width: firstNumber + t.Numbers, texts: t.Texts}}
	for i, index := range t.Indexes {
		if index.Unique {
			r.order(i)
		}
	}
	r.clear()
	return r
}

func (r *relation) clear() {
	r.heap = heap{width: r.width, texts: r.texts}
	r.keyTable = keyTable{}
	if r.Keys() > 1 || r.Columns[0].Type != store.Integer {
		r.named = map[string]slot{}
	} else {
		r.numbered = map[int64]slot{}
	}
	r.rows, r.recent, r.bytes, r.reserved, r.longest = 0, nil, 0, 0, 0
	for _, o := range r.orders {
		o.tree.Clear()
	}
}

// slot is where a heap has a version of a row; 0 is none.
type slot uint32

// chunkSlots is how many slots a heap takes at once.
const chunkSlots = 512

// What a version's first numbers are: the number of the commit that wrote it, negative
// if that deleted the row and 0 while the version is not committed; and the slot of the
// version before it, with a bit that says that there is a version after it.
const (
	atCommit = iota
	atOlder
	firstNumber
)

const superseded = int64(1) << 32

// heap has the versions of a table's rows in a form that is compact, and that the
// garbage collector need not look through unless there are texts. What is in the slot of
// a version is not changed before nobody can read that version any more.
type heap struct {
	// width is how many numbers a version has, and texts how many texts.
	width, texts int
	numbers      [][]int64
	strings      [][]string
	last         slot
	free         []slot
}

// at is the row of a version.
func (h *heap) at(s slot) (v rows.Row) {
	chunk, i := s/chunkSlots, int(s%chunkSlots)
	v.Numbers = h.numbers[chunk][i*h.width+firstNumber : (i+1)*h.width : (i+1)*h.width]
	if h.texts > 0 {
		v.Texts = h.strings[chunk][i*h.texts : (i+1)*h.texts : (i+1)*h.texts]
	}
	return v
}

func (h *heap) head(s slot, at int) *int64 {
	return &h.numbers[s/chunkSlots][int(s%chunkSlots)*h.width+at]
}

func (h *heap) commit(s slot) int64 { return *h.head(s, atCommit) }

// since is the number of the commit that wrote a version or deleted the row.
func (h *heap) since(s slot) int64 {
	commit := h.commit(s)
	return max(commit, -commit)
}

func (h *heap) link(s slot) *int64 { return h.head(s, atOlder) }

func (h *heap) older(s slot) slot { return slot(*h.link(s) & math.MaxUint32) }

// all gives the versions of the rows that are there now.
func (h *heap) all(yield func(slot) bool) {
	for s := slot(1); s <= h.last; s++ {
		if h.commit(s) > 0 && *h.link(s)&superseded == 0 && !yield(s) {
			return
		}
	}
}

// take gives a slot for a version that is not committed. Its values are not defined.
func (h *heap) take() slot {
	if n := len(h.free); n > 0 {
		s := h.free[n-1]
		h.free = h.free[:n-1]
		return s
	}
	h.last++
	if int(h.last/chunkSlots) >= len(h.numbers) {
		h.numbers = append(h.numbers, make([]int64, chunkSlots*h.width))
		if h.texts > 0 {
			h.strings = append(h.strings, make([]string, chunkSlots*h.texts))
		}
	}
	return h.last
}

// give takes a slot back.
func (h *heap) give(s slot) {
	*h.head(s, atCommit), *h.link(s) = 0, 0
	clear(h.at(s).Texts)
	h.free = append(h.free, s)
}

// keyTable finds the newest versions of rows by their keys: by the number that a key is, or
// else by its values, one after the other, as a text.
type keyTable struct {
	numbered map[int64]slot
	named    map[string]slot
}

// nameOf appends a key as a text.
func nameOf(key []rows.Value, into []byte) []byte {
	for _, v := range key {
		into = binary.AppendUvarint(binary.AppendVarint(into, v.Number), uint64(len(v.Text)))
		into = append(into, v.Text...)
	}
	return into
}

// newest is the last version of the row with a key; 0 if there is none.
func (k *keyTable) newest(key []rows.Value) slot {
	if k.numbered != nil {
		return k.numbered[key[0].Number]
	}
	var room [64]byte
	return k.named[string(nameOf(key, room[:0]))]
}

// enter sets the last version of a row; 0 takes it away.
func (k *keyTable) enter(key []rows.Value, s slot) {
	switch {
	case k.numbered != nil && s != 0:
		k.numbered[key[0].Number] = s
	case k.numbered != nil:
		delete(k.numbered, key[0].Number)
	case s != 0:
		k.named[string(nameOf(key, nil))] = s
	default:
		delete(k.named, string(nameOf(key, nil)))
	}
}

// install commits a version in place of the newest one of its key, or deletes that. kept
// is whether somebody may still read what was there.
func (r *relation) install(s, last slot, key []rows.Value, deleted, kept bool) {
	there := last != 0 && r.commit(last) > 0
	if deleted && !there {
		r.give(s)
		return
	}
	r.reorder(last, s, there, !deleted)
	r.account(last, s, there, !deleted)
	if deleted && !kept {
		r.enter(key, 0)
		r.give(last)
		r.give(s)
		return
	}
	*r.head(s, atCommit), *r.link(s) = r.d.clock, int64(last)
	if deleted {
		*r.head(s, atCommit) = -r.d.clock
	}
	r.enter(key, s)
	if last != 0 {
		*r.link(last) |= superseded
	}
	switch {
	case kept:
		r.recent = append(r.recent, s)
	case last != 0:
		r.give(last)
		*r.link(s) = 0
	}
}

// reorder keeps the orders in step with a row.
func (r *relation) reorder(last, next slot, was, is bool) {
	for _, o := range r.orders {
		if was && (!is || !r.Alike(o.by, r.at(last), r.at(next))) {
			o.tree.Delete(last)
		}
		if is {
			o.tree.Set(next)
		}
	}
}

// account keeps what is counted in step with a row.
func (r *relation) account(last, next slot, was, is bool) {
	if was {
		r.rows--
		r.bytes -= r.textBytes(last)
	}
	if is {
		r.rows++
		length := r.textBytes(next)
		r.bytes += length
		r.longest = max(r.longest, length+r.fixedBytes())
		r.reserved = max(r.reserved, r.rows)
	}
}

// fixedBytes are those that each row takes.
func (r *relation) fixedBytes() int64 { return 8 * int64(r.Numbers) }

func (r *relation) textBytes(s slot) (bytes int64) {
	for _, text := range r.at(s).Texts {
		bytes += int64(len(text))
	}
	return bytes
}

// forget gives back the versions that nobody can read who reads the state as of a commit
// or a later one.
func (r *relation) forget(oldest int64) {
	forgotten := 0
	for _, s := range r.recent {
		if r.since(s) > oldest {
			break
		}
		forgotten++
		if older := r.older(s); older != 0 {
			r.give(older)
			*r.link(s) &= superseded
		}
		if r.commit(s) < 0 && *r.link(s)&superseded == 0 {
			var room [4]rows.Value
			r.enter(r.Key(r.at(s), room[:0]), 0)
			r.give(s)
		}
	}
	if r.recent = r.recent[forgotten:]; len(r.recent) == 0 {
		r.recent = nil
	}
}

// changed are the versions that commits after this one have written.
func (r *relation) changed(after int64) []slot {
	i := len(r.recent)
	for i > 0 && r.since(r.recent[i-1]) > after {
		i--
	}
	return r.recent[i:]
}
