package cycle

import (
	"iter"

	"assay/history/exchange"
)

type op struct {
	// val is the element or the value. For a list that was read, the lower 29 bits are its length.
	// Its upper bits are 0 if it is a prefix of the key's longest list, and otherwise one plus its
	// place in others.
	val int64
	txn int32 // dense
	use uint32
}

// newUse packs the kind of an operation and its key, which is below maxOps.
func newUse(kind exchange.MicroKind, key int32) uint32 { return uint32(kind)<<29 | uint32(key) }

func (o op) kind() exchange.MicroKind { return exchange.MicroKind(o.use >> 29) }
func (o op) key() int32               { return int32(o.use & maxList) }

func (o op) len() int { return int(o.val & maxList) }

// operations are all operations of a history in the order of their transactions, 12 bytes each.
type operations struct {
	vals chunkedList[int64]
	uses chunkedList[uint32]
	// first.at(t) is where the operations of transaction t begin. near has the transaction of each
	// operation whose number is a multiple of nearby.
	first chunkedList[int32]
	near  []int32
}

const nearby = 32

// end must be called after the last operation.
func (o *operations) end() {
	o.first.add(int32(o.len()))
	o.near = make([]int32, o.len()/nearby+1)
	txn := int32(0)
	for i := range o.near {
		for int(txn) < o.first.len-2 && int(o.first.at(txn+1)) <= i*nearby {
			txn++
		}
		o.near[i] = txn
	}
}

func (o *operations) len() int { return o.uses.len }

func (o *operations) at(i int32) op { return o.in(o.txn(i), i) }

// in is at without a search for the operation's transaction, which is txn.
func (o *operations) in(txn, i int32) op { return op{o.vals.at(i), txn, o.uses.at(i)} }

// txn returns the transaction of an operation: the last that begins no later.
func (o *operations) txn(i int32) int32 {
	low, high := o.near[i/nearby], int32(o.first.len-2)
	if next := int(i/nearby) + 1; next < len(o.near) {
		high = o.near[next]
	}
	for low < high {
		middle := (low + high + 1) / 2
		if o.first.at(middle) <= i {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

func (o *operations) all() iter.Seq2[int32, op] {
	return func(yield func(int32, op) bool) {
		for txn := range int32(o.first.len - 1) {
			for i := o.first.at(txn); i < o.first.at(txn+1); i++ {
				if !yield(i, o.in(txn, i)) {
					return
				}
			}
		}
	}
}

func (o *operations) of(txn int32) []op {
	ops := make([]op, 0, o.first.at(txn+1)-o.first.at(txn))
	for i := o.first.at(txn); i < o.first.at(txn+1); i++ {
		ops = append(ops, o.in(txn, i))
	}
	return ops
}
