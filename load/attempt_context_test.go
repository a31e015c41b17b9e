package load

import (
	"context"
	"errors"
	"testing"
	"time"
)

type contextKey struct{}

func TestAnAttemptEndsAtItsLimit(t *testing.T) {
	parent := context.WithValue(t.Context(), contextKey{}, "value")
	limit := newAttemptLimit(parent, 20*time.Millisecond, 0)
	defer limit.close()
	limit.begin(0) // its limit is the first that the timer is set for
	limit.end()
	for range 3 {
		start := int64(time.Since(limit.start))
		ctx := limit.begin(start)
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		called := make(chan struct{})
		context.AfterFunc(ctx, func() { close(called) })
		taken := context.AfterFunc(ctx, func() { t.Error("called though it was taken back") })
		if !taken() || taken() {
			t.Error("a function is taken back once")
		}
		if at, has := ctx.Deadline(); !has || !at.Equal(limit.start.Add(time.Duration(start)+limit.timeout)) {
			t.Errorf("deadline %v, %v", at, has)
		}
		if ctx.Err() != nil || ctx.Value(contextKey{}) != "value" {
			t.Errorf("%v, value %v", ctx.Err(), ctx.Value(contextKey{}))
		}
		<-child.Done()
		<-called
		if at, _ := ctx.Deadline(); time.Now().Before(at) {
			t.Error("it ended before its limit")
		}
		for _, err := range []error{ctx.Err(), child.Err(), context.Cause(ctx), context.Cause(child)} {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it ended with %v", err)
			}
		}
		limit.end()
	}
}

func TestAnAttemptThatIsOverIsCancelled(t *testing.T) {
	limit := newAttemptLimit(t.Context(), time.Hour, 0)
	defer limit.close()
	first := limit.begin(0)
	done := first.Done()
	limit.end()
	second := limit.begin(1)
	if first == second {
		t.Error("a context that was looked at is used again")
	}
	<-done
	<-first.Done()
	if !errors.Is(first.Err(), context.Canceled) || second.Err() != nil {
		t.Errorf("the first has %v, the second %v", first.Err(), second.Err())
	}
	called := make(chan struct{})
	context.AfterFunc(first, func() { close(called) })
	first.AfterFunc(func() {})
	<-called
	limit.end()
	<-second.Done()
}

func TestAttemptsEndWithTheirParent(t *testing.T) {
	parent, abandon := context.WithCancel(t.Context())
	limit := newAttemptLimit(parent, time.Hour, 0)
	defer limit.close()
	ctx := limit.begin(0)
	abandon()
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("it ended with %v", ctx.Err())
	}
	limit.end()
	if err := limit.begin(1).Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("the next begins with %v", err)
	}
}

// TestAQuickAttemptAllocatesNothing holds the engine's speed: a context of package
// context takes five allocations.
func TestAQuickAttemptAllocatesNothing(t *testing.T) {
	limit := newAttemptLimit(t.Context(), time.Hour, 0)
	defer limit.close()
	if n := testing.AllocsPerRun(1000, func() { limit.begin(0); limit.end() }); n > 0 {
		t.Errorf("%v allocations an attempt", n)
	}
}
