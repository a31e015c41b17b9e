package measure_test

import (
	"fmt"

	"assay/history"
	"assay/measure"
)

// A thousand operations of 2 ms each, one after the other, are summarized and
// judged by a threshold.
func Example() {
	const ms = 1_000_000
	s := measure.NewSummary(measure.Scope{MeasureEnd: 2000 * ms, End: 2000 * ms})
	for i := range int64(1000) {
		due := i * 2 * ms
		s.Add(&history.Op{Attempt: 1, Last: true, Seq: uint64(i), Outcome: history.Committed, Final: history.Committed,
			Due: due, First: due, Start: due, End: due + 2*ms - 1})
	}
	f := s.Figures()
	fmt.Printf("%.0f/s, p99 %.1f ms\n", f.Throughput.PerSecond, f.Latency.P99)
	threshold, err := measure.ParseThreshold("p99 < 20ms")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(threshold.Judge(f).Kept)
	// Output:
	// 500/s, p99 2.0 ms
	// true
}
