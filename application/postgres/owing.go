package postgres

import (
	"sync/atomic"

	"assay/application/wire"
)

// owing is a talk that knows whether its server waits for data.
type owing struct {
	*talk
	owes atomic.Bool
}

// Owes implements wire.Owing: the server has asked for data of COPY, or streams its log, and no end of them
// has come. Of a client that sends the data before the server asks it can be wrong until the answer ends.
func (o *owing) Owes() bool { return o.owes.Load() }

// Request implements wire.Talk.
func (o *owing) Request(b []byte, full bool) (int, *wire.Request) {
	n, r := o.talk.Request(b, full)
	if o.asked.copied {
		o.owes.Store(false)
	}
	return n, r
}

// Answer implements wire.Talk.
func (o *owing) Answer(b []byte, r *wire.Request) (int, bool) {
	n, done := o.talk.Answer(b, r)
	if asks := r != nil && r.Asks; asks || done {
		o.owes.Store(asks)
	}
	return n, done
}
