package load_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/load"
)

// client does nothing, successfully; a real one sends a statement.
type client struct{}

func (client) Attempt(context.Context, uint64, int) load.Answer {
	return load.Answer{Outcome: history.Committed}
}

func (client) Close() {}

// counter counts what a history.Writer would keep in a file.
type counter struct{ committed atomic.Int64 }

func (*counter) Reserve(history.Reservation) error { return nil }
func (*counter) Mark(history.Event) error          { return nil }

func (c *counter) Record(op *history.Op) error {
	if op.Last && op.Final == history.Committed {
		c.committed.Add(1)
	}
	return nil
}

// Two clients do 1000 operations in a closed loop.
func ExampleRun() {
	plan := load.Defaults()
	plan.Clients, plan.Warmup, plan.Duration, plan.Ops = 2, 0, 0, 1000
	start, count := time.Now(), &counter{}
	stats, err := load.Run(context.Background(), plan, []load.Client{client{}, client{}}, count,
		func() int64 { return int64(time.Since(start)) })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(count.committed.Load(), "committed,", stats.Hung, "clients hung")
	// Output: 1000 committed, 0 clients hung
}
