package availability

import "assay/workload"

// A row's key carries who wrote it: the client in the upper bits, the client's
// operation number, and in the lower ones the attempt, which is 0 where all
// attempts of an operation write the same row.
const (
	seqBits     = 33
	attemptBits = 16
	// MaxClient is the highest client number, MaxSeq the highest operation
	// number of a client, MaxAttempt the highest attempt.
	MaxClient  = 1<<(63-seqBits-attemptBits) - 1
	MaxSeq     = 1<<seqBits - 1
	MaxAttempt = 1<<attemptBits - 1
)

// Key returns the key of an attempt, 0 for all attempts, of operation seq of a
// client. ok is false if one of them is out of range.
func Key(client int, seq uint64, attempt int) (key int64, ok bool) {
	if client < 0 || client > MaxClient || seq > MaxSeq || attempt < 0 || attempt > MaxAttempt {
		return 0, false
	}
	return int64(client)<<(seqBits+attemptBits) | int64(seq)<<attemptBits | int64(attempt), true
}

// SplitKey is the inverse of Key. ok is false if no client can have made the
// key.
func SplitKey(key int64) (client int, seq uint64, attempt int, ok bool) {
	if key < 0 {
		return 0, 0, 0, false
	}
	return int(key >> (seqBits + attemptBits)), uint64(key) >> attemptBits & MaxSeq, int(key & MaxAttempt), true
}

// key returns the key under which an attempt of an operation inserts.
func (p Policy) key(client int, seq uint64, attempt int) (key int64, ok bool) {
	if p == PolicyIdempotent {
		attempt = 0
	}
	return Key(client, seq, attempt)
}

// Value is what the row of a key holds: the finalizer of SplitMix64 (G.
// Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators",
// 2014), a bijection, over the key and the seed.
func Value(seed uint64, key int64) int64 {
	return int64(workload.Mix(uint64(key) ^ workload.Mix(seed)))
}
