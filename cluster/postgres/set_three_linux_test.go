package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/expect"
)

// scenario is a test of a settled set of three whose primary is first. writes
// are going on.
type scenario func(t *testing.T, s *Set, events *announced, w *writer, first int)

// TestPostgresSetOfThree has one set go through all that can befall three nodes.
// Each time no acknowledged row may be lost, and all nodes must hold the same in
// the end.
func TestPostgresSetOfThree(t *testing.T) {
	s, events := startSet(t, SetOptions{})
	table(t, s)
	if got := query(t, connect(t, s.nodes[0].Server), "SHOW synchronous_standby_names"); got != `ANY 1 ("n2", "n3")` {
		t.Errorf("commits wait for %s", got)
	}
	if i := primaryOf(t, s); i != 0 || len(s.Nodes()) != 3 {
		t.Errorf("primary %d of %d", i, len(s.Nodes()))
	}
	for i, step := range []struct {
		name string
		run  scenario
	}{
		{"primary killed", primaryKilled},
		{"primary paused", primaryPaused},
		{"primary stopped", primaryStopped},
		{"standby silent", standbySilent},
		{"primary and standby killed", noCertainty},
		{"both standbys killed", bothStandbysKilled},
		{"all killed, primary back first", allKilledPrimaryFirst},
		{"all killed, primary back last", allKilledPrimaryLast},
		{"cannot be rewound", cannotBeRewound},
		{"promotion interrupted", promotionInterrupted},
		{"away for too long", awayForTooLong},
	} {
		ok := t.Run(step.name, func(t *testing.T) {
			events.forget()
			w := startWriter(t, s, i*1_000_000)
			w.more(t)
			step.run(t, s, events, w, primaryOf(t, s))
			w.more(t)
			w.end()
			checkRows(t, s, w)
			for i := range s.Nodes() {
				if !s.Node(i).Running() {
					t.Errorf("%s does not run in the end", s.nodeName(i))
				}
			}
		})
		if !ok {
			return // what comes next starts from a sound set
		}
	}
}

// standbysOf are the two other nodes.
func standbysOf(primary int) (int, int) { return (primary + 1) % 3, (primary + 2) % 3 }

func primaryKilled(t *testing.T, s *Set, events *announced, w *writer, first int) {
	expect.NoError(t, s.Node(first).Kill())
	events.await(t, s.nodeName(first)+" does not answer for 4s: it is gone")
	next := primaryOf(t, s)
	if next == first {
		t.Fatal("the killed primary is the primary")
	}
	events.await(t, s.nodeName(next)+" is promoted and takes writes", "commits wait for "+s.nodeName(3-first-next))
	w.more(t)
	expect.NoError(t, s.Restart(bounded(t), first))
	events.await(t, s.nodeName(first)+" is rewound")
	if got := query(t, connect(t, s.nodes[first].Server), "SELECT pg_is_in_recovery()::text"); got != "true" {
		t.Error("the old primary is one again")
	}
}

func primaryPaused(t *testing.T, s *Set, events *announced, w *writer, first int) {
	old := s.Node(first).PID()
	expect.NoError(t, s.Node(first).Pause())
	events.await(t, s.nodeName(first)+" does not answer", "its processes are killed")
	if !gone(old) || s.Node(first).Running() {
		t.Error("the fenced primary is still there")
	}
	if err := s.Node(first).Resume(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Resume of a fenced node: %v", err)
	}
	events.await(t, "is promoted")
	w.more(t)
	expect.NoError(t, s.Restart(bounded(t), first))
}

func primaryStopped(t *testing.T, s *Set, events *announced, w *writer, first int) {
	expect.NoError(t, s.Node(first).Stop(t.Context()))
	events.await(t, "is promoted")
	w.more(t)
	expect.NoError(t, s.Restart(bounded(t), first))
}

func standbySilent(t *testing.T, s *Set, events *announced, w *writer, first int) {
	next, away := standbysOf(first)
	expect.NoError(t, s.Node(away).Pause()) // silent, and not gone
	events.await(t, s.nodeName(away)+" has not streamed", "commits wait for "+s.nodeName(next))
	w.more(t)
	expect.NoError(t, s.Node(first).Kill())
	events.await(t, s.nodeName(next)+" is promoted", "wait for nobody")
	w.more(t)
	expect.NoError(t, s.Node(away).Resume()) // it follows the new primary by itself
	expect.NoError(t, s.Settled(bounded(t)))
	expect.NoError(t, s.Restart(bounded(t), first))
}

func noCertainty(t *testing.T, s *Set, events *announced, w *writer, first int) {
	_, away := standbysOf(first)
	expect.NoError(t, s.Node(away).Kill())
	expect.NoError(t, s.Node(first).Kill()) // before the other is missed
	events.await(t, "nobody is promoted: "+s.nodeName(away)+" is down: the last commits may be only there and on "+s.nodeName(first))
	expect.NoError(t, s.Restart(bounded(t), away))
	events.await(t, "is promoted")
	w.more(t)
	expect.NoError(t, s.Restart(bounded(t), first))
}

func bothStandbysKilled(t *testing.T, s *Set, events *announced, w *writer, first int) {
	one, other := standbysOf(first)
	expect.NoError(t, s.Node(one).Kill())
	expect.NoError(t, s.Node(other).Kill())
	events.await(t, "commits wait for nobody, since no standby is left")
	w.more(t)
	for _, i := range []int{one, other} {
		expect.NoError(t, s.Restart(bounded(t), i))
	}
	expect.NoError(t, s.Settled(bounded(t)))
	want := s.names([]int{one, other})
	if got := query(t, connect(t, s.nodes[first].Server), "SHOW synchronous_standby_names"); got != want {
		t.Errorf("commits wait for %s, want %s", got, want)
	}
}

func killAll(t *testing.T, s *Set, events *announced, first int) {
	t.Helper()
	for i := range s.Nodes() {
		expect.NoError(t, s.Node(i).Kill())
	}
	events.await(t, "nobody is promoted: ", "bring back "+s.nodeName(first)+", or all of these")
}

func allKilledPrimaryFirst(t *testing.T, s *Set, events *announced, _ *writer, first int) {
	killAll(t, s, events, first)
	one, other := standbysOf(first)
	for _, i := range []int{first, one, other} {
		expect.NoError(t, s.Restart(bounded(t), i))
	}
	if primaryOf(t, s) != first || !events.has(s.nodeName(first)+" is back, and is the primary again") {
		t.Error("the last primary is not the primary again")
	}
}

func allKilledPrimaryLast(t *testing.T, s *Set, events *announced, _ *writer, first int) {
	killAll(t, s, events, first)
	one, other := standbysOf(first)
	for _, i := range []int{one, other, first} {
		expect.NoError(t, s.Restart(bounded(t), i))
	}
	events.await(t, "is promoted")
	if primaryOf(t, s) == first {
		t.Error("the last primary is the primary though a standby was promoted")
	}
}

// interruptPromotion kills the primary, and its successor between the decision
// and the promotion. It returns the successor. What takes too long is tried again, as
// the set itself does it.
func interruptPromotion(t *testing.T, s *Set, first int) (best int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	expect.NoError(t, s.fence())
	s.lost = true
	var why string
	eventually(t, "another node is appointed", func() bool {
		frozen, silent := s.freezeCandidates(t.Context())
		best, why = s.choose(frozen, silent)
		return why == "" && s.appoint(t.Context(), best, frozen)
	})
	if best == first {
		t.Fatalf("%s is appointed, which was lost", s.nodeName(best))
	}
	expect.NoError(t, s.Node(best).Kill())
	return best
}

func promotionInterrupted(t *testing.T, s *Set, events *announced, w *writer, first int) {
	best := interruptPromotion(t, s, first)
	events.await(t, "nobody is promoted: only "+s.nodeName(best)+" is certain")
	expect.NoError(t, s.Restart(bounded(t), best))
	events.await(t, s.nodeName(best)+" is promoted")
	w.more(t)
	expect.NoError(t, s.Restart(bounded(t), first))
}

// cannotBeRewound has the programs of one node lack pg_rewind.
func cannotBeRewound(t *testing.T, s *Set, events *announced, w *writer, first int) {
	whole, without := s.nodes[first].programs, t.TempDir()
	expect.NoError(t, os.Chmod(filepath.Dir(without), 0o755))
	expect.NoError(t, os.Chmod(without, 0o755))
	for _, name := range []string{"postgres", "pg_basebackup"} {
		expect.NoError(t, os.Symlink(filepath.Join(whole, name), filepath.Join(without, name)))
	}
	expect.NoError(t, s.Node(first).Kill())
	events.await(t, "is promoted")
	w.more(t)
	s.nodes[first].programs = without
	expect.NoError(t, s.Restart(bounded(t), first))
	events.await(t, s.nodeName(first)+" cannot be rewound, and is copied anew")
	s.nodes[first].programs = whole
}

// awayForTooLong has the primary throw away log that a standby needs.
func awayForTooLong(t *testing.T, s *Set, events *announced, w *writer, first int) {
	_, away := standbysOf(first)
	expect.NoError(t, s.Node(away).Kill())
	conn := connect(t, s.nodes[first].Server)
	execute(t, conn, "ALTER SYSTEM SET wal_keep_size = 0")
	execute(t, conn, "SELECT pg_reload_conf()")
	for range 3 {
		w.more(t)
		execute(t, conn, "SELECT pg_switch_wal()")
		execute(t, conn, "CHECKPOINT")
	}
	execute(t, conn, "ALTER SYSTEM SET wal_keep_size = '"+walKeepSize+"'")
	execute(t, conn, "SELECT pg_reload_conf()")
	expect.NoError(t, s.Restart(bounded(t), away))
	events.await(t, s.nodeName(away)+" was away for too long")
	events.await(t, s.nodeName(away)+" is copied anew")
}
