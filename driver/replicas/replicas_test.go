package replicas

import (
	"context"
	"errors"
	"testing"
	"time"

	"assay/internal/expect"
)

// late is a context past its deadline whose end is not signalled.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

// TestCatchUpSaysWhereAServerWas: a connection that ends at the deadline keeps the server's last
// report.
func TestCatchUpSaysWhereAServerWas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	err := CatchUp(late{ctx}, "wait for n2", func(context.Context) (bool, error) {
		if asked++; asked == 1 {
			return false, errors.New("it is at 7")
		}
		if asked == 3 {
			cancel()
		}
		return false, errors.New("i/o timeout")
	})
	if asked != 3 || !errors.Is(err, context.Canceled) {
		t.Errorf("asked %d times: %v", asked, err)
	}
	expect.Text(t, "the error", err.Error(), "wait for n2", "it is at 7")
}
