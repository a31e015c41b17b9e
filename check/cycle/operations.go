package cycle

import "assay/history/exchange"

// op is one operation of a History, in 16 bytes.
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
