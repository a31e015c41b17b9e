package exchange_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"assay/history/exchange"
)

// A history of Jepsen's is read operation by operation, whatever its format.
func ExampleReader() {
	const recorded = `
{:index 0, :time 10, :type :invoke, :process 0, :f :txn, :value [[:append 5 1]]}
{:index 1, :time 20, :type :invoke, :process 1, :f :txn, :value [[:r 5 nil]]}
{:index 2, :time 30, :type :ok, :process 0, :f :txn, :value [[:append 5 1]]}
{:index 3, :time 40, :type :ok, :process 1, :f :txn, :value [[:r 5 [1]]]}
`
	r, err := exchange.NewReader(strings.NewReader(recorded))
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		op, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("process", op.Process, op.Outcome, "key", op.Txn[0].Key, "list", op.Txn[0].List)
	}
	fmt.Println(r.Format(), r.Kind())
	// Output:
	// process 0 committed key 5 list []
	// process 1 committed key 5 list [1]
	// EDN list-append
}
