package logs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/check/cycle/acyclic"
	"assay/check/operation"
)

// Promise is what a log promises of transactions that send and poll.
type Promise uint8

const (
	// Polls is Kafka's own: what is polled was committed. A transaction that polls
	// what another sent comes after it, and so does one that is begun when the other
	// is acknowledged: these have no cycle (G1c, G1c-realtime). The sends of
	// transactions may stand in each other's midst.
	Polls Promise = iota
	// Sends promises besides that transactions send one after the other (no G0;
	// Adya's PL-1).
	Sends
	// SendsAndPolls promises besides that sends and polls together have no cycle (no
	// G1c; PL-2).
	SendsAndPolls
)

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
	j       *Judge
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

// dependencies needs the offsets of all partitions in order (Judge.positions).
//
// There are no edges from a poll to who sends what it lacks (rw, and G2): a poll
// returns as much of a log as it likes. jepsen.tests.kafka has none either.
func (j *Judge) dependencies() *dependencies {
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
	invoked := make([]int32, len(d.j.all))
	var completed []int32
	for i := range d.j.all {
		invoked[i] = int32(i)
		if d.j.all[i].by.Acknowledged() {
			completed = append(completed, int32(i))
		}
	}
	all := d.j.all
	slices.SortFunc(invoked, func(a, b int32) int { return cmp.Compare(all[a].by.Invoke, all[b].by.Invoke) })
	slices.SortFunc(completed, func(a, b int32) int { return cmp.Compare(all[a].by.Complete, all[b].by.Complete) })
	add := func(from, to int32) { d.moments = append(d.moments, d.edge(from, to, reason{kind: "realtime"})) }
	first := int32(d.nodes)
	for i, n := range completed {
		at := first + int32(i)
		for ; len(invoked) > 0 && all[invoked[0]].by.Invoke < all[n].by.Complete; invoked = invoked[1:] {
			if i > 0 {
				add(at-1, invoked[0])
			}
		}
		if add(n, at); i > 0 {
			add(at-1, at)
		}
	}
	for _, n := range invoked {
		if len(completed) > 0 {
			add(first+int32(len(completed))-1, n)
		}
	}
	d.nodes += len(completed)
}

// cycles adds what the log promises not to have, and returns the names of what it
// has and may have.
func (j *Judge) cycles(ctx context.Context, f *operation.Findings) (permitted []string) {
	d := j.dependencies()
	look := func(kind string, forbidden bool, edges ...[]acyclic.Edge) {
		cycle := acyclic.Cycle(ctx, d.nodes, slices.Concat(edges...))
		if cycle != nil && !forbidden {
			permitted = append(permitted, kind)
		} else if cycle != nil {
			f.AddEvidence(kind, func() check.Evidence { return d.evidence(kind, cycle) })
		}
	}
	look(kindG0, j.promise >= Sends, d.ww)
	look(kindG1c, true, d.wr)
	if f.Count(kindG1c) == 0 {
		look(kindG1cRealtime, true, d.wr, d.moments)
		if f.Count(kindG0) == 0 && len(permitted) == 0 {
			look(kindG1c, j.promise >= SendsAndPolls, d.ww, d.wr)
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
	e := first.Evidence(kind, "")
	e.Text = strings.Join(names, ", ") + "; " + strings.Join(whys, "; ") + ": no order of them exists"
	e.Cycle = drawn
	return e
}
