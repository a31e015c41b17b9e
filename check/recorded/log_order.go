package recorded

import (
	"cmp"
	"maps"
	"slices"
)

type client struct {
	polled, sent map[*partition]position
	assignment   assignment
	// before and sentBefore are the positions that an action is undone to.
	before, sentBefore []saved
	// unsure counts the polls of unknown outcome without an answer. They may have polled anything.
	unsure int32
}

type assignment uint8

const (
	unassigned assignment = iota
	assigned
	subscribed // by the server, which may take them away and give others at any time
)

// position is a client's last offset of a log, the action that saw it, and how it got the log. Later
// polls of unknown outcome may have moved the client as far as reach. unsure is the client's count
// of them at that time.
type position struct {
	offset, reach int64
	in            int32
	unsure        int32
	by            assignment
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
		c.before, c.sentBefore = c.before[:0], c.sentBefore[:0]
		for s := range j.stepsOf(i) {
			if s.send() {
				j.sendStep(c, i, s, f)
			} else {
				j.pollStep(c, i, s, f)
			}
		}
		if !a.by.Acknowledged() {
			c.undo(a)
		}
	}
}

// undo takes a client back to where it was before an action that was not acknowledged: it polls the
// same again. If the outcome is unknown, it may also go on from where the action got.
func (c *client) undo(a *action) {
	for n := len(c.before) - 1; n >= 0; n-- {
		b, got := &c.before[n], c.polled[c.before[n].on]
		if !b.known {
			delete(c.polled, b.on)
			continue
		}
		if a.by.Possible() {
			b.at.reach = max(b.at.reach, got.reach)
		}
		c.polled[b.on] = b.at
	}
	for n := len(c.sentBefore) - 1; n >= 0; n-- {
		if b := &c.sentBefore[n]; b.known {
			c.sent[b.on] = b.at
		} else {
			delete(c.sent, b.on)
		}
	}
	if a.by.Possible() && a.blind {
		c.unsure++
	}
}

func (p *partition) sortOffsets() {
	p.offsets = slices.Sorted(maps.Keys(p.at))
	p.standing = make([]int32, len(p.offsets))
	for i, offset := range p.offsets {
		p.standing[i] = p.at[offset]
	}
	p.at = nil
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

// sendStep compares a sent value with the previous one, of the same or an acknowledged action. A send
// of unknown outcome may get its place late, after those that follow it.
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
	if last.in != i || !known {
		c.sentBefore = append(c.sentBefore, saved{m.on, last, known})
	}
	if known && last.offset >= offset && last.in == i {
		f.add(kindInnerSendBack, &a.by, "sent %s to key %s, which got the offset %d, after what it had sent there before got %d",
			m.value, m.on.key, offset, last.offset)
	} else if known && last.offset >= offset {
		f.add(kindSendBack, &a.by, "sent %s to key %s, which got the offset %d, after %s had got %d for what it sent before",
			m.value, m.on.key, offset, &j.all.at(last.in).by, last.offset)
	}
	c.sent[m.on] = position{offset: offset, in: i}
}

// pollStep compares a polled value with the previous one, which it must follow without a gap.
func (j *journal) pollStep(c *client, i int32, s step, f *findings) {
	m, seen := j.messageOf(s)
	last, known := c.polled[m.on]
	c.polled[m.on] = position{offset: seen.offset, reach: seen.offset, in: i, unsure: c.unsure, by: c.assignment}
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
	if last.unsure != c.unsure {
		return
	}
	next, _ := slices.BinarySearch(m.on.offsets, last.reach+1)
	if next == len(m.on.offsets) {
		return
	}
	if at := m.on.offsets[next]; at < seen.offset {
		f.add(skip, &j.all.at(i).by, "polled %s at offset %d of key %s, after %s had polled offset %d, and skipped %s at offset %d",
			value, seen.offset, m.on.key, before, last.offset, j.messages.at(m.on.standing[next]).value, at)
	}
}
