package entity

import (
	"encoding/binary"

	"github.com/google/uuid"

	"assay/workload"
)

// A key says who writes an entity: the client in the upper bits and its
// operation in the lower ones. It has 60 bits.
const (
	seqBits = 46
	keyBits = 60
	halfKey = keyBits / 2
	// MaxClient is the highest client number, MaxSeq the highest operation.
	MaxClient = 1<<(keyBits-seqBits) - 1
	MaxSeq    = 1<<seqBits - 1
	// loader is the client whose entities are there before the run.
	loader = MaxClient
)

// Key returns the key of operation seq of a client. ok is false if one of them
// is out of range.
func Key(client int, seq uint64) (key int64, ok bool) {
	if client < 0 || client > MaxClient || seq > MaxSeq {
		return 0, false
	}
	return int64(client)<<seqBits | int64(seq), true
}

// SplitKey is the inverse of Key, for keys that it can have returned.
func SplitKey(key int64) (client int, seq uint64) {
	return int(key >> seqBits), uint64(key) & MaxSeq
}

// IDOf returns the id of the entity of a key: a UUID of version 8 (RFC 9562,
// section 5.8), whose 60 leading bits of its own are the key under a permutation
// that depends on the seed, and whose 62 others are a hash of both. So ids come
// in no order, as those of a web service do, and each tells whose it is to who
// knows the seed.
func IDOf(seed uint64, key int64) uuid.UUID {
	const half = 1<<halfKey - 1
	left, right := uint64(key)>>halfKey, uint64(key)&half
	for round := range uint64(feistelRounds) {
		left, right = right, left^(scramble(seed, round, right)&half)
	}
	front := left<<halfKey | right
	tail := workload.Mix(workload.Mix(seed) ^ uint64(key))
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], front>>12<<16|8<<12|front&0xfff)
	binary.BigEndian.PutUint64(id[8:], tail>>2|1<<63)
	return id
}

// KeyOf is the inverse of IDOf. ok is false if the id is of no key under this
// seed.
func KeyOf(seed uint64, id uuid.UUID) (key int64, ok bool) {
	const half = 1<<halfKey - 1
	head := binary.BigEndian.Uint64(id[:8])
	front := head>>16<<12 | head&0xfff
	left, right := front>>halfKey, front&half
	for round := uint64(feistelRounds); round > 0; round-- {
		left, right = right^(scramble(seed, round-1, left)&half), left
	}
	key = int64(left<<halfKey | right)
	return key, IDOf(seed, key) == id
}

// feistelRounds make a permutation of a function that is none (M. Luby, C.
// Rackoff, "How to construct pseudorandom permutations from pseudorandom
// functions", SIAM J. Comput. 17(2), 1988: four rounds do).
const feistelRounds = 4

func scramble(seed, round, half uint64) uint64 { return workload.Mix(workload.Mix(seed+round) ^ half) }
