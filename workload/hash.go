// Package workload has what workloads share: random draws from a seed, distributions, and
// operation ids. Each workload is a package below this one.
//
// It must not know any driver.
package workload

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

const golden = 0x9e3779b97f4a7c15

// Mix is the finalizer of SplitMix64, a bijection (G. L. Steele, D. Lea, C. H. Flood, "Fast
// Splittable Pseudorandom Number Generators", OOPSLA 2014).
func Mix(z uint64) uint64 {
	z += golden
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// FNV is a 64-bit FNV-1a hash (G. Fowler, L. C. Noll, K.-P. Vo; RFC 9923).
type FNV uint64

// FNVBasis is the hash of nothing.
const FNVBasis FNV = 14695981039346656037

// Add adds a byte, or 64 bits in one step.
func (h FNV) Add(x uint64) FNV { return (h ^ FNV(x)) * 1099511628211 }

// Number adds eight bytes, the lowest first.
func (h FNV) Number(n uint64) FNV {
	for range 8 {
		h = h.Add(n & 0xff)
		n >>= 8
	}
	return h
}

// Text adds the bytes of a text.
func (h FNV) Text(text string) FNV {
	for i := range len(text) {
		h = h.Add(uint64(text[i]))
	}
	return h
}

// Sum is the FNV of a payload, kept in its place.
func Sum(payload string) int64 { return int64(FNVBasis.Text(payload)) }

// HexDigits returns n hexadecimal digits, which compress to half of their size at best.
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

// Random is a SplitMix64 stream keyed by a seed and an id. It does not rest on math/rand: any
// later version must draw the same numbers for a saved run.
type Random struct{ state uint64 }

// NewRandom returns the stream of an id.
func NewRandom(seed, id uint64) Random {
	r := Random{seed}
	r.state = r.Next() ^ id
	r.state = r.Next()
	return r
}

// SplitMix returns the plain SplitMix64 stream of a seed.
func SplitMix(seed uint64) Random { return Random{seed} }

// Next returns the next 64 bits.
func (r *Random) Next() uint64 {
	z := Mix(r.state)
	r.state += golden
	return z
}

// Below returns a number from 0 to n-1; n must be positive. Its bias is below n/2^64.
func (r *Random) Below(n uint64) uint64 {
	high, _ := bits.Mul64(r.Next(), n)
	return high
}

// Float returns a number in [0, 1).
func (r *Random) Float() float64 { return float64(r.Next()>>11) / (1 << 53) }

// Coin returns true with a chance of one half.
func (r *Random) Coin() bool { return r.Next()>>63 == 0 }

// Shuffle permutes a slice (Fisher and Yates).
func Shuffle[T any](r *Random, all []T) {
	for i := len(all) - 1; i > 0; i-- {
		j := r.Below(uint64(i + 1))
		all[i], all[j] = all[j], all[i]
	}
}
