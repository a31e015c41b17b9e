package judge

import (
	"strings"
	"testing"

	"assay/check"
	"assay/load"
	"assay/report"
)

// TestCauses names a retry, or a stall of assay during the transactions.
func TestCauses(t *testing.T) {
	operation := check.Operation{Name: "T1", Invoke: 2e9, Complete: 3e9, Attempt: 2}
	r := &report.Result{Checks: []check.Result{{Evidence: []check.Evidence{{Smallest: &check.Excerpt{Operations: []check.Operation{operation}}}}}}}
	r.Retries = report.Retries{Policy: string(load.RetryIdempotent), Retried: 1}
	r.Client.Stalls, r.Client.StalledSeconds = []report.ClientStall{{At: 2.5, Seconds: 1}}, 1
	if c := causeRetries(r); c.RuledOut || !strings.Contains(c.Detail, "T1 is attempt 2") {
		t.Errorf("retries of what may have had an effect: %+v", c)
	}
	if c := causeStalls(r); strings.Contains(c.Detail, "none of it") {
		t.Errorf("a stall while they ran: %+v", c)
	}
	r.Retries.Policy, r.Client.Stalls[0].At = string(load.RetryFailed), 5
	if c := causeRetries(r); !c.RuledOut {
		t.Errorf("retries of what failed: %+v", c)
	}
	if c := causeStalls(r); !strings.Contains(c.Detail, "none of it") {
		t.Errorf("a stall at another time: %+v", c)
	}
	broken := false
	r.Promise = &report.Promise{Kept: &broken}
	if all := Conviction(r, "", 12).Causes; all[len(all)-1] != report.CauseScript(12) {
		t.Errorf("a script that kept its rules alone in 12 transactions: %+v", all)
	}
	yes := true
	r.Checks[0].Verdict, r.Checks[0].Findings = check.Violated, []check.Finding{{Kind: "lost", Found: 1, Property: "durability", Promised: &yes}}
	r.Durability = &report.Durability{Manual: "the page about what survives"}
	if got := Conviction(r, "", 0).Manual; got != "the page about what survives" {
		t.Errorf("what is lost breaks a promise of the page %q", got)
	}
	r.Agents = make([]report.Agent, 2)
	if causeClocks(r).RuledOut {
		t.Error("the clocks of two processes are one")
	}
}

// TestFaultsAsCauses: seen faults have their proofs, and an unseen one is not ruled out.
func TestFaultsAsCauses(t *testing.T) {
	r := &report.Result{Faults: []report.Fault{{Action: "kill", Nodes: []string{"n1"}, InjectedSecond: 2, HealedSecond: 3, Proven: true, Proof: "it is gone", Healing: "it is back"},
		{Action: "kill", Nodes: []string{"n2"}, Skipped: true}, {Action: "pause", Nodes: []string{"n3"}, InjectedSecond: 9, HealedSecond: -1, Proven: true}}}
	if c := causeFaults(r); !c.RuledOut || !strings.Contains(c.Detail, "kill n1 at 2 s: it is gone, then it is back; pause n3") {
		t.Errorf("%+v", c)
	}
	r.Faults[0].Proven = false
	if causeFaults(r).RuledOut {
		t.Error("a fault that nobody saw")
	}
}
