package register_test

import (
	"context"
	"fmt"

	"assay/check/register"
	"assay/history"
)

// A read that begins after a write was acknowledged returns the value before it.
func Example() {
	var h register.History
	for _, op := range []register.Op{
		{ID: 0, Process: 1, Kind: register.Write, Value: "a", Invoke: 0, Complete: 1},
		{ID: 1, Process: 1, Kind: register.Write, Value: "b", Invoke: 2, Complete: 3},
		{ID: 2, Process: 2, Kind: register.Read, Value: "b", Invoke: 4, Complete: 5},
		{ID: 3, Process: 2, Kind: register.Read, Value: "a", Invoke: 6, Complete: 7},
	} {
		op.Outcome, op.InvokeTime, op.CompleteTime = history.Committed, register.NoTime, register.NoTime
		if err := h.Add(op); err != nil {
			fmt.Println(err)
			return
		}
	}
	r := register.Check(context.Background(), &h, register.Options{})
	fmt.Println(r.Verdict, r.Evidence[0].Kind)
	// Output: violated stale-read
}
