package ledger

import (
	"cmp"
	"math"
	"slices"

	"assay/history"
)

// opState is all that is kept of one operation: its final outcome in the two
// lowest bits, how many rows it has in the two above, and four facts.
type opState uint8

const (
	outcomeBits opState = 3
	rowUnit     opState = 1 << 2
	rowBits     opState = 3 << 2
	// recorded: the history holds an attempt of it.
	recorded opState = 1 << 4
	// ended: the history holds its last attempt.
	ended opState = 1 << 5
	// other: it was not a transfer.
	other opState = 1 << 6
	// acknowledged: the database returned the versions that it gave the accounts.
	acknowledged opState = 1 << 7
)

func (m opState) has(fact opState) bool { return m&fact != 0 }

// outcome of an operation that never ended is Unknown, the zero.
func (m opState) outcome() history.Outcome { return history.Outcome(m & outcomeBits) }

// rows is 0, 1, 2, or 3 for more than two.
func (m opState) rows() int { return int(m & rowBits / rowUnit) }

func (m opState) addRow() opState {
	if m&rowBits == rowBits {
		return m
	}
	return m + rowUnit
}

// blockBits: operations are kept in blocks of 1024, so that ten thousand
// clients with a few operations each cost 30 MB, pages included, and a hundred million
// operations need a directory of only 100 thousand entries.
const (
	blockBits = 10
	blockOps  = 1 << blockBits
)

// block is 1024 consecutive operations of one client.
type block struct {
	// pages are made when first needed, and only if the order is judged; see page for base
	// and wide. timed are those of which a start is known, a bit each.
	pages  [blockOps / pageOps]*page
	base   [blockOps / pageOps]int64
	wide   [blockOps / pageOps]*[pageOps]int64
	timed  uint16
	number uint32 // in operations.list
	key    blockKey
	states [blockOps]opState
	// sum and weighted are fingerprints of what was acknowledged minus what
	// the rows have, of the operations of which these differ or cannot be kept side by
	// side, modulo 2^64: sum of the hash of each operation's versions,
	// and sum of the hash times the operation's position in the block. Both are
	// 0 if all agree, whatever the order in which they came. The second also
	// sees versions that were exchanged between operations.
	sum, weighted uint64
}

// tell keeps the versions that were acknowledged to a transfer, until its row comes. What
// has no place in its page is in the fingerprints meanwhile.
func (b *block) tell(i int, source, destination int64) {
	p := b.pages[i/pageOps]
	if p == nil || b.states[i].rows() > 0 || !inPage(source) || !inPage(destination) {
		b.acknowledge(i, source, destination)
		return
	}
	p[i%pageOps].versions = [sides]uint32{uint32(source), uint32(destination)}
}

// compareTold compares them with a row's.
func (b *block) compareTold(i int, source, destination int64) {
	var told [sides]uint32
	if p := b.pages[i/pageOps]; p != nil {
		told = p[i%pageOps].versions
	}
	from, to := int64(told[debit]), int64(told[credit])
	if from == source && to == destination && from != 0 {
		return
	}
	if from != 0 {
		b.acknowledge(i, from, to)
	}
	b.withdraw(i, source, destination)
}

// inPage is true of a version that a page can keep; 0 is none there.
func inPage(version int64) bool { return version > 0 && version <= math.MaxUint32 }

func (b *block) acknowledge(i int, sourceVersion, destinationVersion int64) {
	h := fingerprint(sourceVersion, destinationVersion)
	b.sum += h
	b.weighted += h * uint64(i)
}

func (b *block) withdraw(i int, sourceVersion, destinationVersion int64) {
	h := fingerprint(sourceVersion, destinationVersion)
	b.sum -= h
	b.weighted -= h * uint64(i)
}

// suspect returns the one operation whose acknowledged versions differ from
// its row's; ok is false if there are several. With one, the weighted sum is
// its position times the sum; that another position fits by chance has a probability
// below 2^-50.
func (b *block) suspect() (i int, ok bool) {
	for i := range b.states {
		if b.sum*uint64(i) == b.weighted {
			return i, true
		}
	}
	return 0, false
}

// fingerprint hashes with the finalizer of SplitMix64 (G. Steele, D. Lea,
// C. Flood, "Fast splittable pseudorandom number generators", 2014).
func fingerprint(sourceVersion, destinationVersion int64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, v := range [2]int64{sourceVersion, destinationVersion} {
		h = (h ^ uint64(v)) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>30) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// blockKey is the client in the upper 24 bits and the block's number within
// the client in the lower 40.
type blockKey uint64

const (
	clientLimit = 1 << 24
	seqLimit    = 1 << (40 + blockBits)
)

func (k blockKey) client() int { return int(k >> 40) }

// seq is the number of operation i of the block.
func (k blockKey) seq(i int) uint64 { return uint64(k)<<24>>24<<blockBits | uint64(i) }

// operations keeps the state of each operation, in blocks that are made when
// first needed.
type operations struct {
	byKey map[blockKey]*block
	list  []*block // in the order in which they were made
	// recent are blocks that were found, by a hash of their keys, since most are sought
	// again and again.
	recent [recentBlocks]*block
}

const recentBlocks = 1 << 10

func newOperations() operations { return operations{byKey: map[blockKey]*block{}} }

// recently is the place in recent for a block.
func (k blockKey) recently() int { return int((uint64(k)>>40*37 + uint64(k)) % recentBlocks) }

// find returns the operation's block and position, or nil if there is none.
func (o *operations) find(client int, seq uint64) (*block, int) {
	if client < 0 || client >= clientLimit || seq >= seqLimit {
		return nil, 0
	}
	key := blockKey(client)<<40 | blockKey(seq>>blockBits)
	if b := o.recent[key.recently()]; b != nil && b.key == key {
		return b, int(seq % blockOps)
	}
	return o.byKey[key], int(seq % blockOps)
}

// seek is find for one who will look for operations near it.
func (o *operations) seek(client int, seq uint64) (*block, int) {
	b, i := o.find(client, seq)
	if b != nil {
		o.recent[b.key.recently()] = b
	}
	return b, i
}

// at is the block and the position of an entry's owner.
func (o *operations) at(owner uint32) (*block, int) {
	return o.list[owner>>blockBits], int(owner % blockOps)
}

// make is find, and makes the block if there is none. It returns nil for a
// client or an operation beyond the limits.
func (o *operations) make(client int, seq uint64) (*block, int) {
	b, i := o.seek(client, seq)
	if b == nil && client >= 0 && client < clientLimit && seq < seqLimit {
		b = &block{key: blockKey(client)<<40 | blockKey(seq>>blockBits), number: uint32(len(o.list))}
		o.byKey[b.key] = b
		o.list = append(o.list, b)
		i = int(seq % blockOps)
	}
	return b, i
}

// sorted lists the blocks by client and operation.
func (o *operations) sorted() []*block {
	blocks := slices.Clone(o.list)
	slices.SortFunc(blocks, func(a, b *block) int { return cmp.Compare(a.key, b.key) })
	return blocks
}

// pageOps operations share one page: 24 bytes an operation, made when the first
// of them is committed or unknown or has a row, so that a client that does little costs
// little. A page has 1536 bytes, which Go's allocator does not round up.
const pageOps = 64

type page [pageOps]operation

// operation is when an operation ran, with which balances it was acknowledged, and which
// versions it gave. It is one line of the processor's cache, or two, whatever is looked at.
type operation struct {
	// first is when it was first started: nanoseconds since block.base, and
	// one; 0 if that is not known. Of a client whose operations are so far apart that this
	// is not enough, block.wide has them, nanoseconds since the start of the run.
	first uint32
	took  duration
	// balances are the lowest 32 bits of the balances of the source and the
	// destination as acknowledged. They distinguish any two balances that differ
	// by less than 2^32.
	balances [sides]uint32
	// versions are those that the row gave, each 0 if it is left out (see entries); before
	// there is a row, those that were acknowledged, see block.tell.
	versions [sides]uint32
}

// pageOf is the page of an operation, which is made if there is none.
func (b *block) pageOf(i int, s *spill) *page {
	p := b.pages[i/pageOps]
	if p == nil {
		p = &allocate[page](s, 1)[0]
		b.pages[i/pageOps] = p
	}
	return p
}

// duration is how long an operation took until it was acknowledged: 0 if it
// never was; else nanoseconds and one, up to two seconds; above that with the
// highest bit set and in milliseconds, rounded up. Rounding up can hide that
// one operation ended before another began, never invent it.
type duration uint32

const coarse duration = 1 << 31

// newDuration returns 0, never, for what makes no sense and for weeks.
func newDuration(ns int64) duration {
	switch {
	case ns < 0 || ns > (int64(coarse)-2)*1e6:
		return 0
	case ns < int64(coarse)-1:
		return duration(ns + 1)
	default:
		return coarse | duration((ns+1e6-1)/1e6)
	}
}

// ns is meaningless for 0.
func (d duration) ns() int64 {
	if d < coarse {
		return int64(d) - 1
	}
	return int64(d&^coarse) * 1e6
}

// setTimes keeps the times of a transfer that may have had an effect, and what
// was acknowledged with it.
func (b *block) setTimes(i int, op *history.Op, s *spill) {
	if op.Last && (op.Final == history.Rejected || op.Final == history.Failed) {
		return
	}
	p := b.pageOf(i, s)
	if known := uint16(1) << (i / pageOps); b.timed&known == 0 {
		b.timed |= known
		b.base[i/pageOps] = op.First
	}
	b.setStart(i, op.First)
	if !op.Last || op.Final != history.Committed {
		return
	}
	o := &p[i%pageOps]
	o.took = newDuration(op.End - op.First)
	if len(op.Values) >= 4 {
		o.balances = [sides]uint32{uint32(op.Values[0]), uint32(op.Values[2])}
	}
}

// setStart keeps when an operation was first started.
func (b *block) setStart(i int, first int64) {
	part := i / pageOps
	since := first - b.base[part]
	if b.wide[part] == nil && since >= 0 && since < math.MaxUint32 {
		b.pages[part][i%pageOps].first = uint32(since) + 1
		return
	}
	if b.wide[part] == nil {
		wide := new([pageOps]int64)
		for n := range wide {
			wide[n] = b.start(part*pageOps + n)
		}
		b.wide[part] = wide
	}
	b.wide[part][i%pageOps] = first
}

// start is when an operation was first started; 0, the start of the run, if that is not
// known.
func (b *block) start(i int) int64 {
	part := i / pageOps
	since := b.pages[part][i%pageOps].first
	switch {
	case b.wide[part] != nil:
		return b.wide[part][i%pageOps]
	case since == 0:
		return 0
	default:
		return b.base[part] + int64(since) - 1
	}
}

// span is when the operation was first started and when it was acknowledged.
// What is not known is as wide as it can be.
func (b *block) span(i int) (first, end int64) {
	if b.timed>>(i/pageOps)&1 == 0 {
		return math.MinInt64, math.MaxInt64
	}
	first = b.start(i)
	took := b.pages[i/pageOps][i%pageOps].took
	if took == 0 || took.ns() > math.MaxInt64-max(first, 0) {
		return first, math.MaxInt64
	}
	return first, first + took.ns()
}
