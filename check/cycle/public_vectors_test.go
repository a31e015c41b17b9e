package cycle_test

import (
	"slices"
	"testing"

	"assay/check"
	. "assay/check/cycle"
)

// Histories with the expectations of Jepsen's own public tests (jepsen.tests.cycle.append-test and
// jepsen.tests.cycle.wr-test).
func TestPublicVectors(t *testing.T) {
	for _, c := range []struct {
		txns    []string
		model   Model
		verdict check.Verdict
		anomaly string
	}{
		{[]string{"az1 ax1 ay1", "rx1 ay2", "ry12 az3", "rz13"}, Serializable, check.Valid, ""},
		{[]string{"ax1 ay1", "ax2 ay2", "rx12 ry21"}, ReadUncommitted, check.Violated, "G0"},
		{[]string{"! ax1", "rx1"}, ReadUncommitted, check.Valid, ""},
		{[]string{"! ax1", "rx1"}, ReadCommitted, check.Violated, "G1a"},
		{[]string{"! ax1", "rx1 ax2", "rx12"}, ReadCommitted, check.Violated, "G1a"},
		{[]string{"ax1 ax2", "rx1"}, ReadUncommitted, check.Valid, ""},
		{[]string{"ax1 ax2", "rx1"}, ReadCommitted, check.Violated, "G1b"},
		{[]string{"ax1 rx1 ax2"}, ReadCommitted, check.Valid, ""},
		{[]string{"ax1 ry1", "ax2 ay1", "rx12 ry1"}, ReadUncommitted, check.Valid, ""},
		{[]string{"ax1 ry1", "ax2 ay1", "rx12 ry1"}, ReadCommitted, check.Violated, "G1c"},
		{[]string{"ax1 ay1", "ax2 ry_", "rx12"}, ReadCommitted, check.Valid, ""},
		{[]string{"ax1 ay1", "ax2 ry_", "rx12"}, SnapshotIsolation, check.Violated, "G-single-item"},
		{[]string{"ax1 ry_", "ay1 rx_"}, SnapshotIsolation, check.Valid, ""},
		{[]string{"ax1 ry_", "ay1 rx_"}, Serializable, check.Violated, "G2-item"},
		{[]string{"@0-1 ax1", "@2-3 rx_"}, Serializable, check.Valid, ""},
		{[]string{"@0-1 ax1", "@2-3 rx_"}, StrictSerializable, check.Violated, "G-single-item-realtime"},
		{[]string{"? ax2 ry_", "ax1 ay1", "rx12 ry1"}, Serializable, check.Valid, ""},

		{[]string{"ry=2 wx2 rx=2 wx1 rx=1", "wy2"}, Serializable, check.Valid, ""},
		{[]string{"wx1", "rx=1 wx2 rx=1"}, ReadAtomic, check.Violated, "own-write-not-seen"},
		{[]string{"wx1", "rx=1"}, ReadCommitted, check.Valid, ""},
		{[]string{"! wx2", "rx=2"}, ReadCommitted, check.Violated, "G1a"},
		{[]string{"wx1 wx2", "rx_ rx=2"}, ReadCommitted, check.Valid, ""},
		{[]string{"wx2 wx1", "rx=2"}, ReadCommitted, check.Violated, "G1b"},
		{[]string{"wx1 ry=1", "wy1 rx=1"}, ReadCommitted, check.Violated, "G1c"},
	} {
		r := Check(t.Context(), parse(t, c.txns...), c.model, Options{})
		if r.Verdict != c.verdict || c.anomaly != "" && !slices.Contains(r.Anomalies, c.anomaly) {
			t.Errorf("%v by %s: %v %v, want %v %s", c.txns, c.model, r.Verdict, r.Anomalies, c.verdict, c.anomaly)
		}
	}
}
