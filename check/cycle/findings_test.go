package cycle_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"assay/check"
	. "assay/check/cycle"
)

// Lost appends and stale reads, which Elle does not report below strict models.
func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name      string
		txns      []string
		found     string // kind and count
		text      string
		serial    check.Verdict
		anomalies string // under strict serializability
	}{
		{"an append that nobody ever sees", []string{"@0-10 ax1", "@20-30 rx_", "@40-50 rx_ ry_"},
			"lost-append 1, stale-read 0", "T1 appended 1 to key 120 and was acknowledged at 10, but nobody ever read it; T2, begun at 40, read []",
			check.Valid, "G-single-item-realtime"},
		{"not lost: the reads may have been earlier", []string{"@0-10 ax1", "@5-30 rx_"},
			"lost-append 0, stale-read 0", "", check.Valid, ""},
		{"not lost: nobody knows whether it was committed", []string{"? @0-10 ax1", "@20-30 rx_"},
			"lost-append 0, stale-read 0", "", check.Valid, ""},
		{"not lost: it failed", []string{"! @0-10 ax1", "@20-30 ax2", "@40-50 rx2"},
			"lost-append 0, stale-read 0", "", check.Valid, ""},
		{"lost from a longer list", []string{"@0-10 ax1", "@20-30 ax2", "@40-50 ax3", "@60-70 rx13"},
			"lost-append 1, stale-read 0", "T1 appended 2 to key 120", check.Valid, "G-single-item-realtime G0-realtime"},
		{"stale, but not lost", []string{"@0-10 ax1", "@20-30 ax2", "@40-50 rx1", "@60-70 rx12"},
			"lost-append 0, stale-read 1", "T1 read [1] from key 120, without 2, though T2, which wrote that, was acknowledged at 30, before T1 was begun at 40",
			check.Valid, "G-single-item-realtime"},
		{"stale by two", []string{"@0-10 ax1", "@20-30 ax2", "@25-100 ax3", "@40-50 rx_", "@60-70 rx123"},
			"lost-append 0, stale-read 1", "T1 read [] from key 120, without 1", check.Valid, "G-single-item-realtime"},
		{"two lost and two stale", []string{"@0-10 ax1 ay1", "@0-10 ax2 ay2", "@20-30 rx_ ry_", "@40-50 ry12"},
			"lost-append 2, stale-read 1", "", check.Valid, "G-single-item-realtime"},
		{"seen by somebody, though out of order", []string{"@0-10 ax1", "@0-10 ax2", "@0-10 ax3", "@20-30 rx1", "@20-30 rx23"},
			"lost-append 0, stale-read 0", "", check.Violated, "G-single-item-realtime incompatible-order"},
		{"a register found empty", []string{"@0-10 wx1", "@20-30 rx_"},
			"lost-append 0, stale-read 1", "T1 read nothing from key 120, without 1", check.Valid, "G-single-item-realtime"},
		{"a register found empty in time", []string{"@0-10 wx1", "@10-30 rx_"},
			"lost-append 0, stale-read 0", "", check.Valid, ""},
		{"a register that was overwritten", []string{"@0-10 wx1", "@20-30 rx=1 wx2", "@40-50 rx=1"},
			"lost-append 0, stale-read 1", "T1 read 1 from key 120, without 2", check.Valid, "G-single-item-realtime"},
	} {
		h := parse(t, c.txns...)
		count := map[string]int64{}
		r := Check(context.Background(), h, Serializable, Options{})
		checkReport(t, c.name, r)
		if r.Verdict != c.serial {
			t.Errorf("%s: %v under serializability: %v", c.name, r.Verdict, r.Anomalies)
		}
		said := c.text == ""
		for _, f := range r.Findings {
			count[f.Anomaly] = f.Found
			said = said || strings.Contains(f.Text, c.text)
		}
		if got := sprintCounts(count); got != c.found {
			t.Errorf("%s: %s, want %s", c.name, got, c.found)
		}
		if !said {
			t.Errorf("%s: nothing says %q: %+v", c.name, c.text, r.Findings)
		}
		r = Check(context.Background(), h, StrictSerializable, Options{})
		checkReport(t, c.name, r)
		if got := strings.Join(r.Anomalies, " "); got != c.anomalies {
			t.Errorf("%s: found %q under strict serializability, want %q", c.name, got, c.anomalies)
		}
		if len(r.Findings) > 0 && r.Verdict != check.Violated {
			t.Errorf("%s: a finding, but %v under strict serializability", c.name, r.Verdict)
		}
	}
}

func TestAssumptions(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     Options
		model Model
		found string
		txns  []string
	}{
		// Two clients see two blind writes in opposite orders.
		{"nothing assumed", Options{}, Serializable, "",
			[]string{"wx1", "wx2", "p1 @0-10 rx=1", "p1 @20-30 rx=2", "p2 @0-10 rx=2", "p2 @20-30 rx=1"}},
		{"sequential keys", Options{SequentialKeys: true}, Serializable, "cyclic-versions",
			[]string{"wx1", "wx2", "p1 @0-10 rx=1", "p1 @20-30 rx=2", "p2 @0-10 rx=2", "p2 @20-30 rx=1"}},
		{"sequential keys, in one order", Options{SequentialKeys: true}, Serializable, "",
			[]string{"wx1", "wx2", "p1 @0-10 rx=1", "p1 @20-30 rx=2", "p2 @0-10 rx=1", "p2 @20-30 rx=2"}},
		{"sequential keys, but who knows when", Options{SequentialKeys: true}, Serializable, "",
			[]string{"wx1", "wx2", "p1 @0-25 rx=1", "p1 @20-30 rx=2", "p2 @0-10 rx=2", "p2 @20-30 rx=1"}},
		{"linearizable keys", Options{LinearizableKeys: true}, Serializable, "cyclic-versions",
			[]string{"wx1", "wx2", "@0-10 rx=1", "@20-30 rx=2", "@40-50 rx=1"}},
		{"linearizable keys, concurrent", Options{LinearizableKeys: true}, Serializable, "",
			[]string{"wx1", "wx2", "@0-10 rx=1", "@20-45 rx=2", "@40-50 rx=2"}},
		{"written blindly crosswise", Options{LinearizableKeys: true}, ReadCommitted, "G0",
			[]string{"@0-100 wx1 wy2", "@0-100 wx2 wy1", "@50-55 rx=1", "@60-65 rx=2", "@50-55 ry=1", "@60-65 ry=2"}},
		{"read skew over blind writes", Options{LinearizableKeys: true}, Serializable, "G-single-item fractured-read",
			[]string{"@0-10 wx1", "@20-30 wx2 wy1", "@0-100 rx=1 ry=1"}},
		{"no skew without the assumption", Options{}, Serializable, "",
			[]string{"@0-10 wx1", "@20-30 wx2 wy1", "@0-100 rx=1 ry=1"}},
		{"found empty after it was written", Options{LinearizableKeys: true}, Serializable, "cyclic-versions",
			[]string{"@0-10 wx1", "@20-30 rx_", "rx=1"}},
	} {
		r := Check(context.Background(), parse(t, c.txns...), c.model, c.o)
		checkReport(t, c.name, r)
		if got := strings.Join(r.Anomalies, " "); got != c.found || c.found == "" && r.Verdict != check.Valid {
			t.Errorf("%s: %v %q, want %q", c.name, r.Verdict, got, c.found)
			for _, e := range r.Evidence {
				t.Log(e.Text)
			}
		}
	}
}

func sprintCounts(count map[string]int64) string {
	return fmt.Sprintf("lost-append %d, stale-read %d", count["lost-append"], count["stale-read"])
}
