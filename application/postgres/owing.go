package postgres

import (
	"sync/atomic"

	"assay/application/wire"
)

// owing is a talk that knows whether its server waits for data.
type owing struct {
	*talk
	// asks is how often the server has asked for data, and ends how often they have ended. Some clients send
	// them before the server asks.
	asks, ends atomic.Int64
}

// Owes implements wire.Owing: the server has asked for data of COPY, or streams its log, and no end of them
// has come.
func (o *owing) Owes() bool { return o.asks.Load() > o.ends.Load() }

// Request implements wire.Talk.
func (o *owing) Request(b []byte, full bool) (int, *wire.Request) {
	n, r := o.talk.Request(b, full)
	o.ends.Store(o.asked.copies)
	return n, r
}

// Answer implements wire.Talk.
func (o *owing) Answer(b []byte, r *wire.Request) (int, bool) {
	before := r != nil && r.Asks
	n, done := o.talk.Answer(b, r)
	if !before && r != nil && r.Asks {
		o.asks.Add(1)
	}
	if done { // whatever a COPY that failed has left open
		o.asks.Store(o.ends.Load())
	}
	return n, done
}
