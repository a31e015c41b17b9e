package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"assay/internal/wait"
)

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }

// Permanent marks an error that further attempts cannot cure: Until returns it unmarked at once.
func Permanent(err error) error { return &permanentError{err} }

// Until calls missing until it returns nil. If ctx ends first, the error says what was waited for
// and what was missing last.
func Until(ctx context.Context, every time.Duration, what string, missing func(context.Context) error) error {
	var last error
	for {
		err := missing(ctx)
		if err == nil {
			return nil
		}
		if permanent := (*permanentError)(nil); errors.As(err, &permanent) {
			return permanent.err
		}
		if last == nil || ctx.Err() == nil { // the last one that is more than the end of ctx
			last = err
		}
		if err := wait.Pause(ctx, every); err != nil {
			return fmt.Errorf("wait for %s: %w: %w", what, err, last)
		}
	}
}

// Until is the function Until, but after End it returns os.ErrClosed.
func (n *Node) Until(ctx context.Context, every time.Duration, what string, missing func(context.Context) error) error {
	return Until(ctx, every, what, func(ctx context.Context) error {
		if n.Closed() {
			return Permanent(os.ErrClosed)
		}
		return missing(ctx)
	})
}
