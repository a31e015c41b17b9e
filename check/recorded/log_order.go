package recorded

import (
	"cmp"
	"maps"
	"slices"
)

type client struct {
	polled, sent map[*partition]position
	assignment   assignment
	before       []saved // the positions that an action is undone to
}

type assignment uint8

const (
	unassigned assignment = iota
	assigned
	subscribed // by the server, which may take them away and give others at any time
)

// position is a client's last offset of a log, the action that saw it, and how it got the log.
type position struct {
	offset int64
	in     int32
	by     assignment
}

type saved struct {
	on    *partition
	at    position
	known bool
}

// positions follows the polls and sends of each process, in the order of its operations.
func (j *journal) positions(f *findings) {
	for _, p := range j.order {
		p.sortOffsets()
	}
	order := make([]int32, j.all.len)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(j.all.at(a).by.Invoke, j.all.at(b).by.Invoke) })
	clients := map[int64]*client{}
	for _, i := range order {
		a := j.all.at(i)
		c := clients[a.by.Process]
		if c == nil {
			c = &client{polled: map[*partition]position{}, sent: map[*partition]position{}}
			clients[a.by.Process] = c
		}
		if m, moved := j.moves[i]; moved {
			c.move(a, m)
			continue
		}
		c.before = c.before[:0]
		for s := range j.stepsOf(i) {
			if s.send() {
				j.sendStep(c, i, s, f)
			} else {
				j.pollStep(c, i, s, f)
			}
		}
		if !a.by.Acknowledged() { // it polls the same again
			for n := len(c.before) - 1; n >= 0; n-- {
				if b := &c.before[n]; b.known {
					c.polled[b.on] = b.at
				} else {
					delete(c.polled, b.on)
				}
			}
		}
	}
}

func (p *partition) sortOffsets() {
	p.offsets, p.standing = p.at.sorted()
	p.at = wholeNumbers{}
}

// move keeps the positions in the assigned logs; with an unknown outcome, at most these.
func (c *client) move(a *action, m move) {
	switch {
	case m.word == "crash":
		clear(c.polled)
		clear(c.sent)
		return
	case m.word != "assign" && m.word != "subscribe" || !a.by.Possible():
		return
	case m.word == "subscribe":
		c.assignment = subscribed
	case a.by.Acknowledged():
		c.assignment = assigned
	}
	left := func(p *partition, _ position) bool { return !slices.Contains(m.keys, p) }
	maps.DeleteFunc(c.polled, left)
	maps.DeleteFunc(c.sent, left)
}

// sendStep compares a sent value with the previous one, of the same or an acknowledged action.
func (j *journal) sendStep(c *client, i int32, s step, f *findings) {
	m, seen := j.messageOf(s)
	a, offset := j.all.at(i), seen.offset
	if offset == noOffset || !a.committed {
		offset = m.offset // as a poll found it
	}
	if offset == noOffset || m.again || !a.by.Possible() {
		return
	}
	last, known := c.sent[m.on]
	if known && last.offset >= offset && last.in == i {
		f.add(kindInnerSendBack, &a.by, "sent %s to key %s, which got the offset %d, after what it had sent there before got %d",
			m.value, m.on.key, offset, last.offset)
	} else if known && last.offset >= offset && j.all.at(last.in).by.Acknowledged() {
		f.add(kindSendBack, &a.by, "sent %s to key %s, which got the offset %d, after %s had got %d for what it sent before",
			m.value, m.on.key, offset, &j.all.at(last.in).by, last.offset)
	}
	c.sent[m.on] = position{offset: offset, in: i}
}

// pollStep compares a polled value with the previous one, which it must follow without a gap.
func (j *journal) pollStep(c *client, i int32, s step, f *findings) {
	m, seen := j.messageOf(s)
	last, known := c.polled[m.on]
	c.polled[m.on] = position{seen.offset, i, c.assignment}
	inner := known && last.in == i
	if !inner {
		c.before = append(c.before, saved{m.on, last, known})
	}
	// A client that subscribes, or was subscribed before, is moved to its group's position.
	taken := last.by == subscribed || last.by == assigned && c.assignment == subscribed
	if !known || taken && (!inner || s.first()) {
		return
	}
	back, skip := kindPollBack, kindPollSkip
	if inner {
		back, skip = kindInnerPollBack, kindInnerPollSkip
	}
	value, before := m.value, &j.all.at(last.in).by
	if seen.offset <= last.offset {
		f.add(back, &j.all.at(i).by, "polled %s at offset %d of key %s, after %s had polled offset %d", value, seen.offset, m.on.key, before, last.offset)
		return
	}
	next, _ := slices.BinarySearch(m.on.offsets, last.offset+1)
	if at := m.on.offsets[next]; at < seen.offset {
		f.add(skip, &j.all.at(i).by, "polled %s at offset %d of key %s, after %s had polled offset %d, and skipped %s at offset %d",
			value, seen.offset, m.on.key, before, last.offset, j.messages.at(m.on.standing[next]).value, at)
	}
}
