package recorded

import "iter"

// step is one send, or one value of one poll: its sighting, and in the lowest bits whether it is a
// send and whether it is the first value of its key in its poll. A long history has millions of
// steps, and few sightings.
type step uint32

const (
	sendBit step = 1 << iota
	firstBit
	stepBits = iota
)

func newStep(sighting int32, send, first bool) step {
	s := step(sighting) << stepBits
	if send {
		s |= sendBit
	}
	if first {
		s |= firstBit
	}
	return s
}

func (s step) send() bool      { return s&sendBit != 0 }
func (s step) first() bool     { return s&firstBit != 0 }
func (s step) sighting() int32 { return int32(s >> stepBits) }

type sighting struct {
	offset  int64
	message int32
	before  int32 // the sighting of the same message before it, or -1
	// standing is the message first seen at the offset; -1 until that is known.
	standing int32
}

// fewSightings bounds the sightings of a message that a new one is compared with. A message has
// one, unless its log is broken. Beyond the bound a sighting may be stored twice, which only costs
// memory.
const fewSightings = 8

func (j *journal) sighting(message int32, offset int64) int32 {
	m := j.messages.at(message)
	at := m.seen
	for range fewSightings {
		if at < 0 {
			break
		}
		seen := j.sightings.at(at)
		if seen.offset == offset {
			return at
		}
		at = seen.before
	}
	at = j.sightings.len
	j.sightings.add(sighting{offset: offset, message: message, before: m.seen, standing: -1})
	m.seen = at
	return at
}

func (j *journal) stepsOf(action int32) iter.Seq[step] {
	from := int32(0)
	if action > 0 {
		from = j.all.at(action - 1).end
	}
	to := j.all.at(action).end
	return func(yield func(step) bool) {
		for n := from; n < to && yield(*j.steps.at(n)); n++ {
		}
	}
}

func (j *journal) messageOf(s step) (*message, *sighting) {
	seen := j.sightings.at(s.sighting())
	return j.messages.at(seen.message), seen
}
