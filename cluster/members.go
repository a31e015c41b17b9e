package cluster

import "sync"

// members are a product's nodes, of which more can come. They keep their
// numbers: one that has left stays in the list. It is safe for concurrent use.
type members[N any] struct {
	growing sync.RWMutex
	nodes   []*N
}

// all returns the list as it is now; it is not to be changed.
func (m *members[N]) all() []*N {
	m.growing.RLock()
	defer m.growing.RUnlock()
	return m.nodes[:len(m.nodes):len(m.nodes)]
}

func (m *members[N]) node(i int) *N { return m.all()[i] }

func (m *members[N]) add(n *N) {
	m.growing.Lock()
	defer m.growing.Unlock()
	m.nodes = append(m.nodes, n)
}
