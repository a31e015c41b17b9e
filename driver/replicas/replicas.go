// Package replicas finds the members of an installation that can be compared, and
// waits until one of them has what another has committed.
//
// It must not know any driver.
package replicas

import (
	"context"
	"fmt"
	"sync"
	"time"

	"assay/store"
)

// Member is what a server of an address has said of itself when replicas were looked
// for.
type Member struct {
	Name string
	// Identity tells it from all others, whatever name it is reached by.
	Identity string
	// Err says why its state cannot be compared, nil if it can.
	Err error
}

// Of are the members, each once, of which the one of this identity is called primary,
// and why others are none.
func Of(primary string, members []Member) (replicas []store.Replica, unreachable map[string]error) {
	unreachable = make(map[string]error)
	known := make(map[string]bool)
	for _, m := range members {
		switch {
		case m.Err != nil:
			unreachable[m.Name] = m.Err
		case !known[m.Identity]: // else it is the same server by another name
			known[m.Identity] = true
			replicas = append(replicas, store.Replica{Name: m.Name, Primary: m.Identity == primary})
		}
	}
	return replicas, unreachable
}

// AskAll asks all servers at once and returns what each has answered.
func AskAll[S, A any](ctx context.Context, servers []S, ask func(context.Context, S) (A, error)) (answers []A, failures []error) {
	answers, failures = make([]A, len(servers)), make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { answers[i], failures[i] = ask(ctx, s) })
	}
	all.Wait()
	return answers, failures
}

// catchUpInterval is the pause between two looks at a server.
const catchUpInterval = 20 * time.Millisecond

// CatchUp asks until a server is where it is to be. Unless it is (nil), ask says why
// not, and final whether it never will be. A server that cannot be reached may come
// back.
func CatchUp(ctx context.Context, doing string, ask func(context.Context) (final bool, err error)) error {
	ticker := time.NewTicker(catchUpInterval)
	defer ticker.Stop()
	var reason error
	for {
		final, err := ask(ctx)
		switch {
		case err == nil:
			return nil
		case final:
			return fmt.Errorf("%s: %w", doing, err)
		case reason == nil || !over(ctx): // the last one that is more than the end of ctx
			reason = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w, and still: %w", doing, ctx.Err(), reason)
		case <-ticker.C:
		}
	}
}

// over reports whether ctx has ended. A connection gives up at its deadline, and may do so a
// moment before ctx is told.
func over(ctx context.Context) bool {
	deadline, bounded := ctx.Deadline()
	return ctx.Err() != nil || bounded && !time.Now().Before(deadline)
}
