package isolation

import (
	"slices"
	"testing"

	"assay/check"
	"assay/check/cycle"
)

func TestARewriteProvesNoMoreThanALostUpdate(t *testing.T) {
	found := cycle.Report{
		Verdict: check.Violated, Anomalies: []string{"G0", "lost-update"}, Permitted: []string{"G2-item"},
		Evidence: []cycle.Evidence{{Anomaly: "G0"}, {Anomaly: "lost-update"}, {Anomaly: "G2-item"}},
		Findings: []cycle.Evidence{{Anomaly: "lost-append"}}, Not: []cycle.Model{cycle.ReadUncommitted},
	}
	got := onlyLostUpdates(found)
	if got.Verdict != check.Violated || !slices.Equal(got.Anomalies, []string{"lost-update"}) ||
		len(got.Evidence) != 2 || got.Evidence[0].Anomaly != "lost-update" || slices.Contains(got.Not, cycle.ReadUncommitted) {
		t.Errorf("got %+v", got)
	}
	for _, model := range got.Not {
		if !forbidsLostUpdates(model) {
			t.Errorf("%s allows lost updates and was ruled out", model)
		}
	}
	if r := got.Result(); len(r.Evidence) != 1 {
		t.Errorf("the result shows %+v", r.Evidence)
	}
	found.Anomalies, found.Evidence = []string{"G0"}, found.Evidence[:1]
	if got := onlyLostUpdates(found); got.Verdict != check.Unknown || len(got.Anomalies) != 0 || got.Reason == "" {
		t.Errorf("without a lost update: %+v", got)
	}
	if r := onlyLostUpdates(cycle.Report{Verdict: check.Valid}); r.Verdict != check.Valid {
		t.Errorf("a valid run became %v", r.Verdict)
	}
}
