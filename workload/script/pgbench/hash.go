package pgbench

import (
	"math/bits"

	"assay/workload"
)

// hashFNV1a is FNV-1a of a value's eight bytes, lowest first, with the seed in its basis.
func hashFNV1a(value, seed uint64) uint64 {
	return uint64((workload.FNVBasis ^ workload.FNV(seed)).Number(value))
}

// hashMurmur2 is MurmurHash64A of a value's eight bytes (A. Appleby).
func hashMurmur2(value, seed uint64) uint64 {
	const m, r = 0xc6a4a7935bd1e995, 47
	const length = m & (1<<61 - 1) * 8 // times the 8 bytes, of 64 bits
	k := value * m
	k = (k ^ k>>r) * m
	h := (seed ^ length ^ k) * m
	h = (h ^ h>>r) * m
	return h ^ h>>r
}

// permute is a permutation of 0 to size-1 chosen by the seed, with the values of pgbench's
// permute (PostgreSQL 14). Each of six rounds applies an odd factor, an exclusive or and a
// rotation to the lower and the upper power of two of the numbers, and an offset to all.
func permute(value, size, seed uint64) uint64 {
	if size < 2 {
		return 0
	}
	r := newXoroshiro(seed)
	width := bits.Len64(size) - 1
	mask := uint64(1)<<width - 1
	scramble := func(v uint64) uint64 {
		factor := r.next()&mask | 1
		other := r.next() & mask
		if v > mask {
			return v
		}
		v = (v*factor ^ other) & mask
		return v<<1&mask | v>>(width-1)
	}
	v := value % size
	for range 6 {
		v = scramble(v)
		v = size - 1 - scramble(size-1-v)
		v = (v + r.upTo(size-1)) % size
	}
	return v
}

// xoroshiro is xoroshiro128** 1.0 (D. Blackman, S. Vigna, "Scrambled Linear Pseudorandom Number
// Generators", ACM TOMS 47(4), 2021). SplitMix64 makes its state from a seed.
type xoroshiro struct{ a, b uint64 }

func newXoroshiro(seed uint64) xoroshiro {
	r := workload.SplitMix(seed)
	return xoroshiro{r.Next(), r.Next()}
}

func (x *xoroshiro) next() uint64 {
	v := bits.RotateLeft64(x.a*5, 7) * 9
	b := x.b ^ x.a
	x.a = bits.RotateLeft64(x.a, 24) ^ b ^ b<<16
	x.b = bits.RotateLeft64(b, 37)
	return v
}

// upTo draws from 0 to n, both included.
func (x *xoroshiro) upTo(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	for shift := bits.LeadingZeros64(n); ; {
		if v := x.next() >> shift; v <= n {
			return v
		}
	}
}
