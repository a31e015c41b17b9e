package mongodb

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// A look that the end of the time cuts short hides nothing of what an earlier one
// saw.
func TestSettleTellsWhatItSaw(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	looks := 0
	err := lookUntil(ctx, func() (string, error) {
		if looks++; looks == 1 {
			return "look", &openError{what: openOnServer, count: 1}
		}
		cancel()
		return "look", fmt.Errorf("aggregate: %w", context.DeadlineExceeded)
	})
	if !errors.As(err, new(*openError)) || !errors.Is(err, context.Canceled) || looks != 2 {
		t.Errorf("after %d looks: %v", looks, err)
	}
}
