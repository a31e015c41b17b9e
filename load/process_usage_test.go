package load

import (
	"context"
	"runtime"
	"testing"
	"time"

	"assay/internal/expect"
)

// TestClientsThatWaitForAProcessor: clients that compute, many for each
// processor, wait for one another, and the engine measures that.
func TestClientsThatWaitForAProcessor(t *testing.T) {
	clients := 50 * runtime.GOMAXPROCS(0)
	p := plan(func(p *Plan) { p.Clients, p.Duration = clients, time.Second })
	_, stats, err := work(t, t.Context(), p, func(ctx context.Context, _ uint64, _ int) Answer {
		for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {
			runtime.Gosched()
		}
		return commit(ctx, 0, 0)
	})
	expect.NoError(t, err)
	if self := stats.Self; self.CPUs != runtime.GOMAXPROCS(0) || self.Runnable < float64(clients)/4 || self.SchedulerP99 == 0 {
		t.Errorf("of %d clients %+v waited for a processor", clients, self)
	}
}
