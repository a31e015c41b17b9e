package logs

import (
	"cmp"
	"slices"

	"assay/check/operation"
)

// client is where one process is in the logs.
type client struct {
	polled, sent map[*partition]position
	// subscribed means that the server may move its positions at any time.
	subscribed bool
}

// position is the last offset of a log that a client polled or was told, and the
// action in which that was.
type position struct {
	offset int64
	in     int32
}

// positions follows each process through what it polled and sent, in the order of
// its operations.
func (j *Judge) positions(f *operation.Findings) {
	for _, p := range j.order {
		for offset := range p.at {
			p.offsets = append(p.offsets, offset)
		}
		slices.Sort(p.offsets)
	}
	order := make([]int32, len(j.all))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(j.all[a].by.Invoke, j.all[b].by.Invoke) })
	clients := map[int64]*client{}
	for _, i := range order {
		a := &j.all[i]
		c := clients[a.by.Process]
		if c == nil {
			c = &client{polled: map[*partition]position{}, sent: map[*partition]position{}}
			clients[a.by.Process] = c
		}
		if a.assigned || a.subscribed {
			c.subscribed = a.subscribed
		}
		if a.reset {
			clear(c.polled)
			continue
		}
		if c.subscribed { // each of its operations may begin anywhere
			clear(c.polled)
		}
		for n := range a.steps {
			if s := &a.steps[n]; s.send {
				j.sendStep(c, i, s, f)
			} else {
				j.pollStep(c, i, s, f)
			}
		}
	}
}

func (j *Judge) sendStep(c *client, i int32, s *step, f *operation.Findings) {
	if s.offset == noOffset {
		return
	}
	if last, any := c.sent[s.on]; any && last.offset >= s.offset && !s.on.messages[s.message].again {
		f.Add(kindSendBack, &j.all[i].by, "sent %s to key %s, which got the offset %d, after %s had got %d for what it sent before",
			s.on.messages[s.message].value, s.on.key, s.offset, &j.all[last.in].by, last.offset)
	}
	c.sent[s.on] = position{s.offset, i}
}

// pollStep compares a value that was polled with the one polled before of the same
// log: it follows it, with nothing between them that is known to be there.
func (j *Judge) pollStep(c *client, i int32, s *step, f *operation.Findings) {
	last, any := c.polled[s.on]
	c.polled[s.on] = position{s.offset, i}
	inner := last.in == i
	if !any || inner && c.subscribed && s.first {
		return
	}
	back, skip := kindPollBack, kindPollSkip
	if inner {
		back, skip = kindInnerPollBack, kindInnerPollSkip
	}
	value, before := s.on.messages[s.message].value, &j.all[last.in].by
	if s.offset <= last.offset {
		f.Add(back, &j.all[i].by, "polled %s at offset %d of key %s, after %s had polled offset %d", value, s.offset, s.on.key, before, last.offset)
		return
	}
	next, _ := slices.BinarySearch(s.on.offsets, last.offset+1)
	if at := s.on.offsets[next]; at < s.offset {
		f.Add(skip, &j.all[i].by, "polled %s at offset %d of key %s, after %s had polled offset %d, and skipped %s at offset %d",
			value, s.offset, s.on.key, before, last.offset, s.on.messages[s.on.at[at]].value, at)
	}
}
