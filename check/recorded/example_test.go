package recorded_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"assay/check/recorded"
	"assay/history/exchange"
)

// Two accounts hold 100 in all; one read sees money that does not exist.
func Example() {
	in, err := exchange.NewReader(strings.NewReader(`
{:process 0, :type :invoke, :f :transfer, :value {:from 1, :to 2, :amount 5}} {:process 0, :type :ok, :f :transfer, :value {:from 1, :to 2, :amount 5}}
{:process 0, :type :invoke, :f :read} {:process 0, :type :ok, :f :read, :value {1 50, 2 50}}
{:process 0, :type :invoke, :f :read} {:process 0, :type :ok, :f :read, :value {1 50, 2 60}}`))
	total := int64(100)
	judge := recorded.Bank{Total: &total}.Open()
	for err == nil {
		var op *exchange.Operation
		if op, err = in.Next(); err == nil {
			err = judge.Add(op)
		}
	}
	r := judge.Result(context.Background())
	fmt.Println(err == io.EOF, r.Verdict, r.Found)
	fmt.Println(r.Evidence[0].Text)
	// Output:
	// true violated 1
	// read by process 0 (operation 4) saw a total of 110 in 2 accounts (1: 50, 2: 60), 10 more than the 100 that there are
}
