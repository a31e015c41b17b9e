package cycle_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"assay/check"
	. "assay/check/cycle"
)

// minimal has, for each anomaly and each way to it, the smallest history that shows it and a valid
// twin that differs as little as possible.
var minimal = []struct {
	name  string
	model Model
	// found are all the anomalies; not are the weakest models ruled out.
	found, not string
	bad, good  []string
}{
	{"write cycle", Serializable, "G0", "read-uncommitted",
		[]string{"ax1 ay1", "ax2 ay2", "rx12 ry21"},
		[]string{"ax1 ay1", "ax2 ay2", "rx12 ry12"}},
	{"write cycle by unseen appends", ReadCommitted, "G0", "read-uncommitted",
		[]string{"ax1 ay2", "ax2 ay1", "rx1 ry1"},
		[]string{"ax1 ay1", "ax2 ay2", "rx1 ry1"}},
	{"write cycle over a failed append", ReadUncommitted, "G0", "read-uncommitted",
		[]string{"ax1 ay1", "! ax3", "ax2 ay2", "rx132 ry21"},
		[]string{"ax1 ay1", "! ax3", "ax2 ay2", "rx132 ry12"}},
	{"aborted read", Serializable, "G1a", "read-committed",
		[]string{"! ax1", "rx1"},
		[]string{"? ax1", "rx1"}},
	{"aborted read in the middle", ReadCommitted, "G1a dirty-update", "read-committed",
		[]string{"! ax1", "ax2", "rx12"},
		[]string{"? ax1", "ax2", "rx12"}},
	{"aborted read of a list out of order", ReadCommitted, "G1a incompatible-order", "read-committed",
		[]string{"! ax1", "ax2", "ax3", "rx1", "rx23"},
		[]string{"? ax1", "ax2", "ax3", "rx2", "rx23"}},
	{"aborted read of a register", Serializable, "G1a", "read-committed",
		[]string{"! wx1", "rx=1"},
		[]string{"? wx1", "rx=1"}},
	{"intermediate read", ReadCommitted, "G1b", "read-committed",
		[]string{"ax1 ax2", "rx1"},
		[]string{"ax1 ax2", "rx12"}},
	{"intermediate read of a register", Serializable, "G1b", "read-committed",
		[]string{"wx1 wx2", "rx=1"},
		[]string{"wx1 wx2", "rx=2"}},
	{"intermediate read of a register, followed by a write", Serializable, "G1b", "read-committed",
		[]string{"wx1 wx3", "rx=1 wx2 wy1", "rx=1 ry=1"},
		[]string{"wx3 wx1", "rx=1 wx2 wy1", "rx=1 ry_"}},
	{"circular information flow", Serializable, "G1c", "read-committed",
		[]string{"ax1 ry1", "ay1 rx1"},
		[]string{"ax1 ry_", "ay1 rx1"}},
	{"circular information flow with a write", Serializable, "G1c", "read-committed",
		[]string{"ax1 ay1", "ax2 ry1", "rx21"},
		[]string{"ax1 ay1", "ax2 ry1", "rx12"}},
	{"circular information flow by registers", Serializable, "G1c", "read-committed",
		[]string{"wx1 ry=1", "wy1 rx=1"},
		[]string{"wx1 ry_", "wy1 rx=1"}},
	{"circular information flow by registers that are written too", Serializable, "G1c", "read-committed",
		[]string{"wx1 ry=1 wy2", "rx=1 wx2 wy1"},
		[]string{"wx1 ry_ wy2", "rx=1 wx2"}},
	{"read skew", Serializable, "G-single-item", "consistent-view repeatable-read",
		[]string{"rx_ ry1", "ax1 ay1"},
		[]string{"rx1 ry1", "ax1 ay1"}},
	{"read skew in the middle of a list", Serializable, "G-single-item", "consistent-view repeatable-read",
		[]string{"ax1", "ax2 ay1", "rx1 ry1", "rx12"},
		[]string{"ax1", "ax2 ay1", "rx1 ry_", "rx12"}},
	{"read skew over a failed append", ConsistentView, "G-single-item G1a dirty-update", "read-committed",
		[]string{"! ax1", "ax2 ay1", "rx1 ry1", "rx12"},
		[]string{"? ax1", "ax2 ay1", "rx1 ry_", "rx12"}},
	{"read skew of registers", Serializable, "G-single-item fractured-read", "consistent-view read-atomic repeatable-read",
		[]string{"rx_ ry=1", "wx1 wy1"},
		[]string{"rx=1 ry=1", "wx1 wy1"}},
	{"read skew of registers, writes follow reads", Serializable, "G-single-item fractured-read", "consistent-view read-atomic repeatable-read",
		[]string{"wx1", "rx=1 wx2 wy1", "rx=1 ry=1"},
		[]string{"wx1", "rx=1 wx2 wy1", "rx=1 ry_"}},
	{"long fork", Serializable, "G-nonadjacent-item", "repeatable-read snapshot-isolation",
		[]string{"ax1", "ay1", "rx1 ry_", "rx_ ry1"},
		[]string{"ax1", "ay1", "rx1 ry_", "rx1 ry1"}},
	{"write skew", Serializable, "G2-item", "repeatable-read",
		[]string{"rx_ ay1", "ry_ ax1"},
		[]string{"rx_ ay1", "ry1 ax1"}},
	{"write skew of three", Serializable, "G2-item", "repeatable-read",
		[]string{"rx_ ay1", "ry_ az1", "rz_ ax1"},
		[]string{"rx_ ay1", "ry_ az1", "rz1 ax1"}},
	{"write skew of registers", Serializable, "G-update-item G2-item", "repeatable-read update-serializable",
		[]string{"rx_ wy1", "ry_ wx1"},
		[]string{"rx_ wy1", "ry=1 wx1"}},
	{"lost update", CursorStability, "lost-update", "cursor-stability update-atomic",
		[]string{"rx_ ax1", "rx_ ax2"},
		[]string{"rx_ ax1", "rx1 ax2"}},
	{"lost update of a longer list", CursorStability, "lost-update", "cursor-stability update-atomic",
		[]string{"ax3", "rx3 ax1", "rx3 ax2", "rx312"},
		[]string{"ax3", "rx3 ax1", "rx31 ax2", "rx312"}},
	{"lost update of a list out of order", CursorStability, "incompatible-order lost-update", "read-committed",
		[]string{"ax1", "rx1 ax3", "rx1 ax4", "ax2 ax5", "rx25"},
		[]string{"ax1", "rx25 ax3", "rx253 ax4", "ax2 ax5", "rx25"}},
	{"lost update of a register", CursorStability, "lost-update", "cursor-stability update-atomic",
		[]string{"wx3", "rx=3 wx1", "rx=3 wx2"},
		[]string{"wx3", "rx=3 wx1", "rx=1 wx2"}},
	{"dirty update", ReadCommitted, "G1a dirty-update", "read-committed",
		[]string{"ax3", "! ax1", "? ax4", "ax2", "rx3142"},
		[]string{"ax3", "? ax1", "? ax4", "ax2", "rx3142"}},
	{"duplicate elements", ReadUncommitted, "duplicate-elements", "read-uncommitted",
		[]string{"ax1", "rx11"},
		[]string{"ax1", "rx1"}},
	{"duplicate elements within a longer read", ReadUncommitted, "duplicate-elements", "read-uncommitted",
		[]string{"ax1", "ax2", "rx11", "rx112"},
		[]string{"ax1", "ax2", "rx1", "rx12"}},
	{"incompatible order", Serializable, "incompatible-order", "read-committed",
		[]string{"ax1", "ax2", "rx12", "rx21"},
		[]string{"ax1", "ax2", "rx12", "rx12"}},
	{"lost element", Serializable, "incompatible-order", "read-committed",
		[]string{"ax1", "ax2", "ax3", "rx12", "rx13"},
		[]string{"ax1", "ax2", "ax3", "rx12", "rx123"}},
	{"appends of one transaction reversed", Serializable, "incompatible-order", "read-committed",
		[]string{"ax1 ax2", "ax3", "rx213"},
		[]string{"ax1 ax2", "ax3", "rx123"}},
	{"own append unread", ReadUncommitted, "own-write-not-seen", "read-uncommitted",
		[]string{"ax1 rx_"},
		[]string{"ax1 rx1", "rx1"}},
	{"own append out of place", ReadAtomic, "G1c internal", "read-committed",
		[]string{"ax1 rx12", "ax2"},
		[]string{"ax1 rx21", "ax2"}},
	{"read that is not repeatable", ReadAtomic, "internal", "consistent-view read-atomic repeatable-read",
		[]string{"rx_ rx1", "ax1"},
		[]string{"rx1 rx1", "ax1"}},
	{"own append after a read", ReadAtomic, "internal", "consistent-view read-atomic repeatable-read",
		[]string{"ax1", "ax2", "rx1 ax3 rx123"},
		[]string{"ax1", "ax2", "rx12 ax3 rx123"}},
	{"own append unread after a read", CursorStability, "own-write-not-seen", "read-uncommitted",
		[]string{"ax1", "rx1 ax2 rx1"},
		[]string{"ax1", "rx1 ax2 rx12"}},
	{"own write unread", RepeatableRead, "own-write-not-seen", "read-uncommitted",
		[]string{"wx1 rx=2", "wx2"},
		[]string{"wx1 rx=1", "wx2 ry_", "wy1"}},
	{"own write unread after it was read", MonotonicView, "own-write-not-seen", "read-uncommitted",
		[]string{"wx1 rx=1 rx_"},
		[]string{"wx1 rx=1 rx=1"}},
	{"own append unread after it was read", MonotonicView, "own-write-not-seen", "read-uncommitted",
		[]string{"ax1 rx1 rx_"},
		[]string{"ax1 rx1 rx1"}},
	{"own write found to be nothing", MonotonicAtomicView, "own-write-not-seen", "read-uncommitted",
		[]string{"wx1 rx_"},
		[]string{"wx1 rx=1", "rx=1"}},
	{"register that is not repeatable", ReadAtomic, "internal", "consistent-view read-atomic repeatable-read",
		[]string{"rx_ rx=1", "wx1"},
		[]string{"rx=1 rx=1", "wx1"}},
	{"future read", ReadCommitted, "future-read", "read-committed",
		[]string{"rx1 ax1"},
		[]string{"rx_ ax1", "rx1"}},
	{"future read out of order", ReadCommitted, "future-read incompatible-order", "read-committed",
		[]string{"ax2", "ax3", "rx1 ax1", "rx23"},
		[]string{"ax2", "ax3", "rx2 ax1", "rx23"}},
	{"future read of a register", ReadCommitted, "future-read", "read-committed",
		[]string{"rx=1 wx1"},
		[]string{"rx=2 wx1", "wx2"}},
	{"two writers in both orders, read by read", MonotonicSnapshotRead, "G-MSR", "monotonic-snapshot-read repeatable-read",
		[]string{"ax1", "ay1", "rx1 ry_", "ry1 rx_"},
		[]string{"ax1", "ay1", "rx1 ry_", "ry1 rx1"}},
	{"garbage", Serializable, "garbage-read", "read-committed",
		[]string{"rx9"},
		[]string{"rx9", "ax9"}},
	{"garbage within a list", Serializable, "garbage-read", "read-committed",
		[]string{"ax1", "rx91"},
		[]string{"ax1", "rx1"}},
	{"garbage in a register", Serializable, "garbage-read", "read-committed",
		[]string{"rx=9", "wx1"},
		[]string{"rx=1", "wx1"}},
	{"versions in a circle", Serializable, "G1c cyclic-versions", "read-committed",
		[]string{"rx=2 wx1", "rx=1 wx2"},
		[]string{"rx=2 wx1", "rx_ wx2"}},
}

// ordered has the anomalies that need the order of transactions. Each is tried with one client's
// order, and with real time alone.
var ordered = []struct {
	found, processNot, realtimeNot string
	bad, good                      []string
}{
	{"G0", "strong-session-read-uncommitted", "strong-read-uncommitted",
		[]string{"p1 @0-10 ax1", "p1 @20-30 ax2", "rx21"},
		[]string{"p1 @0-10 ax1", "p1 @20-30 ax2", "rx12"}},
	{"G1c", "strong-session-read-committed", "strong-read-committed",
		[]string{"p1 @0-10 rx1", "p1 @20-30 ay1", "ax1 ry1"},
		[]string{"p1 @0-10 rx1", "p1 @20-30 ay1", "ax1 ry_"}},
	{"G-single-item", "strong-session-snapshot-isolation", "strong-snapshot-isolation",
		[]string{"p1 @0-10 ax1", "p1 @20-30 rx_"},
		[]string{"p1 @0-10 ax1", "p1 @20-30 rx1"}},
	{"G-nonadjacent-item", "strong-session-snapshot-isolation", "strong-snapshot-isolation",
		[]string{"p1 @0-10 ax1", "p1 @20-30 ry_", "@0-100 ay1", "@5-100 rx_ ry1"},
		[]string{"p1 @0-10 ax1", "p1 @20-30 ry_", "@0-100 ay1", "@5-100 rx1 ry1"}},
	{"G2-item", "strong-session-serializable", "strict-serializable",
		[]string{"p1 @0-10 ay1", "p1 @20-30 rx_", "@0-100 ax1 ry_"},
		[]string{"p1 @0-10 ay1", "p1 @20-30 rx_", "@0-100 ax1 ry1"}},
}

func judge(t *testing.T, name string, model Model, lines []string) Report {
	t.Helper()
	r := Check(context.Background(), parse(t, lines...), model, Options{})
	checkReport(t, name, r)
	return r
}

func wantFound(t *testing.T, name string, r Report, found, not string) {
	t.Helper()
	var weakest []string
	for _, m := range r.Not {
		weakest = append(weakest, string(m))
	}
	if got := strings.Join(r.Anomalies, " "); r.Verdict != check.Violated || got != found {
		t.Errorf("%s: %v, found %q (and %v), want %q", name, r.Verdict, got, r.Permitted, found)
	}
	if got := strings.Join(weakest, " "); got != not {
		t.Errorf("%s: rules out %q, want %q", name, got, not)
	}
}

func wantValid(t *testing.T, name string, r Report) {
	t.Helper()
	if r.Verdict != check.Valid || len(r.Anomalies) > 0 {
		t.Errorf("%s: the twin is %v: %s %v", name, r.Verdict, r.Reason, r.Anomalies)
	}
}

func TestEachAnomaly(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range append(minimal, inferred...) {
		r := judge(t, c.name, c.model, c.bad)
		wantFound(t, c.name, r, c.found, c.not)
		if named := strings.Contains(r.Evidence[0].Text, "OTV"); named != (c.found == "monotonic-atomic-view-violation") {
			t.Errorf("%s: the evidence says %q", c.name, r.Evidence[0].Text)
		}
		wantValid(t, c.name, judge(t, c.name, c.model, c.good))
		for _, a := range r.Anomalies {
			seen[a] = true
		}
	}
	for _, c := range ordered {
		r := judge(t, c.found, SessionSerializable, c.bad)
		wantFound(t, c.found, r, c.found+"-process", c.processNot)
		seen[c.found+"-process"] = true
		wantValid(t, c.found, judge(t, c.found, SessionSerializable, c.good))
		wantValid(t, c.found, judge(t, c.found, Serializable, c.bad))

		apart := separate(c.bad)
		r = judge(t, c.found, StrictSerializable, apart)
		wantFound(t, c.found, r, c.found+"-realtime", c.realtimeNot)
		seen[c.found+"-realtime"] = true
		wantValid(t, c.found, judge(t, c.found, StrictSerializable, separate(c.good)))
		wantValid(t, c.found, judge(t, c.found, SessionSerializable, apart))
	}
	// A client's concurrent transactions have no order between them.
	wantValid(t, "overlap", judge(t, "overlap", SessionSerializable, []string{"p1 @0-25 ax1", "p1 @20-30 rx_"}))
	for _, a := range Anomalies() {
		if !seen[a] {
			t.Errorf("no history shows %s", a)
		}
	}
}

// Whether a write must see what it overwrites is open, and so are conclusions from that.
func TestStatementsOfWrites(t *testing.T) {
	r := judge(t, "a write", MonotonicSnapshotRead, []string{"ax1 ay1", "ax2 ry_", "rx12"})
	if r.Verdict != check.Unknown || !strings.Contains(r.Reason, "nothing found of what was looked for: G0, G1a, G1b, G1c and") {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
	wantValid(t, "a read before it", judge(t, "a read before it", MonotonicSnapshotRead, []string{"ax1 ay1", "ry_ ax2", "rx12"}))
	wantValid(t, "a write before that", judge(t, "a write before that", MonotonicSnapshotRead, []string{"ax1", "rx1 ax2 ry_", "ay1", "rx12"}))
}

func separate(lines []string) []string {
	var apart []string
	for _, line := range lines {
		words := slices.DeleteFunc(strings.Fields(line), func(w string) bool { return w[0] == 'p' })
		apart = append(apart, strings.Join(words, " "))
	}
	return apart
}

func checkReport(t testing.TB, name string, r Report) {
	t.Helper()
	if (r.Verdict == check.Violated) != (len(r.Anomalies) > 0) || (r.Verdict == check.Unknown) != (r.Reason != "") {
		t.Errorf("%s: %v with %v because %q", name, r.Verdict, r.Anomalies, r.Reason)
	}
	if (r.Verdict == check.Violated) != (len(r.Not) > 0) {
		t.Errorf("%s: %v but not %v", name, r.Verdict, r.Not)
	}
	if r.Verdict != check.Unknown && len(r.Evidence) != len(r.Anomalies)+len(r.Permitted) {
		t.Errorf("%s: %d pieces of evidence for %v and %v", name, len(r.Evidence), r.Anomalies, r.Permitted)
	}
	for _, e := range append(slices.Clone(r.Evidence), r.Findings...) {
		if e.Text == "" || e.Found < 1 || len(e.Txns) == 0 {
			t.Errorf("%s: empty evidence %+v", name, e)
		}
		if len(e.Edges) == 0 {
			continue
		}
		if got := classifyEdges(e); got != e.Anomaly && !e.AnyOrder {
			t.Errorf("%s: the cycle for %s is %s: %s", name, e.Anomaly, got, e.Text)
		}
		for i, edge := range e.Edges {
			if edge.From != i || edge.To != (i+1)%len(e.Edges) || edge.Text == "" {
				t.Errorf("%s: edge %d of %s is %+v", name, i, e.Anomaly, edge)
			}
		}
	}
}

func classifyEdges(e Evidence) string {
	n := map[string]int{}
	adjacent := false
	for i, edge := range e.Edges {
		n[edge.Kind]++
		adjacent = adjacent || edge.Kind == "rw" && e.Edges[(i+1)%len(e.Edges)].Kind == "rw"
	}
	suffix := ""
	switch {
	case n["realtime"] > 0:
		suffix = "-realtime"
	case n["process"] > 0:
		suffix = "-process"
	}
	switch {
	case n["rw"] == 1:
		return "G-single-item" + suffix
	case n["rw"] > 1 && adjacent:
		return "G2-item" + suffix
	case n["rw"] > 1:
		return "G-nonadjacent-item" + suffix
	case n["wr"] > 0:
		return "G1c" + suffix
	default:
		return "G0" + suffix
	}
}
