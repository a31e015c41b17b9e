package runner

import (
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/load"
	"assay/report"
	"assay/runner/histories"
	"assay/workload/definition"
)

// TestTransactionsThatBrokeARule: of a rule that is broken, the transactions are shown that did
// it, with all that they sent, from the folder alone and by assay repro.
func TestTransactionsThatBrokeARule(t *testing.T) {
	t.Parallel()
	s := scripted(t, "postgres:1", "CREATE TABLE acc (id int PRIMARY KEY, v int); CREATE TABLE added (n int); INSERT INTO acc VALUES (1, 0);",
		"-- assay: invariant sum equals 0: SELECT (SELECT sum(v) FROM acc) - (SELECT count(*) FROM added)\nBEGIN;\nSELECT v FROM acc WHERE id = 1 \\gset\n"+
			"UPDATE acc SET v = :v + 1 WHERE id = 1;\nINSERT INTO added (n) VALUES (1);\nEND;\n")
	s.Isolation, s.Load.Clients = "read committed", 4
	pause, _ := definition.Lookup(s.Config, "pause")
	*pause.Value.(*float64) = 1
	out := carryOut(t, s)
	r, err := Reproduce(t.Context(), out.Folder, ReproOptions{Options: histories.Options{Timeout: time.Minute}})
	expect.NoError(t, err)
	if r.Kind != "invariants" || r.Arguments != nil || len(r.Evidence.Smallest.Operations) < 2 || r.Conviction != nil {
		t.Fatalf("it shows %+v", r)
	}
	var sent []string
	var started bool
	for _, o := range r.Evidence.Smallest.Operations {
		for _, x := range o.Statements {
			sent = append(sent, x.Text+" "+x.Answer)
		}
		_, err := history.Read(out.Folder+"/"+FileHistory, history.Visitor{Op: func(op *history.Op) error {
			started = started || op.Client == int(o.Process) && op.Seq == uint64(o.ID) && op.Start == o.Invoke
			return nil
		}})
		expect.NoError(t, err)
	}
	expect.Text(t, "what was sent", strings.Join(sent, "\n"), "SELECT v FROM acc WHERE id = 1 gives (", "UPDATE acc SET v = ", "COMMIT")
	if !started {
		t.Error("no operation begins when the history says so")
	}
}

// TestCauses: a retry, or a stall of assay while the transactions ran, is named.
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
	if all := convictionOf(Scenario{}, r, 12).Causes; all[len(all)-1] != report.CauseScript(12) {
		t.Errorf("a script that kept its rules alone in 12 transactions: %+v", all)
	}
	r.Agents = make([]report.Agent, 2)
	if causeClocks(r).RuledOut {
		t.Error("the clocks of two processes are one")
	}
}
