package ledger

import (
	"cmp"
	"math"
	"slices"

	"assay/history"
)

// opState is the state of one operation: its final outcome in the two lowest bits, its number of
// rows in the next two, and four facts.
type opState uint8

const (
	outcomeBits opState = 3
	rowUnit     opState = 1 << 2
	rowBits     opState = 3 << 2
	// recorded: the history holds an attempt.
	recorded opState = 1 << 4
	// ended: the history holds the last attempt.
	ended opState = 1 << 5
	// other: it is not a transfer.
	other opState = 1 << 6
	// acknowledged: the database returned the versions that it gave the accounts.
	acknowledged opState = 1 << 7
)

func (m opState) has(fact opState) bool { return m&fact != 0 }

// outcome is Unknown, the zero value, for an operation that never ended.
func (m opState) outcome() history.Outcome { return history.Outcome(m & outcomeBits) }

// rows is 0, 1, 2, or 3 for more than two.
func (m opState) rows() int { return int(m & rowBits / rowUnit) }

func (m opState) addRow() opState {
	if m&rowBits == rowBits {
		return m
	}
	return m + rowUnit
}

// Blocks of 64 operations let ten thousand clients with few operations each take only 22 MB.
const (
	blockBits = 6
	blockOps  = 1 << blockBits
)

// block is 64 consecutive operations of one client.
type block struct {
	*page
	number uint32 // in operations.list
	key    blockKey
	states [blockOps]opState
}

// page holds the transfers of a block. It may be in a file (see spill).
type page [blockOps]operation

type operation struct {
	// first is when it was first started. end is one nanosecond after its acknowledgment, or 0
	// without one. Both are 0 if neither is known.
	first, end int64
	// balances are the lowest 32 bits of the acknowledged balances of source and destination.
	// They tell balances apart that differ by less than 2^32.
	balances [sides]uint32
	// versions are the row's, 0 for a side left out (see entry). Before there is a row they are
	// the lowest 32 bits of the acknowledged versions.
	versions [sides]uint32
}

// record keeps the times of a transfer that may have had an effect, and its acknowledged values.
func (o *operation) record(op *history.Op) {
	if op.Last && (op.Final == history.Rejected || op.Final == history.Failed) {
		return
	}
	o.first = op.First
	if !op.Last || op.Final != history.Committed {
		return
	}
	if op.End >= op.First && op.End < math.MaxInt64 {
		o.end = op.End + 1
	}
	if len(op.Values) >= 4 {
		o.balances = lowest(op.Values[0], op.Values[2])
		o.versions = lowest(op.Values[1], op.Values[3])
	}
}

func lowest(source, destination int64) [sides]uint32 {
	return [sides]uint32{debit: uint32(source), credit: uint32(destination)}
}

// span returns the first start and the acknowledgment, as wide as possible for unknown times.
func (o *operation) span() (first, end int64) {
	switch {
	case o.first == 0 && o.end == 0:
		return math.MinInt64, math.MaxInt64
	case o.end == 0:
		return o.first, math.MaxInt64
	default:
		return o.first, o.end - 1
	}
}

// blockKey is the client in the upper 24 bits, and the block's number within it in the lower 40.
type blockKey uint64

const (
	clientLimit = 1 << 24
	seqLimit    = 1 << (40 + blockBits)
)

func (k blockKey) client() int { return int(k >> 40) }

func (k blockKey) seq(i int) uint64 { return uint64(k)<<24>>24<<blockBits | uint64(i) }

type operations struct {
	byKey map[blockKey]*block
	list  []*block // in the order in which they were made
	spill spill    // has room for the pages
	// recent caches blocks by a hash of their keys, since most are looked up repeatedly.
	recent [recentBlocks]*block
}

const recentBlocks = 1 << 10

func newOperations(s spill) operations { return operations{byKey: map[blockKey]*block{}, spill: s} }

// find returns the operation's block and position, or nil if there is none.
func (o *operations) find(client int, seq uint64) (*block, int) {
	if client < 0 || client >= clientLimit || seq >= seqLimit {
		return nil, 0
	}
	key := blockKey(client)<<40 | blockKey(seq>>blockBits)
	recent := &o.recent[(uint64(key)>>40*37+uint64(key))%recentBlocks]
	if b := *recent; b == nil || b.key != key {
		*recent = o.byKey[key]
	}
	return *recent, int(seq % blockOps)
}

func (o *operations) at(owner uint32) (*block, int) {
	return o.list[owner>>blockBits], int(owner % blockOps)
}

// make is find that makes a missing block. It returns nil beyond the limits.
func (o *operations) make(client int, seq uint64) (*block, int) {
	b, i := o.find(client, seq)
	if b == nil && client >= 0 && client < clientLimit && seq < seqLimit {
		b = &block{page: o.spill.page(), key: blockKey(client)<<40 | blockKey(seq>>blockBits), number: uint32(len(o.list))}
		o.byKey[b.key] = b
		o.list = append(o.list, b)
		i = int(seq % blockOps)
	}
	return b, i
}

func (o *operations) sorted() []*block {
	blocks := slices.Clone(o.list)
	slices.SortFunc(blocks, func(a, b *block) int { return cmp.Compare(a.key, b.key) })
	return blocks
}
