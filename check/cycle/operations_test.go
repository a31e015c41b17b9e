package cycle

import (
	"math/rand/v2"
	"slices"
	"testing"

	"assay/history"
	"assay/internal/expect"
)

// The transaction of each operation is found, even across transactions without operations.
func TestOperationsAreFound(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 12))
		var b Builder
		var want []op
		for txn := range int32(r.IntN(400)) {
			x := Txn{ID: int64(txn), Outcome: history.Committed}
			for range max(0, r.IntN(20)-10-int(seed%10)) {
				x.Ops = append(x.Ops, Op{Kind: Write, Value: int64(len(want))})
				want = append(want, op{val: int64(len(want)), txn: txn, use: newUse(Write, 0)})
			}
			expect.NoError(t, b.Add(x))
		}
		h := b.History()
		var all, each, of []op
		for i, o := range h.ops.all() {
			all, each = append(all, o), append(each, h.ops.at(i))
		}
		for txn := range int32(h.Len()) {
			of = append(of, h.opsOf(txn)...)
		}
		if h.ops.len() != len(want) || !slices.Equal(all, want) || !slices.Equal(each, want) || !slices.Equal(of, want) {
			t.Fatalf("seed %d: %d operations, %v, %v and %v; want %v", seed, h.ops.len(), all, each, of, want)
		}
	}
}

// IDs are kept, even if only some equal the moment of the invocation.
func TestIDsOfTheirOwn(t *testing.T) {
	for own := range int64(4) {
		var b Builder
		for i := range int64(3) {
			x := Txn{ID: 2 * i, Invoke: 2 * i, Complete: 2*i + 1, Outcome: history.Committed}
			if i == own {
				x.ID = 100
			}
			expect.NoError(t, b.Add(x))
		}
		h := b.History()
		for i := range int64(3) {
			if want := map[bool]int64{true: 100, false: 2 * i}[i == own]; h.ids.at(int32(i)) != want || h.invoke.at(int32(i)) != 2*i {
				t.Errorf("transaction %d of %d has the ID %d and begins at %d", i, own, h.ids.at(int32(i)), h.invoke.at(int32(i)))
			}
		}
	}
}
