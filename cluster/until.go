package cluster

import (
	"context"
	"fmt"
	"time"
)

// until asks again and again what is missing and returns when that is nothing.
// When ctx ends first, the error says what was waited for and what was missing
// last.
func until(ctx context.Context, every time.Duration, what string, missing func(context.Context) error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var last error
	for {
		err := missing(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // the last one that is more than the end of ctx
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %w", what, ctx.Err(), last)
		case <-ticker.C:
		}
	}
}
