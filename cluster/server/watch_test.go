package server

import (
	"context"
	"testing"
	"time"
)

// TestWatchCountsALateAnswer: silence is none, an answer is one however late, and an attempt
// that could not be made is none.
func TestWatchCountsALateAnswer(t *testing.T) {
	release := make(chan struct{})
	w := NewWatch(time.Second)
	w.Over(func(ctx context.Context, _ time.Duration) bool { <-release; return ctx.Err() == nil })
	p := w.primary.Load()
	p.last = time.Now().Add(-time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	looks := make(chan struct{})
	probe := func() {
		p.probe(ctx, time.Minute)
		looks <- struct{}{}
	}
	go probe()
	go probe()
	select {
	case <-looks:
		t.Fatal("a look ended without an answer")
	case <-time.After(50 * time.Millisecond):
	}
	if w.Silence() < time.Hour {
		t.Error("silence was taken for an answer")
	}
	close(release)
	<-looks
	<-looks
	if w.Silence() > time.Minute {
		t.Error("a late answer was not taken for one")
	}
	cancel()
	p.last = time.Now().Add(-time.Hour)
	p.probe(ctx, time.Minute)
	if w.Silence() < time.Hour {
		t.Error("an attempt that could not be made was taken for an answer")
	}
}
