package cycle_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/check"
	. "assay/check/cycle"
)

// A transaction that does not see its own write is wrong, whoever else wrote the same value.
func TestOwnWriteOfAnAmbiguousKey(t *testing.T) {
	same := make([]string, 14)
	for i := range same {
		same[i] = "wx1 rx=1 wy1 ry=1"
	}
	read := []string{"rx=1 ry=1", "rx=1 ry=1", "rx=1 ry=1"}
	for last, want := range map[string]check.Verdict{"wx1 rx_": check.Violated, "wx1 rx=1": check.Unknown} {
		for _, m := range []Model{ReadUncommitted, ReadCommitted, Serializable} {
			r := Check(context.Background(), parse(t, append(append(same, read...), last)...), m, Options{})
			if want == check.Unknown && r.Verdict == check.Valid {
				continue
			}
			checkReport(t, string(m), r)
			if r.Verdict != want {
				t.Errorf("%s, %s: %v %v %s", last, m, r.Verdict, r.Anomalies, r.Reason)
			}
		}
	}
}

// With few values for each register most are written more than once. The verdicts agree with
// searches through all orders and schedules, which need not know whose value was read.
func TestDuplicatesAgreeWithSchedules(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(*definitionHistories) {
		txns := wild(seed, true)
		for i := range txns {
			for j := range txns[i].Ops {
				txns[i].Ops[j].Value %= 2
			}
		}
		if !readsAnything(txns) {
			continue
		}
		h := build(t, txns)
		for m, rule := range schedules() {
			rule.txns = txns
			want := rule.exists()
			r := Check(context.Background(), h, m, Options{})
			checkReport(t, fmt.Sprint(seed, m), r)
			if r.Verdict == check.Unknown || (r.Verdict == check.Valid) != want {
				t.Fatalf("seed %d, %s: %v %v %s, but a schedule exists: %v%s", seed, m, r.Verdict, r.Anomalies, r.Reason, want, show(txns))
			}
			for _, not := range append(r.Not, r.AlsoNot...) {
				if weaker := Check(context.Background(), h, not, Options{}); weaker.Verdict != check.Violated {
					t.Fatalf("seed %d: %s rules out %s, which is %v%s", seed, m, not, weaker.Verdict, show(txns))
				}
			}
			counts[fmt.Sprint(m, " ", r.Verdict)]++
		}
	}
	t.Log(counts)
	for name, n := range counts {
		if n < *definitionHistories/10 {
			t.Errorf("%s: only %d", name, n)
		}
	}
}

// What a history shows besides an element that was appended twice is found, also in the same list,
// and nothing else is.
func TestAnomaliesBesideARepeatedAppend(t *testing.T) {
	repeated := []string{"ax1", "ax1"}
	tooMany := slices.Repeat([]string{"wv1", "rv=1"}, 6) // for each choice of a writer to be tried
	for _, c := range []struct {
		besides []string
		want    check.Verdict
		anomaly string
	}{
		{[]string{"ay1 rz1", "az1 ry1"}, check.Violated, "G1c"},
		{[]string{"ay1 rz_", "az1 ry1"}, check.Unknown, ""},
		{[]string{"ry7"}, check.Violated, "garbage-read"},
		{[]string{"rx117"}, check.Violated, "garbage-read"},
		{[]string{"ax2", "ax3", "rx123", "rx311"}, check.Violated, "incompatible-order"},
		{[]string{"ax2", "ax3", "rx123", "rx2"}, check.Unknown, ""},
		{[]string{"rx1", "rx11"}, check.Unknown, ""},
		{[]string{"rx1", "rx111"}, check.Violated, "duplicate-elements"},
		{[]string{"ax2", "rx1221"}, check.Violated, "duplicate-elements"},
		{append(slices.Clone(tooMany), "rv=2 wv3", "rv=3 wv2"), check.Violated, "G1c"},
	} {
		r := Check(context.Background(), parse(t, append(repeated, c.besides...)...), ReadCommitted, Options{})
		checkReport(t, fmt.Sprint(c.besides), r)
		if r.Verdict != c.want || c.anomaly != "" && !slices.Contains(r.Anomalies, c.anomaly) ||
			c.want == check.Unknown && !strings.Contains(r.Result().Detail, "1 was written to key") {
			t.Errorf("%v: %v %v %s", c.besides, r.Verdict, r.Anomalies, r.Result().Detail)
		}
	}
}

// With repeated appends, a history is convicted only if no schedule explains it.
func TestRepeatedAppendsAgreeWithSchedules(t *testing.T) {
	violated := 0
	for seed := range uint64(*definitionHistories) {
		txns := wild(seed, false)
		for i := range txns {
			for j := range txns[i].Ops {
				o := &txns[i].Ops[j]
				o.Value %= 3
				for k := range o.List {
					o.List[k] %= 3
				}
			}
		}
		h := build(t, txns)
		for m, rule := range schedules() {
			rule.txns = txns
			r := Check(context.Background(), h, m, Options{})
			if r.Verdict != check.Violated || r.Repeated == "" {
				continue
			}
			checkReport(t, fmt.Sprint(seed, m), r)
			if violated++; rule.exists() {
				t.Fatalf("seed %d, %s: %v %v, but a schedule exists: %s", seed, m, r.Verdict, r.Anomalies, show(txns))
			}
		}
	}
	if violated < *definitionHistories/10 {
		t.Errorf("only %d convicted", violated)
	}
}
