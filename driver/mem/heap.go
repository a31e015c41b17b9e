package mem

import "math"

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

// version is a row as one commit left it.
type version struct {
	numbers []int64
	texts   []string
}

func (h *heap) at(s slot) version {
	chunk, i := s/chunkSlots, int(s%chunkSlots)
	v := version{numbers: h.numbers[chunk][i*h.width : (i+1)*h.width : (i+1)*h.width]}
	if h.texts > 0 {
		v.texts = h.strings[chunk][i*h.texts : (i+1)*h.texts : (i+1)*h.texts]
	}
	return v
}

func (h *heap) commit(s slot) int64 {
	return h.numbers[s/chunkSlots][int(s%chunkSlots)*h.width+atCommit]
}

func (h *heap) link(s slot) *int64 {
	return &h.numbers[s/chunkSlots][int(s%chunkSlots)*h.width+atOlder]
}

func (h *heap) older(s slot) slot { return slot(*h.link(s) & math.MaxUint32) }

// current reports whether a version is of a row that is there now.
func (h *heap) current(s slot) bool { return h.commit(s) > 0 && *h.link(s)&superseded == 0 }

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
	v := h.at(s)
	v.numbers[atCommit], v.numbers[atOlder] = 0, 0
	clear(v.texts)
	h.free = append(h.free, s)
}

// clear forgets everything. Who still reads what was there goes on to.
func (h *heap) clear() { *h = heap{width: h.width, texts: h.texts} }

// shardBits is how many bits of a hash choose among the parts of a keyTable, each of which
// grows by itself, so that no growth takes long.
const shardBits = 6

// keyTable finds the newest versions of rows by the hashes of their keys. An entry is the
// lower half of a hash, and a slot. Collisions are resolved by linear probing.
type keyTable [1 << shardBits]shard

type shard struct {
	entries []uint64
	count   int
}

func entryOf(hash uint64, s slot) uint64 { return hash<<32 | uint64(s) }

// shard is the part that a hash belongs to.
func (k *keyTable) shard(hash uint64) *shard { return &k[hash>>(64-shardBits)] }

// first is where the search for the lower half of a hash begins, in tables that are powers
// of two.
func (sh *shard) first(half uint64) int { return int(half) & (len(sh.entries) - 1) }

// next gives the slots of a hash, one at each call, from position 0 on; 0 after the last.
func (sh *shard) next(hash uint64, position *int) slot {
	n := len(sh.entries)
	if n == 0 {
		return 0
	}
	half := hash & math.MaxUint32
	for start := sh.first(half); ; {
		e := sh.entries[(start+*position)&(n-1)]
		if e == 0 {
			return 0
		}
		if *position++; e>>32 == half {
			return slot(e & math.MaxUint32)
		}
	}
}

// find is the position of an entry that is there.
func (sh *shard) find(e uint64) int {
	i := sh.first(e >> 32)
	for sh.entries[i] != e {
		i = (i + 1) & (len(sh.entries) - 1)
	}
	return i
}

func (k *keyTable) replace(hash uint64, old, with slot) {
	sh := k.shard(hash)
	sh.entries[sh.find(entryOf(hash, old))] = entryOf(hash, with)
}

func (k *keyTable) add(hash uint64, s slot) {
	sh := k.shard(hash)
	if sh.count++; 4*sh.count > 3*len(sh.entries) {
		all := sh.entries
		sh.entries = make([]uint64, max(8, 2*len(all)))
		for _, e := range all {
			if e != 0 {
				sh.put(e)
			}
		}
	}
	sh.put(entryOf(hash, s))
}

func (sh *shard) put(e uint64) {
	i := sh.first(e >> 32)
	for sh.entries[i] != 0 {
		i = (i + 1) & (len(sh.entries) - 1)
	}
	sh.entries[i] = e
}

// remove takes an entry away and moves those behind it up to where they are found.
func (k *keyTable) remove(hash uint64, s slot) {
	sh := k.shard(hash)
	mask := len(sh.entries) - 1
	hole := sh.find(entryOf(hash, s))
	for i := (hole + 1) & mask; sh.entries[i] != 0; i = (i + 1) & mask {
		if home := sh.first(sh.entries[i] >> 32); (i-home)&mask >= (i-hole)&mask {
			sh.entries[hole] = sh.entries[i]
			hole = i
		}
	}
	sh.entries[hole] = 0
	sh.count--
}
