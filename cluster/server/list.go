package server

import "sync"

// List holds a cluster's nodes, which keep their numbers: a node that has left stays in the list.
// The zero value is empty. It is safe for concurrent use.
type List[N any] struct {
	mu    sync.RWMutex
	nodes []*N
}

// All returns the present list, which the caller must not change.
func (l *List[N]) All() []*N {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.nodes[:len(l.nodes):len(l.nodes)]
}

// At returns node i.
func (l *List[N]) At(i int) *N { return l.All()[i] }

// Add appends a node.
func (l *List[N]) Add(n *N) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes = append(l.nodes, n)
}
