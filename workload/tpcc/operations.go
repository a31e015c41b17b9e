package tpcc

import (
	"math"

	"assay/history"
)

// state is an operation's outcome and these flags.
type state uint8

const (
	outcomeBits state = 3
	recorded    state = 2 << iota // above the two bits of the outcome
	ended                         // its last attempt is recorded
	applied                       // its row is there
)

func (s state) has(flag state) bool { return s&flag != 0 }

// outcome is unknown if attempts are missing, as the next one may have taken effect.
func (s state) outcome() history.Outcome {
	if o := history.Outcome(s & outcomeBits); s.has(ended) || o == history.Committed {
		return o
	}
	return history.Unknown
}

type operations struct {
	clients map[int]*clientOperations
	// reserved counts the operations that may have begun.
	reserved int64
}

type clientOperations struct {
	states   []state
	reserved uint64
}

func (c *clientOperations) state(seq uint64) *state {
	for uint64(len(c.states)) <= seq {
		c.states = append(c.states, 0)
	}
	return &c.states[seq]
}

// maxOperations per client: a damaged file could claim more and exhaust memory.
const maxOperations = math.MaxInt32

func (o *operations) client(number int) *clientOperations {
	if o.clients == nil {
		o.clients = map[int]*clientOperations{}
	}
	c := o.clients[number]
	if c == nil {
		c = &clientOperations{}
		o.clients[number] = c
	}
	return c
}

func (o *operations) reserve(r history.Reservation) {
	if c := o.client(r.Client); r.UpTo > c.reserved {
		o.reserved += int64(min(r.UpTo, maxOperations)) - int64(min(c.reserved, maxOperations))
		c.reserved = r.UpTo
	}
}

// record takes an attempt; false if no run can have made it.
func (o *operations) record(op *history.Op) bool {
	if op.Seq >= maxOperations {
		return false
	}
	s := o.client(op.Client).state(op.Seq)
	outcome := op.Outcome
	switch {
	case op.Last:
		outcome = op.Final
	case s.has(recorded):
		outcome = history.Outcome(*s & outcomeBits).Then(op.Outcome)
	}
	*s = *s&^outcomeBits | state(outcome) | recorded
	if op.Last {
		*s |= ended
	}
	return true
}

// find returns nil for an operation that cannot have begun.
func (o *operations) find(client int, seq uint64) *state {
	c := o.clients[client]
	if c == nil || seq >= c.reserved && seq >= uint64(len(c.states)) || seq >= maxOperations {
		return nil
	}
	return c.state(seq)
}
