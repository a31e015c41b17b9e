// Package wait has the pause that a context cuts short.
//
// It imports no other package of assay.
package wait

import (
	"context"
	"time"
)

// Pause waits so long, or returns the error of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
