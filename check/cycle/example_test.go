package cycle_test

import (
	"context"
	"fmt"

	. "assay/check/cycle"
	"assay/history"
)

// Two transactions read the same empty list and both append to it: neither sees the other's append.
func Example() {
	var b Builder
	for i, ops := range [][]Op{
		{{Kind: ReadNothing, Key: 1}, {Kind: Append, Key: 1, Value: 10}},
		{{Kind: ReadNothing, Key: 1}, {Kind: Append, Key: 1, Value: 20}},
		{{Kind: ReadList, Key: 1, List: []int64{10, 20}}},
	} {
		err := b.Add(Txn{ID: int64(i), Process: int32(i), Invoke: int64(i), Complete: 10 + int64(i), Outcome: history.Committed, Ops: ops})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	report := Check(context.Background(), b.History(), SnapshotIsolation, Options{})
	fmt.Println(report.Verdict, report.Anomalies)
	fmt.Println("not", report.Not)
	// Output:
	// violated [G-single-item lost-update]
	// not [cursor-stability update-atomic]
}
