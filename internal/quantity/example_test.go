package quantity_test

import (
	"fmt"

	"assay/internal/quantity"
)

func Example() {
	memory, err := quantity.Parse("400MiB")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(memory, quantity.Format(memory))
	fmt.Println(quantity.Milliseconds(1.482), quantity.Seconds(75), quantity.Bytes(31_457_280), quantity.Figure(2263.4))
	// Output:
	// 419430400 400MiB
	// 1.48 ms 1 min 15 s 31.5 MB 2,263
}
