package sqlite

import (
	"context"
	"sync"
)

// leftovers counts transactions that run on without callers and keep the file open. It is safe for
// concurrent use.
type leftovers struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed once n is 0 again
}

func (l *leftovers) add() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n++; l.n == 1 {
		l.none = make(chan struct{})
	}
}

func (l *leftovers) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n--; l.n == 0 {
		close(l.none)
	}
}

// wait returns when none is left, or ctx's error.
func (l *leftovers) wait(ctx context.Context) error {
	l.mu.Lock()
	n, none := l.n, l.none
	l.mu.Unlock()
	if n == 0 {
		return nil
	}
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
