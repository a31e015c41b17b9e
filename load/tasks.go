package load

import "sync/atomic"

// Tasks are the tasks of a round, numbered from 0. Clients take them in order, whatever their
// number. It is safe for concurrent use.
type Tasks struct {
	taken atomic.Int64
	// The parameters of Only; of is 0 without it.
	first, clients, of int64
}

// Only leaves to this process the tasks whose number, modulo of, is the number of one of its
// clients. These have the numbers from first on. Call it before the first Take.
func (t *Tasks) Only(first, clients, of int) {
	t.first, t.clients, t.of = int64(first), int64(clients), int64(of)
}

// Take is the next task.
func (t *Tasks) Take() int64 {
	n := t.taken.Add(1) - 1
	if t.of == 0 {
		return n
	}
	return n/t.clients*t.of + t.first + n%t.clients
}

// PartOf is how many of n tasks belong to a part of all clients; see Only.
func PartOf(n uint64, first, clients, of int) uint64 {
	rest := int(n % uint64(of))
	return n/uint64(of)*uint64(clients) + uint64(min(max(rest-first, 0), clients))
}
