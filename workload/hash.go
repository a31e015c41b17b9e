// Package workload holds what workloads share that make their work from numbers: random
// draws that a seed decides, Zipf's distribution, and the ids of operations. Each workload
// is a package below this one. What it asks of a database is package store.
//
// It must not know any driver.
package workload

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// golden is the increment of SplitMix64.
const golden = 0x9e3779b97f4a7c15

// Mix is the finalizer of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast
// Splittable Pseudorandom Number Generators", OOPSLA 2014), a bijection: what
// follows from a seed and an id alone is drawn with it.
func Mix(z uint64) uint64 {
	z += golden
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Sum is a hash of a payload, FNV-1a of 64 bits (G. Fowler, L. C. Noll, P. Vo),
// under which it is kept in a run's folder.
func Sum(payload string) int64 {
	h := uint64(14695981039346656037)
	for i := range len(payload) {
		h = (h ^ uint64(payload[i])) * 1099511628211
	}
	return int64(h)
}

// HexDigits are n hexadecimal digits that follow from a seed and an id: no compression
// makes them much smaller than half.
func HexDigits(seed, id uint64, n int) string {
	text := make([]byte, 0, n+16)
	var word [8]byte
	for state := Mix(seed ^ Mix(id)); len(text) < n; {
		state = Mix(state)
		binary.LittleEndian.PutUint64(word[:], state)
		text = hex.AppendEncode(text, word[:])
	}
	return string(text[:n])
}

// Random is a SplitMix64 stream, keyed by a seed and an id, so that what belongs to one
// id depends on no other. It is written out here because a saved run must be
// understood by any later version.
type Random struct{ state uint64 }

// NewRandom begins the stream of an id.
func NewRandom(seed, id uint64) Random {
	r := Random{seed}
	r.state = r.Next() ^ id
	r.state = r.Next()
	return r
}

// SplitMix is the stream of SplitMix64 from a seed as it is.
func SplitMix(seed uint64) Random { return Random{seed} }

// Next returns the next 64 bits.
func (r *Random) Next() uint64 {
	z := Mix(r.state)
	r.state += golden
	return z
}

// Below returns a number from 0 to n-1; n must be positive. The bias of taking
// the high word of the product is below n/2^64.
func (r *Random) Below(n uint64) uint64 {
	high, _ := bits.Mul64(r.Next(), n)
	return high
}

// Float returns a number in [0, 1).
func (r *Random) Float() float64 { return float64(r.Next()>>11) / (1 << 53) }

// Coin draws one of two.
func (r *Random) Coin() bool { return r.Next()>>63 == 0 }

// Shuffle puts what is in all into an order drawn by chance (Fisher and Yates).
func Shuffle[T any](r *Random, all []T) {
	for i := len(all) - 1; i > 0; i-- {
		j := r.Below(uint64(i + 1))
		all[i], all[j] = all[j], all[i]
	}
}
