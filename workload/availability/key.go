package availability

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
