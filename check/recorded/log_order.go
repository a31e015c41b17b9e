package recorded

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/check/cycle/acyclic"
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

func (j *journal) sendStep(c *client, i int32, s *step, f *findings) {
	if s.offset == noOffset {
		return
	}
	if last, any := c.sent[s.on]; any && last.offset >= s.offset && !s.on.messages[s.message].again {
		f.add(kindSendBack, &j.all[i].by, "sent %s to key %s, which got the offset %d, after %s had got %d for what it sent before",
			s.on.messages[s.message].value, s.on.key, s.offset, &j.all[last.in].by, last.offset)
	}
	c.sent[s.on] = position{s.offset, i}
}

// pollStep compares a value that was polled with the one polled before of the same
// log: it follows it, with nothing between them that is known to be there.
func (j *journal) pollStep(c *client, i int32, s *step, f *findings) {
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
	kind            string // ww, wr or realtime
	on              *partition
	message, before int32 // what was sent or polled, of ww also what stands before it
}

// dependencies are the edges of the graph of actions; the tag of each is its
// reason.
type dependencies struct {
	j       *journal
	nodes   int
	reasons []reason
	ww, wr  []acyclic.Edge
	moments []acyclic.Edge
}

func (d *dependencies) edge(from, to int32, r reason) acyclic.Edge {
	d.reasons = append(d.reasons, r)
	return acyclic.Edge{From: from, To: to, Tag: int32(len(d.reasons) - 1)}
}

// known reports whether it is certain who sent a message.
func (m *message) known() bool { return m.sent >= 0 && !m.again }

// dependencies needs the offsets of all partitions in order (journal.positions).
//
// There are no edges from a poll to who sends what it lacks (rw, and G2): a poll
// returns as much of a log as it likes. jepsen.tests.kafka has none either.
func (j *journal) dependencies() *dependencies {
	d := &dependencies{j: j, nodes: len(j.all)}
	for i := range j.all {
		for n := range j.all[i].steps {
			s := &j.all[i].steps[n]
			if m := &s.on.messages[s.message]; !s.send && m.known() && m.sent != int32(i) {
				d.wr = append(d.wr, d.edge(m.sent, int32(i), reason{kind: "wr", on: s.on, message: s.message}))
			}
		}
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
