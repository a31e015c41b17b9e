// Package wait has waits that the end of a context, or of a call, cuts short.
//
// It imports no other package of assay.
package wait

import (
	"context"
	"time"
)

// Pause waits for d, or returns the error of ctx.
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

// Ended waits up to within for the end of a call.
func Ended(ended <-chan error, within time.Duration) (err error, over bool) {
	select {
	case err := <-ended:
		return err, true
	default:
	}
	select {
	case err := <-ended:
		return err, true
	case <-time.After(within):
		return nil, false
	}
}
