package cycle_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	. "assay/check/cycle"

	"assay/internal/expect"
)

// The judge's own read after the run is no client's transaction, wherever it is shown.
func TestTheReadAtTheEndHasAName(t *testing.T) {
	for name, lines := range map[string][]string{
		"a cycle":   {"@0-10 ax1", "@20-30 ay1", "@40-40 p-1 rx_ ry1"},
		"a finding": {"! @0-10 ax1", "@40-40 p-1 rx1"},
	} {
		var txns []Txn
		for i, line := range lines {
			txns = append(txns, write(t, i+1, line))
		}
		txns[len(txns)-1].ID = -1
		report := Check(context.Background(), build(t, txns), StrictSerializable, Options{})
		r := report.Result()
		text, err := json.Marshal(r)
		expect.NoError(t, err)
		if said := string(text); len(r.Evidence) == 0 || !strings.Contains(said, "the read at the end") ||
			strings.Contains(said, "transaction -1") || strings.Contains(said, "process -1") || strings.Contains(said, "client -1") {
			t.Errorf("%s: %s", name, said)
		}
		if c := r.Evidence[0].Cycle; name == "a cycle" && (c == nil || !strings.Contains(c.Steps[0].Text+c.Steps[1].Text, "the read at the end: read [] from key 120")) {
			t.Errorf("what is drawn: %+v", c)
		}
	}
}

// Of the read after the run, evidence shows only the keys that it is about.
func TestTheReadAtTheEndIsShort(t *testing.T) {
	last := "@40-40 p-1 rx_ ry1"
	lines := []string{"@0-10 ax1", "@20-30 ay1"}
	for key := 'a'; key < 'p'; key++ {
		lines = append(lines, "@0-10 a"+string(key)+"1")
		last += " r" + string(key) + "1"
	}
	var txns []Txn
	for i, line := range append(lines, last) {
		txns = append(txns, write(t, i+1, line))
	}
	txns[len(txns)-1].ID = -1
	report := Check(context.Background(), build(t, txns), StrictSerializable, Options{})
	if len(report.Evidence) == 0 || report.Verdict.String() != "violated" {
		t.Fatalf("%+v", report)
	}
	for _, e := range append(report.Evidence, report.Findings...) {
		for _, v := range e.Txns {
			if v.ID < 0 && (strings.Count(v.Text, "read ") > 2 || !strings.Contains(v.Text, "read [] from key 120") || !strings.HasSuffix(v.Text, "more")) {
				t.Errorf("%s: %q", e.Anomaly, v.Text)
			}
		}
	}
}
