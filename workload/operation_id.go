package workload

// An operation's id has the client in the upper bits and its operation number in the lower.
const (
	seqBits = 40
	// MaxSeq is the highest operation number that an id can hold.
	MaxSeq = 1<<seqBits - 1
	// MaxClient is the highest client number that keeps ids positive.
	MaxClient = 1<<(63-seqBits) - 1
)

// OperationID returns the id of operation seq of a client.
func OperationID(client int, seq uint64) int64 {
	return int64(client)<<seqBits | int64(seq&MaxSeq)
}

// SplitOperationID is the inverse of OperationID. ok is false for a negative id.
func SplitOperationID(id int64) (client int, seq uint64, ok bool) {
	if id < 0 {
		return 0, 0, false
	}
	return int(id >> seqBits), uint64(id) & MaxSeq, true
}
