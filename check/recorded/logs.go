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

// The anomalies have their names from jepsen.tests.kafka
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
	kindInnerSendBack = "int-nonmonotonic-send"
	kindPrecommitted  = "precommitted-read"
	kindG0            = "G0"
	kindG1c           = "G1c"
	kindG1cRealtime   = "G1c-realtime"
	kindLogG2         = "G2"
)

const wordPoll = "poll"

// noOffset is the offset of a send that was told none.
const noOffset = -1

// journal judges a log such as Kafka's: clients send values to partitions (keys) and poll them.
type journal struct {
	// Kafka promises only that a polled value was committed. So a transaction follows those
	// whose sends it polls, and those acknowledged before it began: these relations have no cycle
	// (G1c, G1c-realtime). The sends of transactions may interleave. With sendsInOrder they may
	// not (no G0; Adya's PL-1). With pollsInOrder, sends and polls together have no cycle (no
	// G1c; PL-2). With pollsComplete, neither have they with the values that polls lack (no G2;
	// PL-3).
	sendsInOrder, pollsInOrder, pollsComplete bool

	keys      map[exchange.Atom]*partition
	order     []*partition
	all       chunkedList[action] // in the order in which they completed
	steps     chunkedList[step]   // of all actions, those of one after those of another
	messages  chunkedList[message]
	sightings chunkedList[sighting]
	moves     map[int32]move // by action, of those that are no sends or polls

	sends, polls, polled int64
	did                  []step // room for the steps of one action
}

type action struct {
	by Operation
	// end is the number of steps up to its last.
	end int32
	// committed means that its sends are in the logs: acknowledged, or unknown and one was polled.
	committed bool
	// blind means that it polled and has no answer to a poll.
	blind bool
}

// move is an action that may change a client's position, with the keys that it names.
type move struct {
	word string
	keys []*partition
}

type partition struct {
	key      exchange.Atom
	index    int32 // in the journal's order
	number   atomNumbers
	messages []int32         // of the journal's, those of this log
	at       map[int64]int32 // the message first seen at each offset, until all are sorted
	offsets  []int64         // of at, ascending, once all was read
	standing []int32         // the message at each of the offsets
}

// message is one value of a log. sent and failed are actions in journal.all, or -1.
type message struct {
	value        exchange.Atom
	on           *partition
	sent, failed int32
	offset, last int64 // the first that was seen, and the highest
	by           int32 // the action that told it
	seen         int32 // the sighting that came last, or -1
	polled, read bool  // by anybody, and by an action that was acknowledged
	again        bool  // it was sent more than once
}

// newLog judges :send, :poll and :txn of [[:send k v] [:poll]], answered with
// [[:send k [offset v]] [:poll {k [[offset v] ...]}]]; :assign and :subscribe of a list of keys;
// :crash.
func newLog(_, model string) *judge {
	j := &journal{keys: map[exchange.Atom]*partition{}, moves: map[int32]move{}, pollsComplete: model == string(cycle.Serializable)}
	j.pollsInOrder = j.pollsComplete || model == string(cycle.ReadCommitted)
	j.sendsInOrder = j.pollsInOrder || model == string(cycle.ReadUncommitted)
	return &judge{functions: []function{
		{word: "send", take: j.act}, {word: wordPoll, take: j.act}, {word: "txn", take: j.act},
		{word: "assign", take: j.move}, {word: "subscribe", take: j.move}, {word: "crash", take: j.move},
		{word: "debug-topic-partitions", take: j.move, hidden: true},
	}, result: j.result}
}

func (j *journal) move(o *exchange.Operation, by Operation) error {
	m := move{word: o.Word}
	if at := answerOrRequest(o); at.Form == exchange.List || at.Form == exchange.Set {
		for i := range at.Items {
			if at.Items[i].Form != exchange.Scalar {
				return unfit("a list of keys")
			}
			m.keys = append(m.keys, j.partition(at.Items[i].Atom))
		}
	}
	j.moves[j.all.len] = m
	j.all.add(action{by: by, end: j.steps.len})
	return nil
}

// answerOrRequest returns what an operation did according to its completion, or else its request.
// The answers inside a failed transaction count too: no client may be given an uncommitted
// value, and an offset once given belongs to no other value.
func answerOrRequest(o *exchange.Operation) *exchange.Value {
	if o.Told.Form == exchange.List || o.Told.Form == exchange.Set {
		return &o.Told
	}
	return value(o)
}

func (j *journal) act(o *exchange.Operation, by Operation) error {
	did := answerOrRequest(o)
	if did.Form != exchange.List {
		return unfit("steps such as [[:send 1 2] [:poll]]")
	}
	j.did = j.did[:0]
	blind := false
	for i := range did.Items {
		v := &did.Items[i]
		if err := j.step(&by, v); err != nil {
			return err
		}
		blind = blind || v.Items[0].Word() == wordPoll && (len(v.Items) == 1 || v.Items[1].IsNil())
	}
	for _, s := range j.did {
		j.steps.add(s)
	}
	j.all.add(action{by: by, end: j.steps.len, blind: blind})
	return nil
}

func (j *journal) step(by *Operation, v *exchange.Value) error {
	if v.Form != exchange.List || len(v.Items) == 0 {
		return unfit("steps such as [:send 1 2] or [:poll]")
	}
	switch v.Items[0].Word() {
	case "send":
		if len(v.Items) != 3 || v.Items[1].Form != exchange.Scalar {
			return unfit("a send such as [:send 1 2], answered with [:send 1 [0 2]]")
		}
		return j.send(by, v.Items[1].Atom, &v.Items[2])
	case wordPoll:
		if len(v.Items) == 1 || v.Items[1].IsNil() {
			return nil
		}
		return j.poll(by, &v.Items[1])
	}
	return unfit("steps such as [:send 1 2] or [:poll]")
}

func (j *journal) send(by *Operation, key exchange.Atom, v *exchange.Value) (err error) {
	on, at := j.partition(key), int64(noOffset)
	if offset, value, ok := v.Pair(); ok {
		if !offset.IsNil() {
			if at, err = number(offset, "an offset that is a whole number"); err != nil {
				return err
			}
			if at < noOffset { // Kafka tells -1 where it has none
				return unfit("an offset that is not negative")
			}
		}
		v = value
	}
	if v.Form != exchange.Scalar {
		return unfit("a value that is a number, a word or a text")
	}
	n := j.message(on, v.Atom)
	switch m := j.messages.at(n); {
	case !by.Possible():
		m.failed = j.all.len
	case m.sent >= 0:
		m.again = true
	default:
		m.sent = j.all.len
	}
	j.sends++
	j.did = append(j.did, newStep(j.sighting(n, at), true, false))
	return nil
}

func (j *journal) poll(by *Operation, answer *exchange.Value) error {
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
			if offset < 0 {
				return unfit("polled offsets that are not negative")
			}
			id := j.message(on, value.Atom)
			m := j.messages.at(id)
			m.polled, m.read = true, m.read || by.Acknowledged()
			j.polled++
			j.did = append(j.did, newStep(j.sighting(id, offset), false, n == 0))
		}
	}
	return nil
}

// partition returns the log of a key, which JSON has as a string in polls.
func (j *journal) partition(key exchange.Atom) *partition {
	key = key.Whole()
	p := j.keys[key]
	if p == nil {
		p = &partition{key: key, number: newAtomNumbers(), at: map[int64]int32{}, index: int32(len(j.order))}
		j.keys[key] = p
		j.order = append(j.order, p)
	}
	return p
}

func (j *journal) message(on *partition, value exchange.Atom) int32 {
	n, known := on.number.numberOf(value)
	if !known {
		n = j.messages.len
		on.number.set(value, n)
		on.messages = append(on.messages, n)
		j.messages.add(message{value: value, on: on, sent: -1, failed: -1, offset: noOffset, last: noOffset, by: -1, seen: -1})
	}
	return n
}

func (j *journal) result(ctx context.Context) check.Result {
	f := newFindings(kindLostWrite, kindAborted, kindUnexpected, kindFuture, kindDuplicate, kindOffsets, kindPollBack, kindPollSkip,
		kindInnerPollBack, kindInnerPollSkip, kindSendBack, kindInnerSendBack, kindPrecommitted, kindG0, kindG1c, kindG1cRealtime, kindLogG2)
	for i := range j.all.len {
		j.all.at(i).committed = j.provenCommitted(i)
		j.values(i, f)
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
