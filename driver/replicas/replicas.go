// Package replicas lists the comparable members of an installation, and waits until a member
// has what another has committed.
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

// Member is a server's own description.
type Member struct {
	Name string
	// Identity distinguishes servers; one server may have several names.
	Identity string
	// Err says why the member's state cannot be compared.
	Err error
}

// Of lists each comparable member once and marks the primary, given by its identity. unreachable
// has the reasons of the others by name.
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

// AskAll asks all servers at once and returns their answers in order.
func AskAll[S, A any](ctx context.Context, servers []S, ask func(context.Context, S) (A, error)) (answers []A, failures []error) {
	answers, failures = make([]A, len(servers)), make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { answers[i], failures[i] = ask(ctx, s) })
	}
	all.Wait()
	return answers, failures
}

// AskPrompt is AskAll, but gives the others only late more once one has answered without an error. It cancels
// the questions that are left.
func AskPrompt[S, A any](ctx context.Context, late time.Duration, servers []S, ask func(context.Context, S) (A, error)) (answers []A, failures []error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var first sync.Once
	return AskAll(ctx, servers, func(ctx context.Context, s S) (A, error) {
		answer, err := ask(ctx, s)
		if err == nil {
			first.Do(func() { time.AfterFunc(late, cancel) })
		}
		return answer, err
	})
}

const catchUpInterval = 20 * time.Millisecond

// CatchUp calls ask until it returns nil, is final, or ctx ends. ask's error says why the server
// is not there yet; final says that it never will be. An unreachable server is not final.
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

// over also looks at the deadline: a connection may give up a moment before ctx is done.
func over(ctx context.Context) bool {
	deadline, bounded := ctx.Deadline()
	return ctx.Err() != nil || bounded && !time.Now().Before(deadline)
}
