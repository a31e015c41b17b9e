package recorded

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/check"
	"assay/check/cycle/acyclic"
)

// client is where one process is in the logs.
type client struct {
	polled, sent map[*partition]position
	assignment   assignment
	before       []saved // the positions that an action is undone to
}

// assignment is how a client was given the logs that it polls.
type assignment uint8

const (
	unassigned assignment = iota
	assigned
	subscribed // by the server, which may take them away and give others at any time
)

// position is the last offset of a log that a client polled or was told, the action in
// which that was, and how the client had been given the log.
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

// positions follows each process through what it polled and sent, in the order of
// its operations.
func (j *journal) positions(f *findings) {
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
		if a.moves != "" {
			c.move(a)
			continue
		}
		c.before = c.before[:0]
		for n := range a.steps {
			if s := &a.steps[n]; s.send {
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

// move keeps the positions in those logs that an assignment covers. One of unknown
// outcome leaves at most these.
func (c *client) move(a *action) {
	switch {
	case a.moves == "crash":
		clear(c.polled)
		clear(c.sent)
		return
	case a.moves != "assign" && a.moves != "subscribe" || !a.by.Possible():
		return
	case a.moves == "subscribe":
		c.assignment = subscribed
	case a.by.Acknowledged():
		c.assignment = assigned
	}
	left := func(p *partition, _ position) bool { return !slices.Contains(a.keys, p) }
	maps.DeleteFunc(c.polled, left)
	maps.DeleteFunc(c.sent, left)
}

// sendStep compares a value with the one that was sent before it to the same log: in the
// same action, or in one that was acknowledged.
func (j *journal) sendStep(c *client, i int32, s *step, f *findings) {
	a, m := &j.all[i], &s.on.messages[s.message]
	offset := s.offset
	if offset == noOffset || !a.committed {
		offset = m.offset // as a poll found it
	}
	if offset == noOffset || m.again || !a.by.Possible() {
		return
	}
	last, known := c.sent[s.on]
	if known && last.offset >= offset && last.in == i {
		f.add(kindInnerSendBack, &a.by, "sent %s to key %s, which got the offset %d, after what it had sent there before got %d",
			m.value, s.on.key, offset, last.offset)
	} else if known && last.offset >= offset && j.all[last.in].by.Acknowledged() {
		f.add(kindSendBack, &a.by, "sent %s to key %s, which got the offset %d, after %s had got %d for what it sent before",
			m.value, s.on.key, offset, &j.all[last.in].by, last.offset)
	}
	c.sent[s.on] = position{offset: offset, in: i}
}

// pollStep compares a value that was polled with the one polled before of the same
// log: it follows it, with nothing between them that is known to be there.
func (j *journal) pollStep(c *client, i int32, s *step, f *findings) {
	last, known := c.polled[s.on]
	c.polled[s.on] = position{s.offset, i, c.assignment}
	inner := known && last.in == i
	if !inner {
		c.before = append(c.before, saved{s.on, last, known})
	}
	// A client that subscribed is taken to where its group is, and so is one that was
	// subscribed before.
	taken := last.by == subscribed || last.by == assigned && c.assignment == subscribed
	if !known || taken && (!inner || s.first) {
		return
	}
	back, skip := kindPollBack, kindPollSkip
	if inner {
		back, skip = kindInnerPollBack, kindInnerPollSkip
	}
	value, before := s.on.messages[s.message].value, &j.all[last.in].by
	if s.offset <= last.offset {
		f.add(back, &j.all[i].by, "polled %s at offset %d of key %s, after %s had polled offset %d", value, s.offset, s.on.key, before, last.offset)
		return
	}
	next, _ := slices.BinarySearch(s.on.offsets, last.offset+1)
	if at := s.on.offsets[next]; at < s.offset {
		f.add(skip, &j.all[i].by, "polled %s at offset %d of key %s, after %s had polled offset %d, and skipped %s at offset %d",
			value, s.offset, s.on.key, before, last.offset, s.on.messages[s.on.at[at]].value, at)
	}
}

// reason is why one action comes before another. Beyond the actions come nodes
// that stand for moments of real time.
type reason struct {
	kind            string // ww, wr, rw or realtime
	on              *partition
	message, before int32 // what was sent or polled, of ww and rw also what stands before it
}

// dependencies are the edges of the graph of actions; the tag of each is its
// reason.
type dependencies struct {
	j       *journal
	nodes   int
	reasons []reason
	ww, wr  []acyclic.Edge
	rw      []acyclic.Edge
	moments []acyclic.Edge
	highest map[*partition]*step // room for the last value of each log that an action polled
}

func (d *dependencies) edge(from, to int32, r reason) acyclic.Edge {
	d.reasons = append(d.reasons, r)
	return acyclic.Edge{From: from, To: to, Tag: int32(len(d.reasons) - 1)}
}

// known reports whether it is certain who sent a message.
func (m *message) known() bool { return m.sent >= 0 && !m.again }

// dependencies needs the offsets of all partitions in order (journal.positions).
//
// An action that polls a log comes before who sent the next value behind the last that it
// polled (rw). A log does not promise that: a poll returns as much of it as it likes.
func (j *journal) dependencies() *dependencies {
	d := &dependencies{j: j, nodes: len(j.all), highest: map[*partition]*step{}}
	for i := range j.all {
		d.addPolls(int32(i))
	}
	for _, p := range j.order {
		last := int32(-1)
		for _, offset := range p.offsets {
			n := p.at[offset]
			if m := &p.messages[n]; !m.known() || m.offset != offset {
				continue
			}
			if last >= 0 && p.messages[last].sent != p.messages[n].sent {
				d.ww = append(d.ww, d.edge(p.messages[last].sent, p.messages[n].sent, reason{kind: "ww", on: p, message: n, before: last}))
			}
			last = n
		}
	}
	d.addMoments()
	return d
}

// addPolls adds why an action that polled comes after some and before others.
func (d *dependencies) addPolls(i int32) {
	a := &d.j.all[i]
	if !a.by.Acknowledged() {
		return
	}
	clear(d.highest)
	for n := range a.steps {
		s := &a.steps[n]
		if s.send {
			continue
		}
		if m := &s.on.messages[s.message]; m.known() && m.sent != i {
			d.wr = append(d.wr, d.edge(m.sent, i, reason{kind: "wr", on: s.on, message: s.message}))
		}
		if before := d.highest[s.on]; before == nil || before.offset < s.offset {
			d.highest[s.on] = s
		}
	}
	for n := range a.steps {
		s := &a.steps[n]
		if d.highest[s.on] != s {
			continue
		}
		next, _ := slices.BinarySearch(s.on.offsets, s.offset+1)
		if next == len(s.on.offsets) {
			continue
		}
		behind := s.on.at[s.on.offsets[next]]
		if m := &s.on.messages[behind]; m.known() && m.sent != i {
			d.rw = append(d.rw, d.edge(i, m.sent, reason{kind: "rw", on: s.on, message: behind, before: s.message}))
		}
	}
}

// addMoments has a node for each acknowledgement, which leads to the next one and
// to what is begun between the two.
func (d *dependencies) addMoments() {
	all, last := d.j.all, int32(-1)
	add := func(from, to int32) {
		if from >= 0 {
			d.moments = append(d.moments, d.edge(from, to, reason{kind: "realtime"}))
		}
	}
	for _, m := range moments(len(all), func(i int) (int64, int64) { return all[i].by.Invoke, all[i].by.Complete }) {
		if !m.ended {
			add(last, m.op)
			continue
		}
		at := int32(d.nodes)
		add(m.op, at)
		add(last, at)
		last = at
		d.nodes++
	}
}

// cycles adds what the log promises not to have, and returns the names of what it
// has and may have.
func (j *journal) cycles(ctx context.Context, f *findings) (permitted []string) {
	d := j.dependencies()
	look := func(kind string, forbidden bool, edges ...[]acyclic.Edge) {
		cycle := acyclic.Cycle(ctx, d.nodes, slices.Concat(edges...))
		if cycle != nil && !forbidden {
			permitted = append(permitted, kind)
		} else if cycle != nil {
			f.addEvidence(kind, func() check.Evidence { return d.evidence(kind, cycle) })
		}
	}
	look(kindG0, j.sendsInOrder, d.ww)
	look(kindG1c, true, d.wr)
	if f.count[kindG1c] == 0 {
		look(kindG1cRealtime, true, d.wr, d.moments)
		if f.count[kindG0] == 0 && len(permitted) == 0 {
			look(kindG1c, j.pollsInOrder, d.ww, d.wr)
		}
	}
	if f.count[kindG0]+f.count[kindG1c] == 0 && len(permitted) == 0 {
		look(kindLogG2, j.pollsComplete, d.ww, d.wr, d.rw)
	}
	return permitted
}

// evidence describes a cycle, without the moments between its actions.
func (d *dependencies) evidence(kind string, cycle []acyclic.Edge) check.Evidence {
	actions := len(d.j.all)
	cycle = slices.DeleteFunc(slices.Clone(cycle), func(e acyclic.Edge) bool { return int(e.From) >= actions })
	earliest := slices.MinFunc(cycle, func(a, b acyclic.Edge) int { return cmp.Compare(d.j.all[a.From].by.Invoke, d.j.all[b.From].by.Invoke) })
	at := slices.Index(cycle, earliest)
	cycle = slices.Concat(cycle[at:], cycle[:at])
	drawn := &check.Cycle{}
	var names, whys []string
	for i, e := range cycle {
		name, next := fmt.Sprintf("T%d", i+1), fmt.Sprintf("T%d", (i+1)%len(cycle)+1)
		by := &d.j.all[e.From].by
		r := d.reasons[e.Tag]
		why := fmt.Sprintf("%s was acknowledged before %s was begun", name, next)
		switch r.kind {
		case "wr":
			why = fmt.Sprintf("%s polled %s of key %s, which %s sent", next, r.on.messages[r.message].value, r.on.key, name)
		case "rw":
			why = fmt.Sprintf("%s polled key %s up to %s, and not %s, which %s sent", name, r.on.key, r.on.messages[r.before].value,
				r.on.messages[r.message].value, next)
		case "ww":
			why = fmt.Sprintf("%s stands behind %s in key %s; %s sent the first and %s the second", r.on.messages[r.message].value,
				r.on.messages[r.before].value, r.on.key, next, name)
		}
		names, whys = append(names, name+" is "+by.String()), append(whys, why)
		drawn.Steps = append(drawn.Steps, check.Step{Name: name, Text: by.String(), Kind: r.kind, Why: why})
	}
	first := &d.j.all[cycle[0].From].by
	e := first.evidence(kind, "")
	e.Text = strings.Join(names, ", ") + "; " + strings.Join(whys, "; ") + ": no order of them exists"
	e.Cycle = drawn
	return e
}
