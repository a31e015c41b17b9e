package history

import (
	"encoding/binary"
	"math/bits"
)

// Integers are varints of encoding/binary, mostly read eight bytes at a time, which is faster.

const ends = 0x8080808080808080

// uvarint reads an integer and returns the rest of b; nil if b is nil or holds no integer.
func uvarint(b []byte) (v uint64, rest []byte) {
	if len(b) >= 8 {
		v = uint64(b[0])
		if v < 0x80 {
			return v, b[1:]
		}
		v = v&0x7f | uint64(b[1])<<7
		if b[1] < 0x80 {
			return v, b[2:]
		}
		v = v&0x3fff | uint64(b[2])<<14
		if b[2] < 0x80 {
			return v, b[3:]
		}
		word := binary.LittleEndian.Uint64(b)
		if last := ^word & ends; last != 0 {
			word &= (last ^ (last - 1)) &^ ends
			word = word&0x007f007f007f007f | word&0x7f007f007f007f00>>1
			word = word&0x00003fff00003fff | word&0x3fff00003fff0000>>2
			word = word&0x000000000fffffff | word&0x0fffffff00000000>>4
			return word, b[bits.TrailingZeros64(last)/8+1:]
		}
	}
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil
	}
	return v, b[n:]
}

// varint is uvarint for a signed integer.
func varint(b []byte) (v int64, rest []byte) {
	u, rest := uvarint(b)
	return int64(u>>1) ^ -int64(u&1), rest
}

// passOver returns the rest of b after n integers; nil if there are fewer.
func passOver(b []byte, n int) (rest []byte) {
	for ; n > 0 && len(b) >= 8; b = b[8:] {
		last := ^binary.LittleEndian.Uint64(b) & ends
		if found := bits.OnesCount64(last); found < n {
			n -= found
			continue
		}
		for range n - 1 {
			last &= last - 1
		}
		return b[bits.TrailingZeros64(last)/8+1:]
	}
	for range n {
		_, b = uvarint(b)
	}
	return b
}
