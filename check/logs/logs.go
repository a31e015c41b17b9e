// Package logs judges histories of logs such as Kafka's that other tools recorded:
// clients send values to keys (partitions), where each gets an offset, and poll
// them. The anomalies and their names are those of jepsen.tests.kafka
// (https://jepsen-io.github.io/jepsen/jepsen.tests.kafka.html), cycles of transactions
// included.
//
// The judge keeps what was sent and polled in memory and needs time n log n.
package logs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/check/operation"
	"assay/history/exchange"
)

// The kinds of evidence.
const (
	kindLost          = "lost-write"
	kindAborted       = "G1a"
	kindUnexpected    = "unexpected"
	kindFuture        = "future-read"
	kindDuplicate     = "duplicate"
	kindOffsets       = "inconsistent-offsets"
	kindPollSkip      = "poll-skip"
	kindPollBack      = "nonmonotonic-poll"
	kindInnerPollSkip = "int-poll-skip"
	kindInnerPollBack = "int-nonmonotonic-poll"
	kindSendBack      = "nonmonotonic-send"
	kindPrecommitted  = "precommitted-read"
	kindG0            = "G0"
	kindG1c           = "G1c"
	kindG1cRealtime   = "G1c-realtime"
)

// noOffset is the offset of a send that was not told one.
const noOffset = -1

// Judge judges one history. It is not safe for concurrent use.
type Judge struct {
	promise Promise

	keys  map[exchange.Atom]*partition
	order []*partition
	all   []action // in the order in which they completed

	sends, polls, polled int64
}

// action is one operation of a client.
type action struct {
	by    operation.Operation
	steps []step
	// reset means that the client's positions are not known afterwards, subscribed
	// that they may change at any time from then on, assigned that they no
	// longer do.
	reset, subscribed, assigned bool
}

// step is one send, or one value of one poll.
type step struct {
	send    bool
	first   bool // the first value of its key in its poll
	on      *partition
	offset  int64
	message int32 // into the partition's messages
}

// partition is one log.
type partition struct {
	key      exchange.Atom
	number   map[exchange.Atom]int32
	messages []message
	at       map[int64]int32 // the message first seen at each offset
	offsets  []int64         // of at, ascending, once all was read
}

// message is one value of a log. sent and failed are actions into Judge.all, or -1.
type message struct {
	value        exchange.Atom
	sent, failed int32
	acknowledged int32 // an action, or -1
	offset       int64 // the first that was seen
	by           int32 // the action that told it
	polled       bool
	again        bool // it was sent more than once
}

// New returns a judge of a log with that promise.
func New(promise Promise) *Judge {
	return &Judge{promise: promise, keys: map[exchange.Atom]*partition{}}
}

// Add takes one operation: :send, :poll and :txn of [[:send k v] [:poll]], answered
// with [[:send k [offset v]] [:poll {k [[offset v] ...]}]]; :assign and
// :subscribe of a list of keys; :crash. Any other is an error.
func (j *Judge) Add(o *exchange.Operation) error {
	a := action{by: operation.Of(o)}
	switch o.Word {
	case "assign":
		a.reset, a.assigned = true, a.by.Acknowledged()
		a.subscribed = !a.assigned
	case "subscribe":
		a.reset, a.subscribed = true, true
	case "crash", "debug-topic-partitions":
		a.reset = true
	case "send", "poll", "txn":
		value := operation.Value(o)
		if value.Form != exchange.List {
			return operation.Unfit(o, "steps such as [[:send 1 2] [:poll]]")
		}
		a.reset = !a.by.Acknowledged()
		for i := range value.Items {
			if err := j.step(o, &a, &value.Items[i]); err != nil {
				return err
			}
		}
	default:
		return operation.UnknownFunction(o, "send, poll, txn, assign, subscribe and crash")
	}
	j.all = append(j.all, a)
	return nil
}

func (j *Judge) step(o *exchange.Operation, a *action, v *exchange.Value) error {
	if v.Form != exchange.List || len(v.Items) == 0 {
		return operation.Unfit(o, "steps such as [:send 1 2] or [:poll]")
	}
	switch v.Items[0].Word() {
	case "send":
		if len(v.Items) != 3 || v.Items[1].Form != exchange.Scalar {
			return operation.Unfit(o, "a send such as [:send 1 2], answered with [:send 1 [0 2]]")
		}
		return j.send(o, a, v.Items[1].Atom, &v.Items[2])
	case "poll":
		if len(v.Items) == 1 || v.Items[1].IsNil() || !a.by.Acknowledged() {
			return nil
		}
		if v.Items[1].Form != exchange.Map {
			return operation.Unfit(o, "a poll such as [:poll {1 [[0 2]]}]")
		}
		return j.poll(o, a, v.Items[1].Items)
	}
	return operation.Unfit(o, "steps such as [:send 1 2] or [:poll]")
}

func (j *Judge) send(o *exchange.Operation, a *action, key exchange.Atom, v *exchange.Value) error {
	s := step{send: true, on: j.partition(key), offset: noOffset}
	if offset, value, ok := v.Pair(); ok {
		if !offset.IsNil() {
			if offset.Form != exchange.Scalar || offset.Atom.Kind != exchange.Number {
				return operation.Unfit(o, "an offset that is a whole number")
			}
			s.offset = offset.Atom.Int
		}
		v = value
	}
	if v.Form != exchange.Scalar {
		return operation.Unfit(o, "a value that is a number, a word or a text")
	}
	if !a.by.Acknowledged() {
		s.offset = noOffset
	}
	s.message = s.on.message(v.Atom)
	m, at := &s.on.messages[s.message], int32(len(j.all))
	switch {
	case !a.by.Possible():
		m.failed = at
	case m.sent >= 0:
		m.again = true
	default:
		m.sent = at
		if a.by.Acknowledged() {
			m.acknowledged = at
		}
	}
	j.sends++
	a.steps = append(a.steps, s)
	return nil
}

func (j *Judge) poll(o *exchange.Operation, a *action, byKey []exchange.Value) error {
	j.polls++
	for i := 0; i+1 < len(byKey); i += 2 {
		values := &byKey[i+1]
		if byKey[i].Form != exchange.Scalar || values.Form != exchange.List {
			return operation.Unfit(o, "a poll such as [:poll {1 [[0 2]]}]")
		}
		on := j.partition(byKey[i].Atom)
		for n := range values.Items {
			offset, value, ok := values.Items[n].Pair()
			if !ok || value.Form != exchange.Scalar || offset.Form != exchange.Scalar || offset.Atom.Kind != exchange.Number {
				return operation.Unfit(o, "a poll such as [:poll {1 [[0 2]]}]")
			}
			s := step{first: n == 0, on: on, offset: offset.Atom.Int, message: on.message(value.Atom)}
			on.messages[s.message].polled = true
			j.polled++
			a.steps = append(a.steps, s)
		}
	}
	return nil
}

// partition returns the log of a key. JSON has the keys of a poll as strings, so
// that a string that is a whole number is taken for that number.
func (j *Judge) partition(key exchange.Atom) *partition {
	if key.Kind == exchange.String {
		if whole, err := exchange.ParseAtom(key.Text); err == nil && whole.Kind == exchange.Number && whole.String() == key.Text {
			key = whole
		}
	}
	p := j.keys[key]
	if p == nil {
		p = &partition{key: key, number: map[exchange.Atom]int32{}, at: map[int64]int32{}}
		j.keys[key] = p
		j.order = append(j.order, p)
	}
	return p
}

func (p *partition) message(value exchange.Atom) int32 {
	n, known := p.number[value]
	if !known {
		n = int32(len(p.messages))
		p.number[value] = n
		p.messages = append(p.messages, message{value: value, sent: -1, failed: -1, acknowledged: -1, offset: noOffset, by: -1})
	}
	return n
}

// Result returns the answer over all operations, unknown if ctx ends first.
func (j *Judge) Result(ctx context.Context) check.Result {
	f := operation.NewFindings(kindLost, kindAborted, kindUnexpected, kindFuture, kindDuplicate, kindOffsets, kindPollBack, kindPollSkip,
		kindInnerPollBack, kindInnerPollSkip, kindSendBack, kindPrecommitted, kindG0, kindG1c, kindG1cRealtime)
	for i := range j.all {
		j.values(int32(i), f)
	}
	unseen := j.lost(f)
	j.positions(f)
	permitted := j.cycles(ctx, f)
	r := f.Result("kafka", fmt.Sprintf("%s to %s, %s of %s; %s acknowledged and behind all that was polled", operation.Plural(j.sends, "send"),
		operation.Plural(len(j.order), "key"), operation.Plural(j.polls, "poll"), operation.Plural(j.polled, "value"), check.CountOrNone(unseen)))
	if len(permitted) > 0 {
		r.Detail += "; allowed, and found: a cycle " + strings.Join(permitted, ", ")
	}
	missing := ""
	if ctx.Err() != nil {
		missing = "the time limit ended before the search for cycles; allow more time, or judge a shorter history"
	}
	r.Finish(missing, j.polled == 0, "nothing was polled, so nothing can be said")
	return r
}

// values judges each value that an action sent or polled, whatever came before.
func (j *Judge) values(i int32, f *operation.Findings) {
	a := &j.all[i]
	for n := range a.steps {
		s := &a.steps[n]
		m := &s.on.messages[s.message]
		if !s.send {
			j.polledValue(a, s, m, f)
		}
		if s.offset == noOffset {
			continue
		}
		other, taken := s.on.at[s.offset]
		if !taken {
			s.on.at[s.offset] = s.message
		} else if other != s.message {
			first := &s.on.messages[other]
			f.Add(kindOffsets, &a.by, "found %s at offset %d of key %s, where %s found %s", m.value, s.offset, s.on.key, &j.all[first.by].by, first.value)
		}
		switch {
		case m.offset == noOffset:
			m.offset, m.by = s.offset, i
		case m.offset != s.offset && !m.again:
			f.Add(kindDuplicate, &a.by, "found %s at offset %d of key %s, and %s found it at offset %d",
				m.value, s.offset, s.on.key, &j.all[m.by].by, m.offset)
		}
	}
}

func (j *Judge) polledValue(a *action, s *step, m *message, f *operation.Findings) {
	own := slices.ContainsFunc(a.steps, func(o step) bool { return o.send && o.on == s.on && o.message == s.message })
	switch {
	case own:
		f.Add(kindPrecommitted, &a.by, "polled %s of key %s, which it had sent itself and not committed", m.value, s.on.key)
	case m.sent < 0 && m.failed >= 0:
		f.Add(kindAborted, &a.by, "polled %s of key %s, but %s, which sent it, failed", m.value, s.on.key, &j.all[m.failed].by)
	case m.sent < 0:
		f.Add(kindUnexpected, &a.by, "polled %s of key %s, which nobody sent", m.value, s.on.key)
	case !m.again && a.by.Complete < j.all[m.sent].by.Invoke:
		f.Add(kindFuture, &a.by, "polled %s of key %s before %s began to send it", m.value, s.on.key, &j.all[m.sent].by)
	}
}

// lost adds the values that were acknowledged and never polled, though what has a
// higher offset was. It returns how many have no higher one that was polled.
func (j *Judge) lost(f *operation.Findings) (unseen int64) {
	for _, p := range j.order {
		highest := int32(-1) // the message with the highest offset that was polled
		for n := range p.messages {
			if m := &p.messages[n]; m.polled && (highest < 0 || m.offset > p.messages[highest].offset) {
				highest = int32(n)
			}
		}
		for n := range p.messages {
			m := &p.messages[n]
			if m.acknowledged < 0 || m.polled {
				continue
			}
			if m.again || highest < 0 || m.offset == noOffset || m.offset > p.messages[highest].offset {
				unseen++
				continue
			}
			last := &p.messages[highest]
			f.Add(kindLost, &j.all[m.acknowledged].by,
				"sent %s to key %s, which was acknowledged with offset %d, but nobody polled it, though %s at offset %d was polled",
				m.value, p.key, m.offset, last.value, last.offset)
		}
	}
	return unseen
}
