package history

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Integers of all lengths, also cut and overlong ones, are read as encoding/binary reads them, and
// passOver skips as many bytes.
func TestIntegersAreThoseOfBinary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		var all []byte
		n := r.IntN(12)
		for range n {
			all = binary.AppendVarint(all, int64(r.Uint64()>>r.IntN(64))-int64(r.IntN(2)*100))
		}
		switch r.IntN(4) {
		case 0:
			all = all[:r.IntN(len(all)+1)]
		case 1:
			for range 9 + r.IntN(3) {
				all = append(all, 0x80|byte(r.IntN(128)))
			}
			all = append(all, byte(r.IntN(128)))
		}
		rest, left := all, all
		for count := 0; ; count++ {
			want, size := binary.Varint(left)
			var got int64
			got, rest = varint(rest)
			if size <= 0 {
				if rest != nil {
					t.Fatalf("% x: integer %d is %d, where there is none", all, count, got)
				}
				break
			}
			left = left[size:]
			if got != want || len(rest) != len(left) || rest == nil {
				t.Fatalf("% x: integer %d is %d with %d bytes left, want %d with %d", all, count, got, len(rest), want, len(left))
			}
			if over := passOver(all, count+1); over == nil || len(over) != len(left) {
				t.Fatalf("% x: %d bytes are left of %d integers, want %d", all, len(over), count+1, len(left))
			}
		}
	}
	if passOver([]byte{1, 0x80}, 2) != nil || passOver([]byte{1, 0x80}, 1) == nil || passOver([]byte{}, 0) == nil {
		t.Error("what is cut is passed over, or what is there is not")
	}
}
