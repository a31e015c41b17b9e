package balances_test

import (
	"fmt"

	"assay/check/balances"
	"assay/history"
)

// Two accounts with 100 in all; one read sees money that is not there.
func Example() {
	j := balances.New(balances.Options{Total: 100, TotalKnown: true})
	j.Transfer(history.Committed)
	for i, b := range []int64{50, 60} {
		j.Read(&balances.Read{ID: int64(i), Invoke: balances.NoTime, Complete: balances.NoTime,
			Accounts: []balances.Account{{ID: "1", Balance: 50}, {ID: "2", Balance: b}}})
	}
	r := j.Result()
	fmt.Println(r.Verdict, r.Found)
	fmt.Println(r.Evidence[0].Text)
	// Output:
	// violated 1
	// read by process 0 (operation 1) saw a total of 110 in 2 accounts (1: 50, 2: 60), 10 more than the 100 that there are
}
