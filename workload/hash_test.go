package workload

import (
	"hash/fnv"
	"math/rand/v2"
	"testing"
)

// TestMix: the first numbers of SplitMix64 from seed 0, as its authors' code gives
// them. Its state goes on by the golden ratio, which Mix adds.
func TestMix(t *testing.T) {
	const golden = 0x9e3779b97f4a7c15
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := Mix(uint64(i) * golden); got != want {
			t.Errorf("number %d is %#x, want %#x", i, got, want)
		}
	}
}

func TestSum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 100 {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(random.Uint32())
		}
		h := fnv.New64a()
		_, _ = h.Write(text) // never fails, as its documentation says
		if got := Sum(string(text)); got != int64(h.Sum64()) {
			t.Errorf("%q gives %d, want %d", text, got, int64(h.Sum64()))
		}
	}
}

// TestHexDigitsStay: a saved run is judged by them.
func TestHexDigitsStay(t *testing.T) {
	const want = "8398abda21c5d321aa2d0efff302fd7cb8c8a1e8d3eb60fe18c71eb9949a5ed9bc9dbfb317372335a602260f6baaca72"
	for _, n := range []int{1, 15, 16, 17, 96} {
		if got := HexDigits(7, 13, n); got != want[:n] {
			t.Errorf("%d digits: %s", n, got)
		}
	}
}
