package postgres

import (
	"fmt"
	"slices"
	"testing"

	"assay/internal/expect"
)

func TestPostgresSetAsynchronous(t *testing.T) {
	s, events := startSet(t, SetOptions{Asynchronous: true})
	table(t, s)
	expect.NoError(t, s.Settled(bounded(t)))
	if got := query(t, connect(t, s.nodes[0].Server), "SHOW synchronous_standby_names"); got != "" {
		t.Errorf("commits wait for %s", got)
	}
	// n2 misses rows that n3 has, and n3 one that n1 has. n3 is silent when n1
	// is lost, so n2 is promoted, and both lose what they had beyond it.
	kept := startWriter(t, s, 0)
	kept.more(t)
	kept.end()
	expect.NoError(t, s.Settled(bounded(t)))
	expect.NoError(t, s.Node(1).Stop(t.Context()))
	lost := startWriter(t, s, 1_000_000)
	lost.more(t)
	lost.end()
	awaitRow(t, connect(t, s.nodes[2].Server), "SELECT count(*)::text FROM seen", fmt.Sprint(kept.count()+lost.count()))
	expect.NoError(t, s.Node(2).Pause())
	execute(t, connect(t, s.nodes[0].Server), "INSERT INTO seen VALUES (-1)")
	expect.NoError(t, s.Node(0).Kill())
	expect.NoError(t, s.Restart(bounded(t), 1))
	events.await(t, "n2 is promoted", "commits that it had not received are lost")
	later := startWriter(t, s, 2_000_000)
	later.more(t)
	expect.NoError(t, s.Node(2).Resume())
	events.await(t, "n3 has what is not part of the database")
	events.await(t, "n3 is rewound to n2")
	expect.NoError(t, s.Restart(bounded(t), 0))
	later.end()
	checkRows(t, s, kept, later)
	rows := seenBy(t, s, 1)
	for _, n := range append(lost.acknowledged, -1) {
		if slices.Contains(rows, n) {
			t.Errorf("row %d is there, which the promoted standby never had", n)
		}
	}

	// The next promotion is interrupted, and the third node goes on: two nodes may
	// then have used the same timeline for different things.
	events.forget()
	best := interruptPromotion(t, s, 1)
	events.await(t, "is promoted and takes writes")
	last := startWriter(t, s, 3_000_000)
	last.more(t)
	for _, i := range []int{best, 1} {
		expect.NoError(t, s.Restart(bounded(t), i))
	}
	last.end()
	checkRows(t, s, kept, later, last)
	for i := range s.Nodes() {
		if !s.Node(i).Running() {
			t.Errorf("%s does not run in the end", s.nodeName(i))
		}
	}
}
