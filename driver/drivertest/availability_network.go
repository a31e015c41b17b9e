package drivertest

import (
	"context"
	"testing"

	"assay/history"
	"assay/workload/availability"
)

func (h Availability) network(t *testing.T) *keyedNetwork[availability.Row] {
	t.Helper()
	s := emptyShelf(t, h)
	s.create(s.store, "run-1")
	proxy, via := s.through(h.Server, h.OpenVia)
	return &keyedNetwork[availability.Row]{
		t: t, ctx: s.ctx, proxy: proxy, rounds: 3, check: s.check,
		via:    func(number int) keyed[availability.Row] { return s.hand(via, int64(number)) },
		beside: func(number int) keyed[availability.Row] { return s.hand(s.store, int64(number)) },
	}
}

// testCutAtAnyTime cuts while four clients insert.
func (h Availability) testCutAtAnyTime(t *testing.T) {
	n := h.network(t)
	var clients []cutClient
	for number := range 4 {
		x := n.via(number)
		clients = append(clients, cutClient{close: x.close, attempt: func(ctx context.Context) bool {
			return x.write(ctx, x.next()).outcome == history.Committed
		}})
	}
	cutAtAnyTime(n.ctx, t, n.proxy, 10, 20, clients)
	n.check()
}
