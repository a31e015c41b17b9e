package recorded

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/check/cycle"
	"assay/history/exchange"
)

// The anomalies and their names are those of jepsen.tests.kafka
// (https://jepsen-io.github.io/jepsen/jepsen.tests.kafka.html).
const (
	kindLostWrite     = "lost-write"
	kindAborted       = "G1a"
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

// journal judges a log such as Kafka's: clients send values to keys (partitions), where
// each gets an offset, and poll them.
type journal struct {
	// Kafka's own promise is that what is polled was committed. A transaction that polls
	// what another sent comes after it, and so does one that is begun when the other
	// is acknowledged: these have no cycle (G1c, G1c-realtime). The sends of
	// transactions may stand in each other's midst, unless sendsInOrder says that
	// they come one after the other (no G0; Adya's PL-1). By pollsInOrder, sends and polls together have no
	// cycle (no G1c; PL-2).
	sendsInOrder, pollsInOrder bool

	keys  map[exchange.Atom]*partition
	order []*partition
	all   []action // in the order in which they completed

	sends, polls, polled int64
}

// action is one operation of a client.
type action struct {
	by    Operation
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

// message is one value of a log. sent and failed are actions into journal.all, or -1.
type message struct {
	value        exchange.Atom
	sent, failed int32
	acknowledged int32 // an action, or -1
	offset       int64 // the first that was seen
	by           int32 // the action that told it
	polled       bool
	again        bool // it was sent more than once
}

// newLog judges :send, :poll and :txn of [[:send k v] [:poll]], answered with
// [[:send k [offset v]] [:poll {k [[offset v] ...]}]]; :assign and :subscribe of a list
// of keys; :crash.
func newLog(_, model string) *judge {
	j := &journal{keys: map[exchange.Atom]*partition{}, pollsInOrder: model == string(cycle.ReadCommitted)}
	j.sendsInOrder = j.pollsInOrder || model == string(cycle.ReadUncommitted)
	return &judge{[]function{
		{word: "send", take: j.steps}, {word: "poll", take: j.steps}, {word: "txn", take: j.steps},
		{word: "assign", take: j.move}, {word: "subscribe", take: j.move}, {word: "crash", take: j.move},
		{word: "debug-topic-partitions", take: j.move, hidden: true},
	}, j.result}
}

// move takes what leaves a client at another position.
func (j *journal) move(o *exchange.Operation, by Operation) error {
	a := action{by: by, reset: true, assigned: o.Word == "assign" && by.Acknowledged()}
	a.subscribed = o.Word == "subscribe" || o.Word == "assign" && !a.assigned
	j.all = append(j.all, a)
	return nil
}

// steps takes what sends and polls.
func (j *journal) steps(o *exchange.Operation, by Operation) error {
	a, did := action{by: by, reset: !by.Acknowledged()}, value(o)
	if did.Form != exchange.List {
		return unfit("steps such as [[:send 1 2] [:poll]]")
	}
	for i := range did.Items {
		if err := j.step(&a, &did.Items[i]); err != nil {
			return err
		}
	}
	j.all = append(j.all, a)
	return nil
}

func (j *journal) step(a *action, v *exchange.Value) error {
	if v.Form != exchange.List || len(v.Items) == 0 {
		return unfit("steps such as [:send 1 2] or [:poll]")
	}
	switch v.Items[0].Word() {
	case "send":
		if len(v.Items) != 3 || v.Items[1].Form != exchange.Scalar {
			return unfit("a send such as [:send 1 2], answered with [:send 1 [0 2]]")
		}
		return j.send(a, v.Items[1].Atom, &v.Items[2])
	case "poll":
		if len(v.Items) == 1 || v.Items[1].IsNil() || !a.by.Acknowledged() {
			return nil
		}
		return j.poll(a, &v.Items[1])
	}
	return unfit("steps such as [:send 1 2] or [:poll]")
}

func (j *journal) send(a *action, key exchange.Atom, v *exchange.Value) (err error) {
	s := step{send: true, on: j.partition(key), offset: noOffset}
	if offset, value, ok := v.Pair(); ok {
		if !offset.IsNil() {
			if s.offset, err = number(offset, "an offset that is a whole number"); err != nil {
				return err
			}
		}
		v = value
	}
	if v.Form != exchange.Scalar {
		return unfit("a value that is a number, a word or a text")
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

func (j *journal) poll(a *action, answer *exchange.Value) error {
	const want unfit = "a poll such as [:poll {1 [[0 2]]}]"
	if answer.Form != exchange.Map {
		return want
	}
	j.polls++
	for pair := range slices.Chunk(answer.Items, 2) {
		if len(pair) < 2 || pair[0].Form != exchange.Scalar || pair[1].Form != exchange.List {
			return want
		}
		on := j.partition(pair[0].Atom)
		for n := range pair[1].Items {
			at, value, ok := pair[1].Items[n].Pair()
			if !ok || value.Form != exchange.Scalar {
				return want
			}
			offset, err := number(at, want)
			if err != nil {
				return err
			}
			s := step{first: n == 0, on: on, offset: offset, message: on.message(value.Atom)}
			on.messages[s.message].polled = true
			j.polled++
			a.steps = append(a.steps, s)
		}
	}
	return nil
}

// partition returns the log of a key. JSON has the keys of a poll as strings, so
// that a string that is a whole number is taken for that number.
func (j *journal) partition(key exchange.Atom) *partition {
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

func (j *journal) result(ctx context.Context) check.Result {
	f := newFindings(kindLostWrite, kindAborted, kindUnexpected, kindFuture, kindDuplicate, kindOffsets, kindPollBack, kindPollSkip,
		kindInnerPollBack, kindInnerPollSkip, kindSendBack, kindPrecommitted, kindG0, kindG1c, kindG1cRealtime)
	for i := range j.all {
		j.values(int32(i), f)
	}
	unseen := j.lost(f)
	j.positions(f)
	permitted := j.cycles(ctx, f)
	detail := fmt.Sprintf("%s to %s, %s of %s; %s acknowledged and behind all that was polled", plural(j.sends, "send"),
		plural(len(j.order), "key"), plural(j.polls, "poll"), plural(j.polled, "value"), check.CountOrNone(unseen)) + f.summary()
	if len(permitted) > 0 {
		detail += "; allowed, and found: a cycle " + strings.Join(permitted, ", ")
	}
	missing := ""
	if ctx.Err() != nil {
		missing = "the time limit ended before the search for cycles; allow more time, or judge a shorter history"
	}
	return f.resultAs("kafka", detail, missing, j.polled == 0, "nothing was polled, so nothing can be said")
}

// values judges each value that an action sent or polled, whatever came before.
func (j *journal) values(i int32, f *findings) {
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
			f.add(kindOffsets, &a.by, "found %s at offset %d of key %s, where %s found %s", m.value, s.offset, s.on.key, &j.all[first.by].by, first.value)
		}
		switch {
		case m.offset == noOffset:
			m.offset, m.by = s.offset, i
		case m.offset != s.offset && !m.again:
			f.add(kindDuplicate, &a.by, "found %s at offset %d of key %s, and %s found it at offset %d",
				m.value, s.offset, s.on.key, &j.all[m.by].by, m.offset)
		}
	}
}

func (j *journal) polledValue(a *action, s *step, m *message, f *findings) {
	own := slices.ContainsFunc(a.steps, func(o step) bool { return o.send && o.on == s.on && o.message == s.message })
	switch {
	case own:
		f.add(kindPrecommitted, &a.by, "polled %s of key %s, which it had sent itself and not committed", m.value, s.on.key)
	case m.sent < 0 && m.failed >= 0:
		f.add(kindAborted, &a.by, "polled %s of key %s, but %s, which sent it, failed", m.value, s.on.key, &j.all[m.failed].by)
	case m.sent < 0:
		f.add(kindUnexpected, &a.by, "polled %s of key %s, which nobody sent", m.value, s.on.key)
	case !m.again && a.by.Complete < j.all[m.sent].by.Invoke:
		f.add(kindFuture, &a.by, "polled %s of key %s before %s began to send it", m.value, s.on.key, &j.all[m.sent].by)
	}
}

// lost adds the values that were acknowledged and never polled, though what has a
// higher offset was. It returns how many have no higher one that was polled.
func (j *journal) lost(f *findings) (unseen int64) {
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
			f.add(kindLostWrite, &j.all[m.acknowledged].by,
				"sent %s to key %s, which was acknowledged with offset %d, but nobody polled it, though %s at offset %d was polled",
				m.value, p.key, m.offset, last.value, last.offset)
		}
	}
	return unseen
}
