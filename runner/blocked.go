package runner

import (
	"context"
	"time"

	"assay/internal/wait"
	"assay/store"
)

// looksAtBlockers is how often a call that is under way is asked for what keeps it from going
// on within the time that it may be kept, and lookTimeout bounds one such question.
const (
	looksAtBlockers = 5
	lookTimeout     = 5 * time.Second
)

// bearFor sets how long a call may be kept from going on by others; see blockers. Before the
// work that is the time to connect. Later it is the stall timeout: locks that clients left,
// and servers that faults have hit, need their time.
func (b *bounded) bearFor(patience time.Duration) { b.patience.Store(int64(patience)) }

// blockers sends *store.BlockedError when a call that begins now has been kept from going
// on by others, by one thing or another, for as long as is borne. It ends with ctx.
func (b *bounded) blockers(ctx context.Context, doing string) <-chan error {
	found := make(chan error, 1)
	patience := time.Duration(b.patience.Load())
	if patience <= 0 {
		return found
	}
	go func() {
		free := time.Now() // when it was last known not to be kept
		for wait.Pause(ctx, patience/looksAtBlockers) == nil {
			asked := time.Now()
			asking, cancel := context.WithTimeout(ctx, lookTimeout)
			by, err := b.Work.Blocked(asking)
			cancel()
			if err != nil || by == "" {
				free = asked
				continue
			}
			if kept := asked.Sub(free); kept >= patience*(looksAtBlockers-1)/looksAtBlockers {
				found <- &store.BlockedError{Address: b.address, Doing: doing, By: by, For: kept}
				return
			}
		}
	}()
	return found
}
