package drivertest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/history"
)

// line is a client's session on a Store, which it replaces when it must. It is
// used by one goroutine.
type line[N interface{ Close() }] struct {
	dial      func(ctx context.Context) (N, error)
	session   N
	connected bool
}

// connect makes sure that there is a session.
func (l *line[N]) connect(ctx context.Context) error {
	if l.connected {
		return nil
	}
	session, err := l.dial(ctx)
	if err != nil {
		return err
	}
	l.session, l.connected = session, true
	return nil
}

func (l *line[N]) close() {
	if l.connected {
		l.session.Close()
		l.connected = false
	}
}

// replace gives a session up that cannot be used after this answer.
func (l *line[N]) replace(a answer) {
	if a.broken || a.outcome == history.Unknown {
		l.close()
	}
}

// answer is what the replies of all workloads have in common.
type answer struct {
	outcome                  history.Outcome
	class                    string
	err                      error
	broken, duplicate, found bool
}

// inspect fails the test for an answer that contradicts itself or tells the
// password.
func (a answer) inspect(t testing.TB, secret string, doing func() string) {
	t.Helper()
	switch {
	case !a.outcome.Valid():
		t.Errorf("%s: %v", doing(), a.outcome)
	case a.outcome == history.Committed && (a.class != "" || a.err != nil):
		t.Errorf("%s: committed with an error: %q %v", doing(), a.class, a.err)
	case a.outcome != history.Committed && a.class == "":
		t.Errorf("%s: %v without a class: %v", doing(), a.outcome, a.err)
	}
	if secret != "" && (strings.Contains(a.class, secret) || a.err != nil && strings.Contains(a.err.Error(), secret)) {
		t.Errorf("%s: the reply tells the password", doing())
	}
}

// tries bounds how often an attempt is repeated after Failed. Databases that
// refuse conflicts instead of waiting need many when eight clients race.
const tries = 300

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// during makes an attempt within a time limit, and disturbs it once it is on
// its way. It ends the test if the attempt outlives the test's context, ctx.
func during[R any](ctx context.Context, t testing.TB, limit time.Duration, attempt func(ctx context.Context) R, disturb func()) R {
	t.Helper()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	reply := make(chan R, 1)
	go func() { reply <- attempt(limited) }()
	disturb()
	select {
	case r := <-reply:
		return r
	case <-ctx.Done():
		t.Fatal("the call did not return though its context had ended")
		var none R
		return none
	}
}

// cutClient is a client whose connections are cut.
type cutClient struct {
	// attempt reports whether it was acknowledged.
	attempt func(ctx context.Context) bool
	close   func()
}

// cutAtAnyTime cuts while clients work, again and again, each time after so
// many attempts were acknowledged.
func cutAtAnyTime(ctx context.Context, t testing.TB, proxy *Proxy, cuts, acknowledged int, clients []cutClient) {
	t.Helper()
	working, stop := context.WithCancel(ctx)
	defer stop()
	progress := make(chan struct{})
	var all sync.WaitGroup
	for _, x := range clients {
		all.Go(func() {
			defer x.close()
			for working.Err() == nil {
				limited, cancel := context.WithTimeout(ctx, 10*time.Second)
				committed := x.attempt(limited)
				cancel()
				if !committed {
					pause(working, 5*time.Millisecond)
					continue
				}
				select {
				case progress <- struct{}{}:
				case <-working.Done():
				}
			}
		})
	}
	for range cuts {
		for range acknowledged {
			select {
			case <-progress:
			case <-ctx.Done():
				t.Fatal("nothing commits any more")
			}
		}
		proxy.Cut()
		proxy.Pass()
	}
	stop()
	all.Wait()
}
