package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/expect"
)

// TestAskMost: a silent node is waited for a little when the others have said enough, and for as
// long as its question takes when they have not.
func TestAskMost(t *testing.T) {
	nodes := make([]*Node, 4)
	for i := range nodes {
		nodes[i] = &Node{Dir: t.TempDir(), Log: t.TempDir() + "/log"}
		if i == 3 {
			continue // one that was never started
		}
		expect.NoError(t, nodes[i].Spawn(ProcessOptions{Program: "/bin/sleep", Args: []string{"600"}}))
		expect.AtEnd(t, nodes[i].End)
	}
	const silence = 5 * time.Second
	ask := func(ctx context.Context, i int) (int, error) {
		after := []time.Duration{10 * time.Millisecond, 30 * time.Millisecond, silence}[i]
		select {
		case <-time.After(after):
			return i, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	for _, c := range []struct {
		needed, answers int
		took            time.Duration
	}{
		{1, 2, 10*time.Millisecond + lateLeast + lateTimes*10*time.Millisecond},
		{2, 2, 30*time.Millisecond + lateLeast + lateTimes*30*time.Millisecond},
		{3, 3, silence}, {9, 3, silence},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			answers, failures := AskMost(t.Context(), nodes, ask, func(answers map[int]int, failures map[int]error) bool {
				if len(answers)+len(failures) != 3 {
					t.Errorf("%d answers and %d failures of three that run", len(answers), len(failures))
				}
				return len(answers) >= c.needed
			})
			if len(answers) != c.answers || time.Since(began) != c.took || len(failures) != 3-c.answers || c.answers == 2 && !errors.Is(failures[2], ErrLate) {
				t.Errorf("%d needed: %v, %v after %v", c.needed, answers, failures, time.Since(began))
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, failures := AskMost(ctx, nodes, func(context.Context, int) (int, error) { select {} }, func(map[int]int, map[int]error) bool { return false })
	if len(failures) != 3 {
		t.Errorf("after the end of its context: %v", failures)
	}
}
